import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const INSTALL_MS_MAX = 120_000;

/** A program of another version of Node, from the package that npm's package `node` installs. `undefined` where npm does not find it. */
export function nodeOf(version: string): string | undefined {
  const name = `node-${process.platform}-${process.arch}`;
  return programOf({ name, version, file: "bin/node", options: ["--ignore-scripts"] });
}

/** A file of a package that npm installs once, into a cache. `undefined` where npm does not find it. */
export function programOf(program: {
  name: string;
  version: string;
  file: string;
  options?: string[];
}): string | undefined {
  const { name, version, file, options = [] } = program;
  const folder = resolve("node_modules/.cache/programs", `${name.replace("/", "-")}-${version}`);
  const path = join(folder, "node_modules", name, file);
  const install = ["install", "--prefix", folder, "--no-audit", "--no-fund", ...options, `${name}@${version}`];
  try {
    if (!existsSync(path)) execFileSync("npm", install, { stdio: "ignore", timeout: INSTALL_MS_MAX });
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
