import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Makes the folder of a release from the sources in `project`, as its file has it. */
export function stageRelease(project: string, release: string): void {
  const stage = pathToFileURL(join(project, "tools/package/stage.ts")).href;
  const script = `const { stage } = await import(${JSON.stringify(stage)}); stage(${JSON.stringify(release)});`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: project });
}

/** Makes a release the current one, as an operator does. Returns what the command has printed. */
export const switchTo = (release: string): string =>
  execFileSync(join(release, "deploy/switch"), { encoding: "utf8", stdio: "pipe" });
