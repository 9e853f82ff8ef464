import type { ChildProcess } from "node:child_process";
import { Console } from "node:console";
import { once } from "node:events";
import { join } from "node:path";
import { type Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { inject, vi } from "vitest";
import { runUg } from "../../../cli/src/run-ug.ts";
import { CREDENTIAL_PATTERN } from "../credential-pattern.ts";
import { runIn } from "./service.ts";

/** What a command printed, without the blanks and line feeds at its ends. */
export type Outcome = { status: number | null; stdout: string; stderr: string };

const UG = join(import.meta.dirname, "../../../cli/src/main.ts");

/** The variables of a command: without those of an outer npm, and the credentials of the person who runs the tests. */
const variablesWith = (env: NodeJS.ProcessEnv) => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|UG_|FORCE_COLOR$|OPERATOR_KEY$|OPERATOR_TOKEN$|API_KEY$)/.test(name),
    ),
  ),
  // Contexts of the person who runs the tests do not count.
  XDG_CONFIG_HOME: "/nonexistent",
  SERVICE_URL: inject("service").url,
  ...env,
});

/** A stream, and the text that was written to it. */
function recorder() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join("").trim() };
}

/** What commands handle. One that is refused before it runs leaves its handlers to the end of its process. */
const EVENTS = ["SIGINT", "SIGTERM", "SIGHUP", "exit"] as NodeJS.Signals[];

let lastRun: Promise<unknown> = Promise.resolve();

/**
 * Runs a command of `ug` in the folder and against the service of the tests, unless its arguments or variables name another. It runs
 * in this process, after the command before it: a process for each would take most of the time of these tests.
 */
export function runCommand(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const outcome = lastRun.then(() => runHere([name, ...args], env));
  lastRun = outcome.catch(() => undefined);
  return outcome;
}

async function runHere(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const before = { env: process.env, folder: process.cwd(), exitCode: process.exitCode, umask: process.umask() };
  const listeners = EVENTS.map((event) => process.listeners(event));
  const [stdout, stderr] = [recorder(), recorder()];
  const print = new Console(stdout.stream, stderr.stream);
  const spies = [
    vi.spyOn(process, "stdout", "get").mockReturnValue(stdout.stream as typeof process.stdout),
    vi.spyOn(console, "info").mockImplementation(print.info),
    vi.spyOn(console, "error").mockImplementation(print.error),
  ];
  process.env = variablesWith(env);
  process.exitCode = undefined;
  process.chdir(inject("service").folder);
  try {
    const status = await runUg(args);
    return { status, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.chdir(before.folder);
    process.env = before.env;
    process.exitCode = before.exitCode;
    process.umask(before.umask);
    for (const [index, event] of EVENTS.entries())
      for (const added of process.listeners(event).filter((each) => !listeners[index]?.includes(each)))
        process.off(event, added);
  }
}

/** Starts a command of `ug` in a process group of its own, without `ug.mjs`, for tests of signals, standard input and broken pipes. */
export const startCommand = (name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess =>
  runIn(inject("service").folder, [process.execPath, "--", UG, name, ...args], variablesWith(env));

/** The outcome, in which no credential may be printed. How `ug` marks a failure is tested with `ug` itself. */
export async function withoutCredential(ended: Promise<Outcome>): Promise<Outcome> {
  const outcome = await ended;
  if (CREDENTIAL_PATTERN.test(outcome.stdout + outcome.stderr))
    throw new Error("The command has printed a credential.");
  return { ...outcome, stderr: outcome.stderr.replace(/^error: /m, "").replace(/ \(request [\w-]+\)$/, "") };
}

/** Waits for the end of a process, and returns what it printed. */
export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const [[status], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout as Readable).catch(() => ""),
    text(child.stderr as Readable),
  ]);
  return { status, stdout: stdout.trim(), stderr: stderr.replaceAll(/^npm warn .*\n/gm, "").trim() };
}
