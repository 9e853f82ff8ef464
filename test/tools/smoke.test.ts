import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { request } from "undici";
import { describe, expect, inject, it } from "vitest";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { call } from "../support/node/client.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, key, operatorToken } = inject("service");

/** A key that may only read. */
const readKey = await fetch(`${url}/api/keys`, {
  method: "POST",
  headers: { Authorization: `Token ${operatorToken}`, "Content-Type": "application/json" },
  body: JSON.stringify({ workspace: "smoke", environment: "Testing", name: "reader", access: "read" }),
}).then(async (response) => ((await response.json()) as { key: string }).key);

const { PATH, NODE_COMPILE_CACHE } = process.env;

async function smoke(args: string[], env: NodeJS.ProcessEnv = { API_KEY: key }) {
  const child = spawn(process.execPath, ["tools/smoke.ts", ...args], {
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { output, errors: errors.trim(), code: child.exitCode };
}

/** Counts the groups of the environment with an id of the smoke test. */
async function leftovers(): Promise<number> {
  const answer = await request(`${url}/api/user_groups?user_group_id_prefix=smoke-test-`, {
    headers: { Authorization: `Token ${key}` },
  });
  return ((await answer.body.json()) as { user_groups: unknown[] }).user_groups.length;
}

describe("npm run smoke", () => {
  it("passes, reports that GET bodies arrive, and leaves no group", async () => {
    const { output, errors, code } = await smoke(["--url", url]);
    expect(errors).toBe("");
    expect(code).toBe(0);
    expect(output.match(/^ok /gm)).toHaveLength(12);
    for (const step of ["mint a viewer session", "the session shows the group", "its session is refused"])
      expect(output).toContain(`ok      ${step}\n`);
    expect(output).not.toContain("eyJ");
    expect(output).toContain("GET requests arrive here with their body.");
    expect(output).not.toMatch(CREDENTIAL_PATTERN);
    expect(await leftovers()).toBe(0);
  });

  it("reports a proxy that drops GET bodies and breaks rotations, and cleans up", async () => {
    const lossy = createServer(async (incoming, outgoing) => {
      const isBroken = incoming.method === "POST" && incoming.headers["x-http-method-override"] === undefined;
      const body = await text(incoming);
      if (isBroken) return outgoing.writeHead(502).end("<html>");
      const answer = await request(url + incoming.url, {
        method: incoming.method as "GET",
        headers: Object.fromEntries(
          ["authorization", "content-type", "x-http-method-override"].flatMap((name) => {
            const value = incoming.headers[name];
            return typeof value === "string" ? [[name, value]] : [];
          }),
        ),
        body: incoming.method === "GET" || body === "" ? null : body,
      });
      return outgoing.writeHead(answer.statusCode).end(await answer.body.text());
    }).listen(0, "127.0.0.1");
    await once(lossy, "listening");
    const address = lossy.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const { output, errors, code } = await smoke(["--url", `http://127.0.0.1:${port}`]);
    lossy.close();
    expect(output).toContain("GET requests lose their body on the way");
    expect(output).toMatch(/^FAILED {2}rotate, by POST: 502/m);
    expect(output).toMatch(/^FAILED {2}mint a viewer session: 502/m);
    expect(output).not.toContain("session is refused");
    expect(errors).toMatch(/of the steps failed/);
    expect(code).toBe(1);
    expect(`${output}${errors}`).not.toMatch(CREDENTIAL_PATTERN);
    expect(await leftovers()).toBe(0);
  });

  it.for([
    ["no API_KEY", [], {}, /Set API_KEY/],
    ["a key that is two lines", [], { API_KEY: `${key}\n${key}` }, /API_KEY is not an API key/],
    [
      "a text that is not a key",
      [],
      { API_KEY: "none" },
      /refused API_KEY \(unauthenticated\)\. This command takes an API key/,
    ],
    ["the operator's token", [], { API_KEY: operatorToken }, /refused API_KEY .* begins with ugk_/],
    [
      "a SERVICE_URL with a path",
      ["NO_URL"],
      { API_KEY: key, SERVICE_URL: `${url}/api/user` },
      /Give SERVICE_URL as the service's origin/,
    ],
    ["a key that may only read", [], { API_KEY: readKey }, /may not create groups/],
    ["an argument too many", ["https://example.com"], { API_KEY: key }, /Too many arguments/],
    ["a service without TLS", ["--url", "http://example.com"], { API_KEY: key }, /https/],
    ["an address without a service", ["--url", "http://127.0.0.1:1"], { API_KEY: key }, /cannot be reached/],
  ] as const)("explains what to do about %s", async ([, args, env, sentence]) => {
    const { errors, code } = await smoke(
      args.length > 0 ? args.filter((arg) => arg !== "NO_URL") : ["--url", url],
      env,
    );
    expect(errors).toMatch(sentence);
    expect(errors).not.toMatch(/\n {4}at /);
    expect(errors).not.toMatch(CREDENTIAL_PATTERN);
    expect(code).toBe(1);
  });

  it("calls the service at SERVICE_URL when there is no --url", async () => {
    expect((await smoke([], { API_KEY: key, SERVICE_URL: url })).code).toBe(0);
  });

  it("prints no key that a refusal repeats, however JSON escapes it", async () => {
    const escaped = key.replace("u", "\\u0075");
    const body = `{"success":0,"error":{"code":"invalid_body","message":"No ${escaped}"}}`;
    const { url: other } = await standIn(() => ({ status: 422, body }));
    const { output, errors, code } = await smoke(["--url", other]);
    expect(output).toContain("422 invalid_body No [credential]");
    expect(`${output}${errors}`).not.toMatch(CREDENTIAL_PATTERN);
    expect(code).toBe(1);
  });

  it("names the refusal when nothing can be created, and tries nothing without a group", async () => {
    const body = { success: 0, error: { code: "rate_limited", message: "Too many calls." } };
    const { url: other, received } = await standIn(() => ({ status: 429, body }));
    const { output, errors, code } = await smoke(["--url", other]);
    expect(output).toMatch(/^FAILED {2}create, .*: 429 rate_limited Too many calls\.$/m);
    expect(output).toMatch(/^FAILED {2}GET with a body .*: 429 rate_limited Too many calls\.$/m);
    expect(errors).toBe("2 of the steps failed.");
    expect(received).toHaveLength(2);
    expect(code).toBe(1);
  });

  it("is not refused because other tests have sent too many wrong credentials", async () => {
    const wrong = { Authorization: "Token none" };
    const statuses = new Set<number>();
    // More than two minutes' limits, because a new minute may begin meanwhile.
    for (let sent = 0; sent < 1300 && !statuses.has(429); sent += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => call("GET", "/api/whoami", undefined, wrong)));
      for (const { status } of answers) statuses.add(status);
    }
    expect(statuses).toEqual(new Set([401, 429]));
    const { errors } = await smoke(["--url", url], { API_KEY: "none" });
    expect(errors).toContain("refused API_KEY (unauthenticated)");
  });

  it.for([
    ["is a health check", 200, '{"status":"ok"}', /is not the user group service/],
    ["is a page", 200, "<p>Log in", /is not the user group service/],
    ["redirects", 302, "", /redirects elsewhere/],
  ] as const)("reports a server that %s", async ([, status, body, sentence]) => {
    const other = await standIn(() => ({ status, headers: { Location: "/login" }, body }));
    const { output, errors, code } = await smoke(["--url", other.url]);
    expect(errors).toMatch(sentence);
    expect(output).not.toMatch(/^ok /m);
    expect(code).toBe(1);
  });
});
