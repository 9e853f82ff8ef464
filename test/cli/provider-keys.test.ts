import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { startService } from "../../cli/src/serve/service.ts";
import { newFolder } from "../support/node/new-folder.ts";

/** What workerd reaches, as the configuration of `ug serve` lets it. A Worker in place of the service's own tries it. */
const WORKER = `export default {
  async fetch(request, env) {
    const query = new URL(request.url).searchParams;
    const target = query.get("via") === "binding" ? env.SSO_JWKS : globalThis;
    if (!target) return new Response("no binding");
    try {
      return new Response(await (await target.fetch(query.get("url"), { redirect: query.get("redirect") ?? "manual" })).text());
    } catch {
      return new Response("unreachable");
    }
  },
};`;

const KEYS = "the keys";

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts workerd with this URL of keys, and returns how to fetch by it. */
async function startWorker(jwksUrl: string) {
  const folder = newFolder();
  const state = join(folder, "state");
  for (const each of [state, join(folder, "public")]) mkdirSync(each);
  writeFileSync(join(folder, "index.js"), WORKER);
  const settings = { compatibilityDate: "2026-01-01", durableObjects: [], rateLimits: [], vars: {}, files: {} };
  const sso = jwksUrl && { SSO_HEADER: "X-Assertion", SSO_ISSUER: "https://id.example.com", SSO_AUDIENCE: "groups" };
  const { port, stop } = await startService({
    bundle: { folder, settings },
    state,
    address: "127.0.0.1:0",
    variables: { ...sso, SSO_JWKS_URL: jwksUrl },
    log: "ignore",
  });
  onTestFinished(stop);
  return async (via: "binding" | "global", url: string, redirect = "manual") => {
    const query = new URLSearchParams({ via, url, redirect });
    return (await fetch(`http://127.0.0.1:${port}/?${query}`)).text();
  };
}

it("workerd reaches the host of SSO_JWKS_URL by its binding, and no other host in any way", async () => {
  const asked: string[] = [];
  const other = await listen(
    createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end("another service of the machine");
    }),
  );
  const answer: RequestListener = (request, response) =>
    request.url === "/moved"
      ? response.writeHead(302, { Location: `http://127.0.0.1:${other}/secret` }).end("moved")
      : response.end(KEYS);
  const port = await listen(createServer(answer));
  const jwksUrl = `http://localhost:${port}/jwks`;
  const fetchBy = await startWorker(jwksUrl);

  expect(await fetchBy("binding", jwksUrl)).toBe(KEYS);
  for (const url of [`http://127.0.0.1:${other}/secret`, "http://169.254.169.254/latest/", "https://example.com/"])
    expect(await fetchBy("binding", url)).toBe(KEYS);
  expect(await fetchBy("binding", `http://localhost:${port}/moved`, "follow")).toBe(KEYS);
  for (const url of [jwksUrl, `http://127.0.0.1:${other}/secret`])
    expect(await fetchBy("global", url)).toBe("unreachable");
  expect(asked).toEqual([]);
});

it("without the settings, workerd reaches nothing", async () => {
  const port = await listen(createServer((_, response) => void response.end(KEYS)));
  const fetchBy = await startWorker("");
  expect(await fetchBy("binding", `http://localhost:${port}/jwks`)).toBe("no binding");
  expect(await fetchBy("global", `http://localhost:${port}/jwks`)).toBe("unreachable");
});

it("with https, workerd takes the keys from a server whose certificate is trusted, and is for this host", async () => {
  const folder = newFolder();
  const make = (name: string, ...more: string[]) => {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...more], {
      cwd: folder,
      stdio: "ignore",
    });
  };
  make("authority");
  const usage = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost"];
  make("localhost", "-CA", "authority.pem", "-CAkey", "authority.key", ...usage);
  const [key, cert] = ["localhost.key", "localhost.pem"].map((name) => readFileSync(join(folder, name)));
  const port = await listen(createTlsServer({ key, cert }, (_, response) => void response.end(KEYS)));
  const jwksUrl = `https://localhost:${port}/jwks`;

  expect(await (await startWorker(jwksUrl))("binding", jwksUrl)).toBe("unreachable");
  vi.stubEnv("SSL_CERT_FILE", join(folder, "authority.pem"));
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await (await startWorker(jwksUrl))("binding", jwksUrl)).toBe(KEYS);
  const byAddress = `https://127.0.0.1:${port}/jwks`;
  expect(await (await startWorker(byAddress))("binding", byAddress)).toBe("unreachable");
});
