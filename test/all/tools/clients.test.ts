import { readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { CLIENTS, type Client, checkExample, checkLostBody, runExample } from "../../../tools/clients/matrix.ts";
import { outcomeOf } from "../../support/node/commands.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { runNode } from "../../support/node/service.ts";
import { keyOfWorkspace } from "../../support/node/workspace.ts";

const { url, key } = inject("service");
const service = { url, key };

/** Changes the end of a key, so that it is well formed and forged. */
const forged = key.replace(/.{8}$/, key.endsWith("A".repeat(8)) ? "B".repeat(8) : "A".repeat(8));
const NOWHERE = "http://127.0.0.1:9";

const versions = new Map(CLIENTS.map((client) => [client.name, client.version()]));

describe.for(CLIENTS)("$name", (client) => {
  const isMissing = versions.get(client.name) === undefined;

  it.skipIf(isMissing)(`runs its example${isMissing ? `, skipped: ${client.needs} is missing` : ""}`, async () => {
    expect(await checkExample(client, service)).toEqual({ ok: true, result: "worked" });
  });

  const ways = (["chunked", "noLength"] as const).filter((way) => !("cannot" in client[way]));
  it.skipIf(isMissing).for(ways)("loses no body of a GET without a sign: %s", async (way) => {
    // workerd reads a chunked body of a GET.
    const ofService = way === "chunked" ? "arrives" : "body_required";
    const expected = "throwsItself" in client[way] ? "throws itself" : ofService;
    expect(await checkLostBody(client[way], service)).toEqual({ ok: true, result: expected });
  });

  it.skipIf(isMissing)("fails with the code and the message of a refusal", async () => {
    const { status, stdout, stderr } = await runExample(client, { url, key: forged });
    expect(status).toBeGreaterThan(0);
    expect(stdout).toBe("");
    expect(stderr).toContain("unauthenticated");
    expect(stderr).toContain("This call takes an API key");
    expect(stderr.includes(forged)).toBe(false);
  });

  it.skipIf(isMissing)("fails without printing the key when nothing responds", async () => {
    const { status, stdout, stderr } = await runExample(client, { url: NOWHERE, key });
    expect(status).toBeGreaterThan(0);
    expect((stdout + stderr).includes(key)).toBe(false);
  });
});

describe("the matrix", () => {
  const fakeClient = (script: string): Client => ({
    name: "a fake client",
    needs: "nothing",
    version: () => "1",
    example: [process.execPath, "-e", script],
    chunked: { cannot: "makes no GET" },
    noLength: { cannot: "makes no GET" },
  });
  const LINE = `{"created":true,"updated":"Café Acme","rotated":true,"viewed":"Café Acme","deleted":true}`;
  const CREATE = `fetch(process.env.SERVICE_URL + "/api/user", { method: "POST", body: JSON.stringify({ user_group_id: process.argv[1] }),
    headers: { Authorization: "Token " + process.env.API_KEY, "Content-Type": "application/json", "X-HTTP-Method-Override": "GET" } })`;

  it.for([
    ["does not delete its group", `${CREATE}.then(() => console.log('${LINE}'))`, "still there"],
    ["did not rotate", `console.log('${LINE.replace('"rotated":true', '"rotated":false')}')`, "something else"],
    ["prints the key", `console.log('${LINE}', process.env.API_KEY)`, "printed a credential"],
    ["prints a token", `${CREATE}.then((r) => r.text()).then((t) => console.log(t))`, "printed a credential"],
    ["ends with another status", `console.log('${LINE}'); process.exit(3)`, ""],
  ] as const)("reports an example that %s, without the credential", async ([, script, detail]) => {
    const outcome = await checkExample(fakeClient(script), service);
    expect(outcome).toMatchObject({ ok: false, result: "FAILED", detail: expect.stringContaining(detail) });
    expect(outcome.detail).not.toMatch(/ug[kt]_[a-z]+_[\w-]{60}/);
  });

  it.for([
    ["is refused for another reason", `console.log('{"success":0,"error":{"code":"malformed_json"}}')`],
    ["is refused, and creates", `${CREATE}.then(() => console.log('{"success":0,"error":{"code":"body_required"}}'))`],
    ["throws for another reason", `console.log('{"thrown":"connect ECONNREFUSED"}')`],
    ["prints nothing", ""],
  ] as const)("reports a GET that %s", async ([, script]) => {
    const { example } = fakeClient(script);
    expect(await checkLostBody({ command: example, throwsItself: true }, service)).toMatchObject({ ok: false });
  });

  it("makes a GET again whose response the client lost", async () => {
    const marker = join(newFolder(), "marker");
    const { example } = fakeClient(`
      const fs = require("node:fs");
      if (!fs.existsSync("${marker}")) {
        fs.writeFileSync("${marker}", "");
        throw new Error("write EPIPE");
      }
      console.log('{"success":0,"error":{"code":"body_required"}}');`);
    expect(await checkLostBody({ command: example }, service)).toEqual({ ok: true, result: "body_required" });
  });

  it("accepts a body that arrives, and cleans up", async () => {
    const { example } = fakeClient(`${CREATE}.then((r) => r.text()).then((t) => console.log(t))`);
    expect(await checkLostBody({ command: example }, service)).toEqual({ ok: true, result: "arrives" });
  });
});

describe("npm run clients", () => {
  const clients = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    outcomeOf(runNode(".", ["tools/clients.ts", ...args], { API_KEY: key, ...env }));

  it("prints a row for each named client, and counts", async () => {
    const { status, stdout } = await clients(["--url", url, "fetch", "undici"]);
    expect(stdout).toMatch(
      /^client +version +create\/update\/rotate\/view\/delete +chunked GET +GET without Content-Length\n/,
    );
    expect(stdout).toMatch(/^undici +7[.\d]+ +worked +arrives +cannot$/m);
    expect(stdout).toMatch(/^fetch +24[.\d]+ +worked +throws itself +throws itself$/m);
    expect(stdout).toMatch(/\n2 worked, 0 failed, 0 skipped$/);
    expect(status).toBe(0);
  });

  it("skips a client that is not installed, and names what is missing", async () => {
    const { status, stdout } = await clients(["--url", url, "Perl HTTP::Tiny", "fetch"], { PATH: "/nonexistent" });
    expect(stdout).toMatch(/^Perl HTTP::Tiny +- +skipped: perl with HTTP::Tiny and JSON::PP is missing$/m);
    expect(stdout).toMatch(/\n1 worked, 0 failed, 1 skipped$/);
    expect(status).toBe(0);
  });

  it.for(["requests", "httpx", "aiohttp"])(
    "skips the Python client %s where that module is missing",
    async (module) => {
      // A python3 that cannot import the module.
      const bin = newFolder();
      writeFileSync(join(bin, "python3"), '#!/bin/sh\necho "ModuleNotFoundError" >&2\nexit 1\n', { mode: 0o755 });
      const { status, stdout } = await clients(["--url", url, `Python ${module}`], { PATH: bin });
      expect(stdout).toMatch(
        new RegExp(`^Python ${module} +- +skipped: python3 with the module ${module} is missing$`, "m"),
      );
      expect(stdout).toMatch(/\n0 worked, 0 failed, 1 skipped$/);
      expect(status).toBe(0);
    },
  );

  it("fails when a client does, and does not print the key", async () => {
    const readKey = await keyOfWorkspace("clients", { access: "read" });
    const { status, stdout } = await clients(["--url", url, "fetch"], { API_KEY: readKey });
    expect(stdout).toMatch(/^fetch, create\/update\/rotate\/view\/delete: .*user_group_not_found/ms);
    expect(stdout).toMatch(/\n0 worked, 1 failed, 0 skipped$/);
    expect(stdout.includes(readKey)).toBe(false);
    expect(status).toBe(1);
  });

  it("names the credential that it takes when the service refuses it, and runs nothing", async () => {
    const { status, stdout, stderr } = await clients(["--url", url, "fetch"], { API_KEY: forged });
    expect(stderr).toContain(
      "refused API_KEY (unauthenticated). This command takes an API key, which begins with ugk_.",
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  });

  it("calls the service at SERVICE_URL when there is no --url", async () => {
    const { status, stdout } = await clients(["fetch"], { SERVICE_URL: url });
    expect(stdout).toMatch(/\n1 worked, 0 failed, 0 skipped$/);
    expect(status).toBe(0);
  });

  it("does not print a key that cannot be in a header", async () => {
    const { status, stdout, stderr } = await clients(["--url", url, "fetch"], { API_KEY: `${key}\n${key}` });
    expect(stderr).toBe("API_KEY is not an API key: it holds characters other than letters, digits, _ and -.");
    expect(stdout).toBe("");
    expect(status).toBe(1);
  });

  it.for([
    ["that nothing responds", ["--url", NOWHERE], `The service at ${NOWHERE} cannot be reached`],
    ["that the key would be sent without TLS", ["--url", "http://example.com"], "Give --url as https://"],
    ["that there is no such client", ["--url", url, "gopher"], "There is no client gopher."],
  ] as const)("reports %s", async ([, args, sentence]) => {
    const { status, stderr } = await clients([...args]);
    expect(stderr).toContain(sentence);
    expect(status).toBe(1);
  });
});

it("runs every file of examples", () => {
  const files = readdirSync("examples").filter((name) => /\.(?:java|pl|py|sh|ts)$/.test(name) && name !== "mirror.ts");
  const run = CLIENTS.map(({ example }) => basename(example.at(-1) ?? ""));
  expect(files.toSorted()).toEqual(run.toSorted());
});
