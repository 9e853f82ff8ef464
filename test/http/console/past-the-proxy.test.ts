import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type VisitOptions, visit } from "../../support/console.ts";
import { issueKey, issueOperator } from "../../support/states.ts";

const PUBLIC = "https://groups.example.com";
const LOOPBACK = "http://127.0.0.1:8787";
/** What `ug serve` gives to the Worker behind a proxy that sends the client's address, if it listens on loopback. */
const BOX = { ...env, PUBLIC_URL: PUBLIC, CLIENT_ADDRESS_HEADER: "X-Real-IP", LISTENS_ON_LOOPBACK: "yes" } as Env;
/** Behind a proxy that sends no header of its own. */
const BARE = { ...BOX, CLIENT_ADDRESS_HEADER: "" } as Env;
const ELSEWHERE = { ...BOX, LISTENS_ON_LOOPBACK: "" } as Env;

/** Sends the form of the sign-in to a host, from a page of an origin. Returns the status and the cookie. */
async function signIn(host: string, origin: string, options: VisitOptions = {}) {
  await issueKey();
  const fields = { operator_key: await issueOperator("admin") };
  const headers = { Origin: origin, ...options.headers };
  const answer = await visit("POST", "/console/sign-in", { env: BOX, ...options, origin: host, headers, fields });
  return { status: answer.status, cookie: answer.headers.get("Set-Cookie")?.replace(/=.*?;/, "=…;") };
}

const PLAIN = "console-8787=…; Path=/; HttpOnly; SameSite=Strict";
const SECURE = "__Host-console=…; Path=/; HttpOnly; SameSite=Strict; Secure";

describe("past the proxy of a service that listens on loopback", () => {
  it.for([LOOPBACK, "http://localhost:8787", "http://[::1]:8787", "http://localhost:9000"])(
    "takes the forms of its own pages at %s",
    async (origin) => {
      const { port } = new URL(origin);
      const cookie = PLAIN.replace("8787", port);
      for (const callEnv of [BOX, BARE])
        expect(await signIn(origin, origin, { env: callEnv })).toEqual({ status: 303, cookie });
    },
  );

  it("shows the pages of a session that began there", async () => {
    await issueKey();
    const fields = { operator_key: await issueOperator("admin") };
    const options = { env: BOX, origin: LOOPBACK };
    const answer = await visit("POST", "/console/sign-in", { ...options, fields });
    const headers = { Cookie: answer.headers.get("Set-Cookie")?.split(";")[0] ?? "" };
    expect((await visit("GET", "/console/environments", { ...options, headers })).status).toBe(200);
    // The same cookie opens nothing through the proxy.
    const proxied = { ...headers, "X-Real-IP": "198.51.100.7" };
    expect((await visit("GET", "/console/environments", { ...options, headers: proxied })).status).toBe(303);
  });

  it.for([
    ["a page of another site", LOOPBACK, "https://evil.example", {}],
    ["a page of a sandbox", LOOPBACK, "null", {}],
    ["a page of another program on the operator's machine", LOOPBACK, "http://127.0.0.1:3000", {}],
    ["a page under another name of the machine", LOOPBACK, "http://localhost:8787", {}],
    ["a page of the proxy's site", LOOPBACK, `${PUBLIC}:8443`, {}],
    [
      "a name that was bound to 127.0.0.1 after the page was loaded",
      "http://evil.example:8787",
      "http://evil.example:8787",
      {},
    ],
    ["a name that begins like this machine", "http://127.0.0.1.evil.example", "http://127.0.0.1.evil.example", {}],
    ["a Host of loopback through the proxy", LOOPBACK, LOOPBACK, { "X-Real-IP": "198.51.100.7" }],
    ["a Host of loopback, and an empty address", LOOPBACK, LOOPBACK, { "X-Real-IP": " " }],
    ["a Host of loopback through another proxy", LOOPBACK, LOOPBACK, { "X-Forwarded-For": "198.51.100.7" }],
    ["a Host of loopback through a standard proxy", LOOPBACK, LOOPBACK, { Forwarded: "for=198.51.100.7" }],
    ["a Host of loopback through Cloudflare's tunnel", LOOPBACK, LOOPBACK, { "CF-Ray": "8f0a1b2c3d4e5f60-FRA" }],
    ["a loopback page that sends to the public address", PUBLIC.replace("https", "http"), LOOPBACK, {}],
    ["a frame or a script", LOOPBACK, LOOPBACK, { "Sec-Fetch-Mode": "cors" }],
  ] as const)("refuses %s", async ([, host, origin, headers]) => {
    expect(await signIn(host, origin, { headers })).toEqual({ status: 403, cookie: undefined });
  });

  it("refuses every loopback origin where the service listens on other addresses, too", async () => {
    expect((await signIn(LOOPBACK, LOOPBACK, { env: ELSEWHERE })).status).toBe(403);
  });
});

describe("through the proxy of such a service", () => {
  it.for([
    ["that keeps Host", "http://groups.example.com", { "X-Real-IP": "198.51.100.7" }, BOX],
    ["that replaces Host", LOOPBACK, { "X-Real-IP": "198.51.100.7" }, BOX],
    ["that replaces Host and sends no header", LOOPBACK, {}, BARE],
  ] as const)("%s, the console is that of PUBLIC_URL", async ([, host, headers, callEnv]) => {
    expect(await signIn(host, PUBLIC, { headers, env: callEnv })).toEqual({ status: 303, cookie: SECURE });
    await issueKey();
    const answer = await visit("POST", "/console/sign-in", {
      env: callEnv,
      origin: host,
      headers: { Origin: PUBLIC, ...headers },
      fields: { operator_key: await issueOperator("admin") },
    });
    const Cookie = answer.headers.get("Set-Cookie")?.split(";")[0] ?? "";
    const shown = await visit("GET", "/console/environments", {
      env: callEnv,
      origin: host,
      headers: { Cookie, ...headers },
    });
    expect(shown.status).toBe(200);
  });
});
