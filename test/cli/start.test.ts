import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { runCommand } from "../support/node/commands.ts";
import { canListAddresses, listeningAddresses } from "../support/node/listening-addresses.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { printedOn } from "../support/node/printed.ts";
import {
  endGroup,
  freshCopy,
  launcherPidOf,
  processesOf,
  type RunningService,
  removeCopy,
  runIn,
  runNode,
  runNpm,
  SERVE,
  startService,
  waitUntil,
  workerdPidsOf,
} from "../support/node/service.ts";

/** The service that all files share, for what `npm start` does without options. */
const shared = inject("service");

let folder: string;
beforeAll(() => {
  folder = freshCopy();
});
afterAll(() => removeCopy(folder));

const RUN_MS_MAX = 60_000;

/** Runs npm to its end. */
const run = (args: string[], env: NodeJS.ProcessEnv = {}, at = folder) => endOf(runNpm(at, args, env));

/** Runs what `npm start` runs, without npm, to its end. */
const runScript = (...args: string[]) => endOf(runNode(folder, [...SERVE, ...args]));

/** Runs it in this process, where it ends before it starts anything. */
async function refused(...args: string[]) {
  const { status, stdout, stderr } = await runCommand("serve", ["--demo", ...args]);
  return { code: status, output: stdout + stderr };
}

async function endOf(child: ChildProcess) {
  const timer = setTimeout(() => void endGroup(child, "SIGINT"), RUN_MS_MAX);
  const [stdout, stderr] = await Promise.all([
    child.stdout ? text(child.stdout) : "",
    child.stderr ? text(child.stderr) : "",
    once(child, "exit"),
  ]);
  clearTimeout(timer);
  return { code: child.exitCode, output: stdout + stderr };
}

/** Runs `npm start` until it has printed all of `sentences`, and returns what it printed. */
async function startUntil(at: string, args: string[], sentences: string[]): Promise<string> {
  const child = runNode(at, [...SERVE, "--port", "0", ...args]);
  const output = printedOn(child.stdout, child.stderr);
  try {
    await waitUntil(() => sentences.every((each) => output.text.includes(each)), `npm start printed ${sentences}`);
    return output.text;
  } finally {
    await endGroup(child, "SIGINT");
  }
}

/** A fresh copy that is removed after the test. */
function ownCopy(): string {
  const copy = freshCopy();
  onTestFinished(() => removeCopy(copy));
  return copy;
}

/** The permissions of users other than the owner on the files that the patterns match. */
const grantedToOthers = (at: string, ...patterns: string[]) =>
  patterns.flatMap((pattern) => globSync(join(at, pattern)).map((file) => statSync(file).mode & 0o077));

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

/** The ids of the events in the only directory of a state, read from its file: a call could wake the directory. */
function eventIdsIn(copy: string): unknown[] {
  const [file = ""] = globSync(join(copy, ".ug/state/*GroupDirectory/*.sqlite")).filter(
    (name) => !/metadata/.test(name),
  );
  const database = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
  const rows = database.prepare("SELECT id FROM events ORDER BY id").all();
  database.close();
  return rows.map(({ id }) => id);
}

/** Where the local runtime serves its inspector, its explorer and its other interfaces for debugging. */
const DEBUGGING_PATHS = [
  "/json",
  "/json/list",
  "/json/version",
  "/cdn-cgi/explorer",
  "/cdn-cgi/explorer/api",
  "/cdn-cgi/local/explorer",
  "/cdn-cgi/local/explorer/api",
  "/cdn-cgi/local/explorer/api/local/workers",
  "/cdn-cgi/local/explorer/api/workers/durable_objects/namespaces",
  "/cdn-cgi/local/platform-proxy",
];

/** The answer from `url`; not `ok` if no HTTP server listens there. */
async function ask(url: string): Promise<{ url: string; ok: boolean; text: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return { url, ok: response.ok, text: await response.text() };
  } catch (error) {
    return { url, ok: false, text: String(error) };
  }
}

describe("npm start", () => {
  /** The ways to stop it: signals to one of its processes alone, and the end of all at once. */
  const WAYS_TO_STOP: { signal: NodeJS.Signals; pidOf: (running: RunningService) => number; isClean: boolean }[] = [
    { signal: "SIGINT", pidOf: ({ process: child }) => launcherPidOf(child), isClean: true },
    { signal: "SIGTERM", pidOf: ({ process: child }) => launcherPidOf(child), isClean: true },
    { signal: "SIGHUP", pidOf: ({ process: child }) => launcherPidOf(child), isClean: true },
    { signal: "SIGTERM", pidOf: ({ pid }) => pid, isClean: true },
    { signal: "SIGKILL", pidOf: ({ pid }) => pid, isClean: false },
    { signal: "SIGKILL", pidOf: ({ process: child }) => launcherPidOf(child), isClean: false },
    { signal: "SIGKILL", pidOf: ({ process: child }) => workerdPidsOf(child)[0] ?? 0, isClean: false },
    { signal: "SIGKILL", pidOf: ({ pid }) => -pid, isClean: false },
  ];

  it("keeps state and key however it is stopped, and leaves no process running", async () => {
    const keys = new Set<string>();
    const tokens: string[] = [];
    /** Finds the groups of all runs before, and creates ten more. */
    const findAndCreate = async ({ url, key }: RunningService) => {
      keys.add(key);
      const ids = Array.from({ length: tokens.length + 10 }, (_, index) => `kept ${index}`);
      const answers = await Promise.all(ids.map((id) => get(url, key, id)));
      expect(answers.map(({ body }) => body.new_user_group)).toEqual(ids.map((_, index) => index >= tokens.length));
      const found = answers.map(({ body }) => body.user_group.token);
      expect(found.slice(0, tokens.length)).toEqual(tokens);
      tokens.push(...found.slice(tokens.length));
    };
    for (const { signal, pidOf, isClean } of WAYS_TO_STOP) {
      const running = await startService(folder);
      await findAndCreate(running);
      const exited = once(running.process, "exit");
      process.kill(pidOf(running), signal);
      await exited;
      expect(running.process.exitCode === 0, signal).toBe(isClean);
      await waitUntil(() => processesOf(running.process).length === 0, `${signal} ended all processes`);
    }
    const last = await startService(folder);
    await findAndCreate(last);
    await last.stop();
    expect([...keys]).toEqual([readFileSync(join(folder, ".demo-keys/default"), "utf8").trim()]);
  });

  it("makes state, secrets and keys private to their owner, also if others had access", async () => {
    const files = [".dev.vars", ".demo-keys", ".demo-keys/default", ".demo-keys/default.operator", ".ug/state"];
    expect(new Set(grantedToOthers(shared.folder, ...files, ".ug/state/**"))).toEqual(new Set([0]));

    for (const name of [".ug/state", ".demo-keys"]) chmodSync(join(folder, name), 0o755);
    for (const name of [".dev.vars", ".demo-keys/default", ".demo-keys/default.operator"])
      chmodSync(join(folder, name), 0o644);
    await (await startService(folder)).stop();
    expect(new Set(grantedToOthers(folder, ...files))).toEqual(new Set([0]));
  });

  it.skipIf(!canListAddresses)("opens no inspector and no explorer on any port (needs /proc)", async () => {
    const addresses = listeningAddresses(shared.pid);
    expect(addresses).toEqual([new URL(shared.url).host]);

    const answers = await Promise.all(
      addresses.flatMap((address) => DEBUGGING_PATHS.map((path) => ask(`http://${address}${path}`))),
    );
    expect(answers.filter(({ ok }) => ok)).toEqual([]);
    const secrets = readFileSync(join(shared.folder, ".dev.vars"), "utf8").match(/(?<==(k1:)?)[^:\n]{40,}/g) ?? [];
    expect(secrets).toHaveLength(2);
    for (const secret of [...secrets, shared.key]) expect(JSON.stringify(answers)).not.toContain(secret);
  });

  it("issues another key for another state, and each state keeps its own", async () => {
    const elsewhere = ["--persist-to", join(folder, "elsewhere")];
    const first = await startService(folder, elsewhere);
    await first.stop();
    const second = await startService(folder, elsewhere);
    expect((await get(second.url, second.key, "acme")).body.new_user_group).toBe(true);
    await second.stop();
    expect(second.key).toBe(first.key);
    expect(readFileSync(join(folder, ".demo-keys/default"), "utf8").trim()).not.toBe(first.key);
  });

  it("issues another key if the state lacks the old one, or the secrets are new", async () => {
    const kept = readFileSync(join(folder, ".demo-keys/default"), "utf8").trim();
    rmSync(join(folder, ".ug"), { recursive: true });
    const emptied = await startService(folder);
    await emptied.stop();
    rmSync(join(folder, ".dev.vars"));
    const resigned = await startService(folder);
    expect((await get(resigned.url, resigned.key, "acme")).status).toBe(200);
    await resigned.stop();
    expect(new Set([kept, emptied.key, resigned.key]).size).toBe(3);

    const [first, second] = [emptied, resigned].map(({ logFile }) => readFileSync(logFile, "utf8"));
    expect(first).not.toContain("was made with other secrets");
    expect(second).toContain("The state in .ug/state was made with other secrets.");
    expect(second).toContain("all of its tokens and API keys are invalid");
    expect(second).toContain("To start with an empty state, delete the folder .ug/state, or use another");
  });

  it("reports a busy port, and how to choose another", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    const { code, output } = await run(["start", "--", "--port", String(port)]);
    listener.close();
    expect(code).not.toBe(0);
    expect(output).toContain(`Port ${port} is busy.`);
    expect(output).toContain(`npm start -- --port ${port + 1}`);
    expect(output).not.toMatch(/^\s+at /m);
  });

  it.for(["abc", "99999"])("refuses %s as a port in one sentence", async (port) => {
    const { code, output } = await refused("--port", port);
    expect(code).toBe(2);
    expect(output).toContain("Give the port as a whole number up to 65535.");
    expect(output).not.toMatch(/^\s+at /m);
  });

  it("refuses a descriptor that is no socket in one sentence", async () => {
    const { code, output } = await runScript("--socket-fd", "77");
    expect(code).toBe(2);
    expect(output).toContain("Give --socket-fd as the number of an open socket, from 3 on.");
    expect(output).not.toMatch(/^\s+at /m);
  });

  it("says in one sentence that the keys of the demo cannot be kept", async () => {
    const copy = ownCopy();
    writeFileSync(join(copy, ".demo-keys"), "");
    const { code, output } = await endOf(runNode(copy, [...SERVE, "--port", "0"]));
    expect(code).toBe(1);
    expect(output).toContain("for the keys of the demo, cannot be made: EEXIST.");
    expect(output).not.toMatch(/^\s+at /m);
  });

  it("writes the secrets to the file of --env-file", async () => {
    const copy = ownCopy();
    const output = await startUntil(copy, ["--env-file", "other.vars"], ["Get or create a user group"]);
    expect(output).toContain("Wrote fresh secrets to other.vars.");
    expect(statSync(join(copy, "other.vars")).mode & 0o077).toBe(0);
  });

  it("makes no secrets in place of a file that was mistyped, unless it is for a try", async () => {
    const file = join(newFolder(), "mistyped.vars");
    const { status, stderr } = await runCommand("serve", ["--persist-to", join(file, "../state"), "--env-file", file]);
    expect([status, stderr.startsWith(`error: The file ${file} is missing.`)]).toEqual([1, true]);
    expect(existsSync(file)).toBe(false);
  });

  it("explains how to add missing signing keys to .dev.vars", async () => {
    const file = join(newFolder(), ".dev.vars");
    writeFileSync(file, `OPERATOR_TOKEN=${"x".repeat(32)}\n`);
    const { code, output } = await refused("--persist-to", join(file, "../state"), "--env-file", file);
    expect(code).toBe(1);
    expect(output).toContain("SIGNING_KEYS is missing.");
    expect(output).toContain(`Settings come from ${file}, the environment and --var.`);
    expect(output).not.toContain("OPERATOR_TOKEN");
  });

  it.for([
    ["missing", ""],
    ["too short", `OPERATOR_TOKEN=${"x".repeat(31)}\n`],
  ] as const)("warns when the operator's token is %s", async ([, line]) => {
    const copy = ownCopy();
    writeFileSync(join(copy, ".dev.vars"), `SIGNING_KEYS=k1:${Buffer.alloc(32, 1).toString("base64")}\n${line}`);
    await startUntil(
      copy,
      [],
      ["OPERATOR_TOKEN in .dev.vars is missing or too short", "Set it to a random text of 32 characters or more."],
    );
  });

  it("refuses a state that another npm start uses, and suggests another folder", async () => {
    const { code, output } = await run(["start", "--", "--port", "9000"], {}, shared.folder);
    expect(code).toBe(1);
    expect(output).toContain("The state in .ug/state is in use by another ug serve.");
    expect(output).toContain("npm start -- --port 9001 --persist-to DIR");
    expect(output).not.toMatch(/^\s+at /m);
    expect((await get(shared.url, shared.key, "unharmed")).status).toBe(200);
  });

  it("refuses a state that a workerd without its launcher uses", async () => {
    await (await startService(folder)).stop();
    const binary = createRequire(import.meta.url).resolve("workerd/bin/workerd");
    const workerd = runIn(folder, [binary, "serve", "--import-path=/", ".ug/state/workerd.capnp", "--control-fd=1"]);
    onTestFinished(() => endGroup(workerd, "SIGKILL"));
    await once(workerd.stdout as Readable, "data");
    const { code, output } = await runScript("--port", "0");
    expect(code).toBe(1);
    expect(output).toContain("in use by a process named workerd whose ug serve was killed");
  });

  it("refuses a missing env file for a state that was made with its secrets", async () => {
    const copy = ownCopy();
    await (await startService(copy)).stop();
    rmSync(join(copy, ".dev.vars"));
    const { code, output } = await endOf(runNode(copy, ["cli/ug.mjs", "serve", "--port", "0"]));
    expect(code).toBe(1);
    expect(output).toContain(
      "The file .dev.vars is missing, and .ug/state holds a state that was made with its secrets.",
    );
    expect(existsSync(join(copy, ".dev.vars"))).toBe(false);
  });

  it("refuses a state folder with other files, and does not change it", async () => {
    const foreign = newFolder();
    chmodSync(foreign, 0o755);
    writeFileSync(join(foreign, "letter.txt"), "");
    const { code, output } = await refused("--persist-to", foreign);
    expect(code).toBe(1);
    expect(output).toContain("holds other files. Give --persist-to a folder that is new or empty.");
    expect(statSync(foreign).mode & 0o777).toBe(0o755);
  });

  it("explains what to do with a state of another version", async () => {
    const copy = ownCopy();
    // A Worker with the answers of this one for a database of another version.
    writeFileSync(
      join(copy, "src/index.ts"),
      `import { DurableObject } from "cloudflare:workers";
      export class GroupDirectory extends DurableObject {}
      export class Registry extends DurableObject {}
      const error = { code: "service_not_configured", message: "The database is of another version." };
      export default {
        fetch: (request) =>
          request.url.endsWith("/health")
            ? Response.json({ success: 1 })
            : Response.json({ success: 0, error }, { status: 503 }),
      };`,
    );
    const { code, output } = await endOf(runNode(copy, [...SERVE, "--port", "0"]));
    expect(code).toBe(1);
    expect(output).toContain("The state in .ug/state was made by another version of this service.");
    expect(output).toContain("Delete the folder, or use another: npm start -- --persist-to DIR");
    expect(output).not.toContain("is ready");
  });

  it("prints calls that end with a session, which a page can present", async () => {
    const calls = readFileSync(shared.logFile, "utf8").match(/^ {2}curl .+$/gm) ?? [];
    const { output } = await endOf(
      runIn(folder, ["bash", "-c", calls.map((call) => `${call.trim()} -s; echo`).join("\n")]),
    );
    const [, minted = "{}"] = output.trim().split("\n");
    const headers = { Authorization: `Bearer ${JSON.parse(minted).session?.token}` };
    expect((await fetch(`${shared.url}/api/viewer`, { headers })).status).toBe(200);
  });

  it("sets variables of the Worker: EVENT_DAYS purges old events without a call", async () => {
    const copy = ownCopy();
    const vars = ["CONSOLE:off", "OTHER:a:b", "EVENT_DAYS:0.00005"].flatMap((each) => ["--var", each]);
    const { url, key, logFile, stop } = await startService(copy, vars);
    onTestFinished(stop);
    expect(readFileSync(logFile, "utf8")).not.toContain("/console");
    const events = async (query: string) => {
      const response = await fetch(`${url}/api/events${query}`, { headers: { Authorization: `Token ${key}` } });
      return { status: response.status, body: (await response.json()) as { events: object[]; next_cursor: string } };
    };
    const { next_cursor: afterFirst } = (await events("?limit=1")).body;
    for (const id of ["a", "b"]) await get(url, key, id);
    await waitUntil(() => String(eventIdsIn(copy)) === "3", "the database had the newest event alone");
    expect((await events("")).body.events).toMatchObject([{ id: 3, user_group: { provided_id: "b" } }]);
    expect((await events(`?cursor=${afterFirst}`)).status).toBe(410);
  });

  it.for([
    [
      "--port 9000",
      ["--port", "9000"],
      "npm took --port for itself. Put -- before the options: npm start -- --port 9000",
    ],
    ["--persist-to=DIR", ["--persist-to=x"], "npm start -- --persist-to DIR"],
    ["--var=NAME:VALUE", ["--var=A:B"], "npm start -- --var NAME:VALUE"],
  ] as const)("explains how to write %s when -- is missing", async ([, args, sentence]) => {
    const { code, output } = await run(["start", ...args]);
    expect(code).toBe(2);
    expect(output).toContain(sentence);
    expect(output).not.toMatch(/^\s+at /m);
  });

  it.for([
    ["an unknown option", ["--inspect"], "Unknown option '--inspect'"],
    ["an argument without an option", ["9000"], "Too many arguments"],
    ["a host name", ["--host", "localhost"], "Give --host as an IP address"],
    ["a variable without a value", ["--var", "NAME"], "Give --var as NAME:VALUE."],
    ["a secret in the arguments", ["--var", "OPERATOR_TOKEN:x"], "OPERATOR_TOKEN is a secret, and other users"],
  ] as const)("refuses %s in one sentence", async ([, args, sentence]) => {
    const { code, output } = await refused(...args);
    expect(code).toBe(2);
    expect(output).toContain(sentence);
    expect(output).not.toMatch(/^\s+at /m);
  });
});

describe("installing", () => {
  it("refuses a Node that is too old in one sentence", () => {
    const oldVersion = join(folder, "old-version.mjs");
    writeFileSync(oldVersion, `Object.defineProperty(process.versions, "node", { value: "18.20.1" });`);
    const { status, stderr } = spawnSync(process.execPath, ["--import", oldVersion, "common/install.mjs"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr.trim()).toBe(
      "This needs Node 20 or newer, and this is Node 18.20.1. Install a newer one from https://nodejs.org.",
    );
  });

  it.for([
    ["serving", ["npm", "start"]],
    ["testing", ["node", "common/install.mjs"]],
  ] as const)("says in one sentence that the packages for %s cannot be installed", async ([set, command]) => {
    const bare = ownCopy();
    rmSync(join(bare, "node_modules"));
    const { code, output } = await endOf(
      runIn(bare, command, {
        npm_config_registry: "http://127.0.0.1:9",
        npm_config_fetch_retries: "0",
        npm_config_cache: join(bare, "cache"),
      }),
    );
    expect(code).toBe(1);
    expect(output).toContain(`Installing the packages for ${set}, once ...`);
    expect(output.match(/^The packages could not be installed\. .*$/gm)).toHaveLength(1);
    expect(output).not.toMatch(/^\s+at /m);
  });

  it("uses no network where no package is missing", () => {
    expect(readFileSync(shared.logFile, "utf8")).not.toMatch(/Installing|ENOTFOUND|Unable to fetch/);
  });
});
