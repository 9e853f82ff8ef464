import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { sha256Of } from "../../../tools/package/stage.ts";

/** Makes the folder of a release from the sources in `project`, as its file has it. */
export function stageRelease(project: string, release: string): void {
  const stage = pathToFileURL(join(project, "tools/package/stage.ts")).href;
  const script = `const { stage } = await import(${JSON.stringify(stage)}); stage(${JSON.stringify(release)});`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: project });
}

/** Makes a release the current one, as an operator does. Returns what the command has printed. */
export const switchTo = (release: string): string =>
  execFileSync(join(release, "deploy/switch"), { encoding: "utf8", stdio: "pipe" });

/**
 * Makes `copy` from the folder of a release. In place of its large programs it has small ones, which run those of the release, so that
 * its files are copied and examined in little time.
 */
export function smallCopy(release: string, copy: string): void {
  execFileSync("cp", ["-al", release, copy]);
  let sums = readFileSync(join(release, "sha256sums"), "utf8");
  for (const program of ["bin/node", "bin/workerd"]) {
    const file = join(copy, program);
    rmSync(file);
    writeFileSync(file, `#!/bin/sh\nexec ${join(release, program)} "$@"\n`, { mode: 0o755 });
    sums = sums.replace(new RegExp(`^\\w+(?= {2}${program}$)`, "m"), sha256Of(file));
  }
  rmSync(join(copy, "sha256sums"));
  writeFileSync(join(copy, "sha256sums"), sums);
}
