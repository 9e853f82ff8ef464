import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, it } from "vitest";
import { endGroup, freshCopy, processesOf, removeCopy, runNpm, startService, waitUntil } from "./support/service.ts";

let folder: string;
beforeAll(() => {
  folder = freshCopy();
});
afterAll(() => removeCopy(folder));

/** Runs npm to its end. */
async function run(args: string[], env: NodeJS.ProcessEnv = {}, at = folder) {
  const child = runNpm(at, args, env);
  const [stdout, stderr] = await Promise.all([
    child.stdout ? text(child.stdout) : "",
    child.stderr ? text(child.stderr) : "",
    once(child, "exit"),
  ]);
  return { code: child.exitCode, output: stdout + stderr };
}

const get = async (url: string, key: string, id: string) => {
  const response = await fetch(`${url}/api/user`, {
    method: "POST",
    headers: { Authorization: `Token ${key}`, "Content-Type": "application/json", "X-HTTP-Method-Override": "GET" },
    body: JSON.stringify({ user_group_id: id }),
  });
  return {
    status: response.status,
    body: (await response.json()) as { new_user_group: boolean; user_group: { token: string } },
  };
};

describe("npm start", () => {
  it("makes private secrets, keeps state and key over restarts, and leaves no process behind", async ({ expect }) => {
    const first = await startService(folder);
    const created = await get(first.url, first.key, "acme");
    expect(statSync(join(folder, ".dev.vars")).mode & 0o077).toBe(0);
    expect(statSync(join(folder, ".demo-keys/default")).mode & 0o077).toBe(0);
    expect(readFileSync(join(folder, ".demo-keys/default"), "utf8").trim()).toBe(first.key);
    expect(processesOf(first.process)).not.toEqual([]);
    // Wrangler's own page, which would show and change the database without a credential.
    expect((await fetch(`${first.url}/cdn-cgi/local/explorer/api/workers/durable_objects/namespaces`)).status).toBe(
      404,
    );
    await first.stop();
    expect(processesOf(first.process)).toEqual([]);

    const second = await startService(folder);
    const found = await get(second.url, second.key, "acme");
    await second.stop();

    expect(second.key).toBe(first.key);
    expect(created.body.new_user_group).toBe(true);
    expect(found.body).toMatchObject({ new_user_group: false, user_group: { token: created.body.user_group.token } });
  });

  it("keeps what it acknowledged when all of its processes are killed", async ({ expect }) => {
    const killed = await startService(folder);
    const tokens = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, index) => (await get(killed.url, killed.key, `kept ${index}`)).body.user_group.token,
      ),
    );
    await endGroup(killed.process, "SIGKILL");

    const again = await startService(folder);
    for (const [index, token] of tokens.entries())
      expect((await get(again.url, again.key, `kept ${index}`)).body).toMatchObject({
        new_user_group: false,
        user_group: { token },
      });
    await again.stop();
  });

  it("issues another key for another state, and each state keeps its own", async ({ expect }) => {
    const elsewhere = ["--persist-to", join(folder, "elsewhere")];
    const first = await startService(folder, elsewhere);
    await first.stop();
    const unmoved = await startService(folder);
    await unmoved.stop();
    const second = await startService(folder, elsewhere);
    expect((await get(second.url, second.key, "acme")).body.new_user_group).toBe(true);
    await second.stop();
    expect(second.key).toBe(first.key);
    expect(unmoved.key).not.toBe(first.key);
  });

  it("issues the key anew when the state does not know it, or the secrets are new", async ({ expect }) => {
    const kept = readFileSync(join(folder, ".demo-keys/default"), "utf8").trim();
    rmSync(join(folder, ".wrangler"), { recursive: true });
    const emptied = await startService(folder);
    await emptied.stop();
    rmSync(join(folder, ".dev.vars"));
    const resigned = await startService(folder);
    expect((await get(resigned.url, resigned.key, "acme")).status).toBe(200);
    await resigned.stop();
    expect(new Set([kept, emptied.key, resigned.key]).size).toBe(3);
  });

  it("stops when npm alone is told to", async ({ expect }) => {
    const running = await startService(folder);
    running.process.kill("SIGTERM");
    await waitUntil(() => processesOf(running.process).length === 0, "all processes that npm started were gone");
    expect(processesOf(running.process)).toEqual([]);
  });

  it("says that the port is busy, and how to choose another", async ({ expect }) => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const { port } = squatter.address() as { port: number };
    const { code, output } = await run(["start", "--", "--port", String(port)]);
    squatter.close();
    expect(code).not.toBe(0);
    expect(output).toContain(`Port ${port} is busy.`);
    expect(output).toContain(`npm start -- --port ${port + 1}`);
    expect(output).not.toMatch(/^\s+at /m);
  });

  it.for(["abc", "99999"])("refuses %s for a port in one sentence", async (port, { expect }) => {
    const { code, output } = await run(["start", "--", "--port", port]);
    expect(code).toBe(1);
    expect(output).toContain("Give --port as a whole number up to 65535.");
    expect(output).not.toMatch(/^\s+at /m);
  });

  it("makes a file of secrets by another name", async ({ expect }) => {
    const copy = freshCopy();
    const child = runNpm(copy, ["start", "--", "--port", "0", "--env-file", "other.vars"]);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => {
        output += data;
      });
    await waitUntil(() => output.includes("Get or create a user group"), "npm start was ready");
    expect(output).toContain("Wrote fresh secrets to other.vars.");
    await endGroup(child, "SIGINT");
    removeCopy(copy);
  });

  it("says what is wrong with a .dev.vars that lacks the signing keys", async ({ expect }) => {
    const copy = freshCopy();
    writeFileSync(join(copy, ".dev.vars"), "OPERATOR_TOKEN=x\n");
    const child = runNpm(copy, ["start", "--", "--port", "0"]);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => {
        output += data;
      });
    const sentences = [
      "No API key could be issued",
      "If .dev.vars lacks a secret",
      "npx wrangler secret put SIGNING_KEYS",
    ];
    await waitUntil(
      () => sentences.every((sentence) => output.includes(sentence)),
      "npm start said why there is no key",
    );
    expect(output).toContain("SIGNING_KEYS is unusable");
    await endGroup(child, "SIGINT");
    removeCopy(copy);
  });
});

describe("installing", () => {
  it("refuses a Node that is too old in one sentence", ({ expect }) => {
    const pretence = join(folder, "pretence.mjs");
    writeFileSync(pretence, `Object.defineProperty(process.versions, "node", { value: "18.20.1" });`);
    const { status, stderr } = spawnSync(process.execPath, ["--import", pretence, "scripts/install.mjs"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr.trim()).toBe(
      "This needs Node 20 or newer, and this is Node 18.20.1. Install a newer one from https://nodejs.org.",
    );
  });

  it("says so in one sentence when packages are missing and the registry cannot be reached", async ({ expect }) => {
    const bare = freshCopy();
    rmSync(join(bare, "node_modules"));
    const { code, output } = await run(
      ["start"],
      {
        npm_config_registry: "http://127.0.0.1:9",
        npm_config_fetch_retries: "0",
        npm_config_cache: join(bare, "cache"),
      },
      bare,
    );
    removeCopy(bare);
    expect(code).not.toBe(0);
    expect(output).toContain("The packages could not be installed.");
    expect(output).not.toMatch(/^\s+at /m);
  });

  it("touches no network where nothing is missing", async ({ expect }) => {
    const offline = await startService(folder, []);
    expect(existsSync(join(folder, "node_modules"))).toBe(true);
    expect(readFileSync(offline.logFile, "utf8")).not.toMatch(/Installing|ENOTFOUND|Unable to fetch/);
    await offline.stop();
  });
});
