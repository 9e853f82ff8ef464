import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

/** Programs of Python with the kit of `python/`. */

/** What is missing for tests that import these modules, for their names; an empty text if nothing is. */
export function skippedWithout(...modules: string[]): string {
  const missing = modules.filter((module) => spawnSync("python3", ["-c", `import ${module}`]).status !== 0);
  return missing.length === 0 ? "" : `, skipped: python3 with ${missing.join(", ")} is missing`;
}

/** What the kit itself imports. */
export const KIT_MODULES = ["jwt", "cryptography"];

/** The environment of a program that imports the kit from its sources. */
export const withKit = (env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: resolve("python"),
  PYTHONDONTWRITEBYTECODE: "1",
  ...env,
});

/** Starts a program that serves and prints its port. `logged` has the lines of its standard error. */
export async function startPython(args: readonly string[], env: NodeJS.ProcessEnv, input = "") {
  const server = spawn("python3", args, { env: withKit(env) });
  server.stdin.end(input);
  const logged: string[] = [];
  createInterface({ input: server.stderr }).on("line", (line) => logged.push(line));
  const port = await Promise.race([
    once(createInterface({ input: server.stdout }), "line"),
    once(server, "exit").then(() => {
      throw new Error(`The program has ended: ${logged.join("\n")}`);
    }),
  ]);
  return { url: `http://127.0.0.1:${port}`, logged, stop: () => server.kill() };
}
