import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserServer } from "playwright-core";
import type { TestProject } from "vitest/node";
import { startChromiumServer } from "../../../tools/browser.ts";
import { freshCopy, removeCopy, type Service, startService } from "./service.ts";

declare module "vitest" {
  interface ProvidedContext {
    service: Service;
    /** Where `connectChromium` asks for the browser of all files. */
    chromiumUrl: string;
  }
}

/** Starts one service for all tests over sockets: `npm start` in a fresh copy. One browser is there for all files that ask for it. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!project.vitest.projects.some(({ name }) => !name.startsWith("runtime"))) return undefined;
  const running = await startService(freshCopy({ hasPages: false }));
  const { url, key, operatorToken, folder, logFile, pid } = running;
  project.provide("service", { url, key, operatorToken, folder, logFile, pid });
  const chromium = await offerChromium();
  project.provide("chromiumUrl", chromium.url);
  return async () => {
    await chromium.stop();
    await running.stop();
    removeCopy(folder);
  };
}

/** Answers with the address of Chromium, which it starts at the first request, and again after a crash. */
async function offerChromium(): Promise<{ url: string; stop: () => Promise<void> }> {
  let started: Promise<BrowserServer> | undefined;
  const server = createServer(async (_, response) => {
    started ??= startChromiumServer();
    const chromium = await started;
    chromium.once("close", () => (started = undefined));
    response.end(chromium.wsEndpoint());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const stop = async () => {
    server.close();
    await (await started)?.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}
