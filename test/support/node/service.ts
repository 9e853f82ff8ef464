import { type ChildProcess, execFileSync, type StdioOptions, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseEnv } from "node:util";

const READY_SECONDS_MAX = 60;

/** What `npm start` runs. */
export const SERVE = ["--", "cli/ug.mjs", "serve", "--demo"];

/** The pages of /docs, the files of /kit/, and the client's package. */
const BUILT = [
  "public/docs",
  "public/docs.html",
  "public/kit",
  "public/llms.txt",
  "public/openapi-3.0.json",
  "client/dist",
];

/**
 * Copies what git would clone, with the installed packages, so that tests start where a new user starts. With what is
 * built, unless `hasPages` is false: that takes seconds.
 */
export function freshCopy({ hasPages = true, parent = tmpdir() } = {}): string {
  const folder = mkdtempSync(join(parent, "user-group-service-"));
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" });
  for (const file of files.split("\n").filter((name) => name !== "" && existsSync(name)))
    cpSync(file, join(folder, file));
  for (const name of BUILT.filter((each) => hasPages && existsSync(each)))
    cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  return folder;
}

export const removeCopy = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** Waits until `condition` is true. After a minute it throws an error that names `what`. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + READY_SECONDS_MAX * 1000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited ${READY_SECONDS_MAX} seconds in vain until ${what}.`);
    await delay(50);
  }
}

export type Service = {
  url: string;
  /** The API key that `npm start` printed. */
  key: string;
  operatorToken: string;
  folder: string;
  logFile: string;
  /** The process that leads the group of all processes of the service. */
  pid: number;
};

export type RunningService = Service & {
  process: ChildProcess;
  /** Stops it as Ctrl-C in a terminal does: by SIGINT to all of its processes. Waits until all of them are gone. */
  stop: () => Promise<void>;
};

/** Runs what `npm start` runs in `folder`, on any free port and with `env`, until it has printed how to call it. */
export async function startService(
  folder: string,
  options: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<RunningService> {
  const logFile = join(folder, `npm-start-${randomUUID()}.log`);
  // Without a pipe: a line is in the file before its request is answered.
  const log = openSync(logFile, "w");
  const child = runIn(folder, [process.execPath, ...SERVE, "--port", "0", ...options], env, ["ignore", log, log]);
  closeSync(log);
  const output = () => readFileSync(logFile, "utf8");
  await waitUntil(() => output().includes("Ctrl-C") || child.exitCode !== null, "npm start was ready");
  const [, shown, key] = /ready at (\S+)[\s\S]*?^ {2}(ugk_\S+)$/m.exec(output()) ?? [];
  // Tests call from addresses of their own in 127.0.0.0/8.
  const url = shown?.replace("localhost", "127.0.0.1");
  if (!url || !key) {
    await endGroup(child, "SIGINT");
    throw new Error(`npm start printed no URL and key:\n${output()}`);
  }
  const operatorToken = parseEnv(readFileSync(join(folder, ".dev.vars"), "utf8")).OPERATOR_TOKEN ?? "";
  return {
    url,
    key,
    operatorToken,
    folder,
    logFile,
    pid: child.pid ?? 0,
    process: child,
    stop: () => endGroup(child, "SIGINT"),
  };
}

/** Runs npm in a process group of its own. */
export const runNpm = (folder: string, args: readonly string[], env?: NodeJS.ProcessEnv): ChildProcess =>
  runIn(folder, ["npm", ...args], env);

/** Runs Node in a process group of its own. It saves half of the time where a test does not need npm. */
export const runNode = (folder: string, args: readonly string[], env?: NodeJS.ProcessEnv): ChildProcess =>
  runIn(folder, [process.execPath, ...args], env);

/**
 * Runs a program in a process group of its own, without the variables of an outer npm and of vitest. Unlike `spawnSync`, it
 * leaves the event loop free: after seconds in `spawnSync`, `fetch` would use a connection that the service has closed.
 */
export function runIn(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
  stdio: StdioOptions = "pipe",
): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_OPTIONS|TEST$)/.test(name));
  const variables = { ...Object.fromEntries(inherited), ...env };
  return spawn(program, args, { cwd: folder, detached: true, env: variables, stdio });
}

/** Sends a signal to all processes of the group that `child` leads, and waits until none is left. */
export async function endGroup(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (processesOf(child).length > 0) process.kill(-(child.pid ?? 0), signal);
  await waitUntil(() => processesOf(child).length === 0, "all processes of the group had ended");
}

/** The processes that belong to the group which `child` leads, as the system lists them. */
export function processesOf(child: ChildProcess): string[] {
  const lines = execFileSync("ps", ["-eo", "pgid=,stat=,pid=,args="], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line.trim().startsWith(`${child.pid} `) && !/^\s*\d+\s+Z/.test(line));
}

/** The ids of the processes that `child` leads and whose command line holds `text`. */
const pidsOf = (child: ChildProcess, text: string): number[] =>
  processesOf(child)
    .filter((line) => line.includes(text))
    .map((line) => Number(line.trim().split(/\s+/)[2]));

/** The ids of the runtime's processes among those that `child` leads. */
export const workerdPidsOf = (child: ChildProcess): number[] => pidsOf(child, "/workerd serve ");

/** The process that launches workerd, below the one of `ug.mjs`. */
export function launcherPidOf(child: ChildProcess): number {
  // The last one: a supervisor's command line ends with that of the launcher.
  const pid = [...pidsOf(child, "cli/src/main.ts"), ...pidsOf(child, "lib/ug.mjs")].at(-1);
  // 0 would name the group of the test itself.
  if (pid === undefined) throw new Error("No process launches workerd.");
  return pid;
}
