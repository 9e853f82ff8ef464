import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { inject } from "vitest";

/** What a command printed, without the blanks and line feeds at its ends. */
export type Outcome = { status: number | null; stdout: string; stderr: string };

/** The environment of a command: without the variables of an outer npm, and the credentials of the person who runs the tests. */
const environmentWith = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|OPERATOR_|API_KEY$|SERVICE_URL$)/.test(name)),
  ),
  ...env,
});

const trimmed = ({ status, stdout, stderr }: Outcome): Outcome => ({
  status,
  stdout: stdout.trim(),
  stderr: stderr.replaceAll(/^npm warn .*\n/gm, "").trim(),
});

/** Runs a script in the service's folder, at the service of the tests unless another is named. */
export function runInFolder(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Outcome {
  const { url, folder } = inject("service");
  const at = args.includes("--url") || env.SERVICE_URL ? [] : ["--url", url];
  const options = { cwd: folder, encoding: "utf8", env: environmentWith(env) } as const;
  return trimmed(spawnSync(process.execPath, [`scripts/${script}.ts`, ...args, ...at], options));
}

/** Runs a script beside this process, so that a stand-in of the test can respond. By default the operator's token is hunter2. */
export const nodeRun = (
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = { OPERATOR_TOKEN: "hunter2" },
): Promise<Outcome> =>
  outcomeOf(spawn(process.execPath, [`scripts/${script}.ts`, ...args], { env: environmentWith(env) }));

/** Waits for the end of a process that gets no input. */
export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  child.stdin?.end();
  const output = [text(child.stdout as Readable), text(child.stderr as Readable)] as const;
  const [stdout, stderr] = await Promise.all([...output, once(child, "close")]);
  return trimmed({ status: child.exitCode, stdout, stderr });
}
