import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { PACKAGE } from "./packed-client.ts";

/**
 * Makes a project as an integrator has it: copies of folders of `examples/`, which import the package of the kit from its
 * `node_modules`. Returns its path, and what removes it.
 */
export function integratorProject(...folders: string[]): { project: string; remove: () => void } {
  const project = mkdtempSync(join(tmpdir(), "integrator-"));
  for (const folder of folders) cpSync(folder, join(project, basename(folder)), { recursive: true });
  installPackage(project);
  for (const name of ["hono", "@hono", "jose"])
    symlinkSync(resolve("node_modules", name), join(project, "node_modules", name));
  return { project, remove: () => rmSync(project, { recursive: true, force: true }) };
}

/** Puts the package of the kit into the `node_modules` of a folder. */
export function installPackage(project: string): void {
  const installed = join(project, "node_modules", "user-group-service");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", PACKAGE, "--strip-components=1", "-C", installed]);
}
