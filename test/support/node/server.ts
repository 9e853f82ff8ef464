import type { TestProject } from "vitest/node";
import { freshCopy, removeCopy, type Service, startService } from "./service.ts";

declare module "vitest" {
  interface ProvidedContext {
    service: Service;
  }
}

/** Starts one service for all tests over sockets: `npm start` in a fresh copy. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!project.vitest.projects.some(({ name }) => !name.startsWith("runtime"))) return undefined;
  const running = await startService(freshCopy({ hasPages: false }));
  const { url, key, operatorToken, folder, logFile, pid } = running;
  project.provide("service", { url, key, operatorToken, folder, logFile, pid });
  return async () => {
    await running.stop();
    removeCopy(folder);
  };
}
