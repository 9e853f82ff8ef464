/** `npm run check`: every static check of the project. All of them run, and the output of each that fails is printed. */
import { exec } from "node:child_process";
import { availableParallelism } from "node:os";

const ENV_TYPES =
  "wrangler types src/env.d.ts --include-runtime=false --env-file .dev.vars.example --strict-vars=false --check";
const TYPESCRIPT_PROJECTS = [
  "src",
  "client",
  "cli",
  "prove",
  "tools",
  "tools/bench/workers",
  "test",
  "test/http",
  "examples",
];

const COMMANDS = [
  // `biome ci` colours a pipe too.
  `biome ci --error-on-warnings ${process.stdout.isTTY ? "" : "--colors=off"} .`,
  "knip",
  ENV_TYPES,
  ...TYPESCRIPT_PROJECTS.map((project) => `tsc -p ${project}`),
];

/** Runs a command to its end. Resolves to its output if it fails, and to `undefined` if it succeeds. */
const failureOf = (command: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const options = { maxBuffer: Number.POSITIVE_INFINITY };
    exec(command, options, (error, stdout, stderr) => resolve(error ? stdout + stderr : undefined));
  });

/** Runs commands from the list until it is empty. */
async function runAll(commands: string[], failed: string[]): Promise<void> {
  for (let command = commands.shift(); command !== undefined; command = commands.shift()) {
    const output = await failureOf(command);
    console.info(`${output === undefined ? "ok    " : "FAILED"} ${command}`);
    if (output === undefined) continue;
    failed.push(command);
    console.error(output.trimEnd());
  }
}

const failed: string[] = [];
const queue = [...COMMANDS];
await Promise.all(Array.from({ length: availableParallelism() }, () => runAll(queue, failed)));
if (failed.length > 0) {
  console.error(
    `\n${failed.length} of ${COMMANDS.length} checks failed. npm run fix repairs format and simple lint errors.`,
  );
  process.exitCode = 1;
}
