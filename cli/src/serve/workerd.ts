/** One process of workerd, from its start to its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../common/command-error.ts";
import { RELEASE } from "../release.ts";
import { textLinesOf } from "../support/lines.ts";
import { SOCKET } from "./workerd-config.ts";

const READY_MS_MAX = 30_000;
/** How long workerd may answer what it has begun, before it is killed. */
const DRAIN_MS_MAX = 10_000;
const CONTROL_FD = 3;
/** The program of util-linux that sets PR_SET_PDEATHSIG (prctl(2)): the kernel ends workerd when its launcher has ended. */
const SETPRIV = "/usr/bin/setpriv";

export type WorkerdOptions = {
  config: string;
  /** The only variables that workerd gets. */
  env: Record<string, string>;
  /** The file descriptor of a socket that is already open, in place of the configuration's address. */
  socketFd?: number | undefined;
  /** Where the log goes: `errors` shows the errors alone. With `pipe` the caller must read `stdout` and `stderr`. */
  log: "inherit" | "errors" | "ignore" | "pipe";
};

export type Workerd = {
  process: ChildProcess;
  /** `undefined` for a socket that was passed on. */
  port: number | undefined;
  /** Resolves to a sentence when workerd ends without having been stopped. */
  failed: Promise<string>;
  /** Lets workerd answer what it has begun for up to 10 s, then kills it. Resolves when it has ended. */
  stop: () => Promise<void>;
};

/**
 * Starts workerd, and resolves when it listens. If this process ends in any way, workerd ends too (on Linux; elsewhere only
 * if this process is not killed).
 *
 * @throws CommandError if it does not listen within 30 s.
 */
export async function startWorkerd({ config, env, socketFd, log }: WorkerdOptions): Promise<Workerd> {
  const binary = RELEASE ? join(RELEASE, "bin/workerd") : createRequire(import.meta.url).resolve("workerd/bin/workerd");
  const fd = socketFd === undefined ? [] : [`--socket-fd=${SOCKET}=${CONTROL_FD + 1}`];
  // With this import path, the configuration can embed files by their absolute paths.
  const args = [binary, "serve", "--import-path=/", config, `--control-fd=${CONTROL_FD}`, ...fd];
  const [program = "", ...rest] = existsSync(SETPRIV) ? [SETPRIV, "--pdeathsig", "KILL", "--", ...args] : args;
  const outputs = log === "errors" ? (["ignore", "inherit"] as const) : ([log, log] as const);
  const child = spawn(program, rest, {
    stdio: ["ignore", ...outputs, "pipe", ...(socketFd === undefined ? [] : [socketFd])],
    env,
  });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = once(child, "exit").then(() => void process.removeListener("exit", kill));
  const listening = await Promise.race([listeningOf(child), delay(READY_MS_MAX, undefined, { ref: false })]);
  if (!listening) {
    for (const stream of [child.stdout, child.stderr]) process.stderr.write(stream?.read() ?? "");
    kill();
    throw new CommandError("workerd did not start. Its output above explains why.");
  }
  let isStopping = false;
  return {
    process: child,
    port: socketFd === undefined ? listening.port : undefined,
    failed: new Promise((resolve) => {
      void ended.then(() => isStopping || resolve(`workerd has ended (${child.signalCode ?? child.exitCode}).`));
    }),
    stop: async () => {
      isStopping = true;
      child.kill("SIGTERM");
      const timer = setTimeout(kill, DRAIN_MS_MAX);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Resolves when workerd reports, as a line of JSON, that the socket listens; to `undefined` if it ends before. */
async function listeningOf(child: ChildProcess): Promise<{ port: number } | undefined> {
  const control = child.stdio[CONTROL_FD] as Readable;
  for await (const line of textLinesOf(control.iterator({ destroyOnReturn: false }))) {
    const { event, socket, port } = JSON.parse(line) as { event: string; socket?: string; port: number };
    if (event === "listen" && socket === SOCKET) return { port };
  }
  return undefined;
}
