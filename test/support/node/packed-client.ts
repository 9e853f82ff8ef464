/** The package of the client, as a user installs it, and programs that import it by its name. */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { removeCopy } from "./service.ts";

const { url, key, operatorToken, folder: serviceFolder } = inject("service");

/** The file of the package, as the service of the tests has it at /kit/. */
export const [PACKAGE = ""] = globSync(join(serviceFolder, "public/kit/*.tgz"));

/** An empty project of a user, in which npm installs the package of the kit. */
export function packedClient(): { project: string; installed: string; remove: () => void } {
  const project = mkdtempSync(join(tmpdir(), "user-group-client-"));
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  // Offline: there is nothing to download.
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", PACKAGE], { cwd: project, stdio: "pipe" });
  const installed = join(project, "node_modules", "user-group-service");
  return { project, installed, remove: () => removeCopy(project) };
}

/** Makes a folder with the package and with these packages of others, each of which `from` has. */
export function folderWith(folder: string, installed: string, others: Record<string, string>): void {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  symlinkSync(installed, join(folder, "node_modules", "user-group-service"));
  for (const [name, from] of Object.entries(others))
    symlinkSync(resolve(from, name), join(folder, "node_modules", name));
}

/** The programs in TypeScript of a page. */
export const programsOf = (page: string): string[] =>
  [...readFileSync(page, "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = ""]) => text);

/** What the first program of typescript-client.md prints. */
export const SHOWN_BY_FIRST = {
  user_group_id: "typescript",
  user_group_name: "typescript",
  viewer_id: "jane",
  "user_group.region": "us",
};

/** Writes programs that call the service of the tests. Returns the names of their files. */
export const writePrograms = (folder: string, name: string, programs: readonly string[]): string[] =>
  programs.map((program, index) => {
    const file = `${name}-${index}.ts`;
    writeFileSync(join(folder, file), program.replaceAll("http://localhost:8787", url));
    return file;
  });

export const RESOLUTIONS = [
  ["bundlers", ["--module", "esnext", "--moduleResolution", "bundler"]],
  ["Node 16 and newer", ["--module", "node16"]],
  ["the present Node", ["--module", "nodenext"]],
] as const;

/** Compiles programs, and returns what the compiler says. */
export const compile = (folder: string, args: readonly string[], programs: readonly string[]): string =>
  spawnSync(
    resolve("node_modules/.bin/tsc"),
    [
      ...["--ignoreConfig", "--noEmit", "--strict", "--target", "es2022", "--skipLibCheck", "false"],
      ...["--typeRoots", resolve("node_modules/@types"), "--types", "node", ...args, ...programs],
    ],
    { cwd: folder, encoding: "utf8" },
  ).stdout;

/** Imports the programs of its arguments one after another, and prints the lines of each as JSON. */
const RUNNER = `
import { format, inspect } from "node:util";
let printed;
console.info = (...values) => void printed.push(...format(...values).split("\\n"));
const all = [];
for (const file of process.argv.slice(1)) {
  all.push((printed = []));
  await import(file).catch((error) => console.info(inspect(error)));
}
process.stdout.write(JSON.stringify(all));
`;

/** Runs programs in one process, which must end by itself and must not write to standard error. Returns the lines that each has printed. */
export async function linesOfEach(folder: string, files: readonly string[]): Promise<string[][]> {
  const env = { ...process.env, API_KEY: key, OPERATOR_KEY: operatorToken, NODE_OPTIONS: "" };
  const args = ["--input-type=module", "--eval", RUNNER, ...files.map((file) => join(folder, file))];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout);
}
