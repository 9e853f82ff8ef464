import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const INSTALL_MS_MAX = 120_000;

/**
 * A program of another version of Node, which npm installs once, from the package that its package `node` installs. `undefined`
 * where npm does not find it.
 */
export function nodeOf(version: string): string | undefined {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = resolve("node_modules/.cache/node-versions", version);
  const program = join(folder, "node_modules", name, "bin", "node");
  const install = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${version}`];
  try {
    if (!existsSync(program)) execFileSync("npm", install, { stdio: "ignore", timeout: INSTALL_MS_MAX });
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}
