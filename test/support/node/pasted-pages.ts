/** Pastes the examples of the documents into a shell. */
import { readFileSync } from "node:fs";
import type { ExpectStatic } from "vitest";
import { outcomeOf } from "./commands.ts";
import { runIn } from "./service.ts";

/** Separates the outputs of two examples. */
const MARK = "----- the next example -----";

/** The service and the folder that the examples use: in place of the page's address and log, and the PATH that has `ug`. */
type Place = { url: string; folder: string; logFile: string; path: string; env: NodeJS.ProcessEnv };

/** The examples of a page in their order: what to paste, and what the page shows below it. */
export const examplesOf = (page: string) =>
  [...readFileSync(page, "utf8").matchAll(/```sh\n([\s\S]*?)```\n(?:\n```(?:json|text)\n([\s\S]*?)```)?/g)].map(
    ([, command = "", shown = ""]) => ({ command, shown }),
  );

/** The text with ids, credentials and times replaced, so that two runs are equal. */
const anonymous = (text: string) =>
  text
    .replaceAll(/ug([kt])_([a-z]+)_[\w-]{60,154}/g, "ug$1_$2_…")
    .replaceAll(/ugo_[\w-]{59,100}/g, "ugo_…")
    .replaceAll(/^\d+ +/gm, "N  ")
    .replaceAll(/^id +/gm, "id  ")
    .replaceAll(/ operator \d+\b/g, " operator N")
    .replaceAll(/\b([Gg]roup|ug groups \w+) \d+/g, "$1 N")
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "eyJ…")
    .replaceAll(/"(team_id|id)":\d+/g, '"$1":N')
    .replaceAll(/"next_cursor":"[\w-]+"/g, '"next_cursor":"…"')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .trim();

/** Pastes all examples of a page into a shell of its own. They must print what the page shows. */
export async function expectPasted(
  expect: ExpectStatic,
  page: string,
  { url, folder, logFile, path, env: given }: Place,
): Promise<void> {
  const examples = examplesOf(page);
  const script = examples
    .map(({ command }) => command.replaceAll("http://localhost:8787", url).replaceAll("service.log", logFile))
    .join(`\necho\necho "${MARK}"\n`);
  // npm would warn of a setting of its user that it does not know.
  const env = { npm_config_loglevel: "error", PATH: path, ...given };
  const shell = runIn(folder, ["bash", "-c", script], env, ["ignore", "pipe", "pipe"]);
  const { stdout, stderr, status } = await outcomeOf(shell);
  const printed = stdout.split(MARK).map((text) => text.replaceAll(url, "http://localhost:8787"));
  for (const [index, { command, shown }] of examples.entries())
    expect(anonymous(printed[index] ?? ""), command).toBe(anonymous(shown));
  expect(status, stderr).toBe(0);
  // Without a file of keys, commands would take other credentials.
  expect(stderr).not.toMatch(/No such file|command not found/);
}
