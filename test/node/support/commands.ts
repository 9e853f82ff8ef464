import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { inject } from "vitest";

/** What a command printed, without the blanks and line feeds at its ends. */
export type Outcome = { status: number | null; stdout: string; stderr: string };

/** The environment of a command: without the credentials of the person who runs the tests. */
const environmentWith = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...process.env,
  OPERATOR_KEY: undefined,
  OPERATOR_TOKEN: undefined,
  API_KEY: undefined,
  ...env,
});

/** Runs an npm script of the service's folder as the documents do, at the service of the tests unless another is named. */
export function npmRun(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Outcome {
  const { url, folder } = inject("service");
  const at = args.includes("--url") || env.SERVICE_URL ? [] : ["--url", url];
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", script, "--", ...args, ...at], {
    cwd: folder,
    encoding: "utf8",
    env: environmentWith(env),
  });
  return { status, stdout: stdout.trim(), stderr: stderr.replaceAll(/^npm warn .*\n/gm, "").trim() };
}

/** Runs a script beside this process, so that a stand-in of the test can respond. The operator's token is hunter2. */
export async function nodeRun(script: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [`scripts/${script}.ts`, ...args], {
    env: environmentWith({ OPERATOR_TOKEN: "hunter2" }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { status: child.exitCode, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() };
}
