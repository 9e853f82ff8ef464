import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { describe, inject, it } from "vitest";
import { EVENT_TYPES } from "../../src/records.ts";

const { url, folder, logFile } = inject("service");

const README_LINES_MAX = 150;
const README_BYTES_MAX = 8 * 1024;
/** Separates the outputs of two examples. */
const MARK = "----- the next example -----";

const PASTED = globSync(["README.md", "docs/{integrators,operators,reference}/*.md"]).toSorted();

const read = (file: string) => readFileSync(file, "utf8");

/** The examples of a page in their order: what to paste, and what the page shows below it. */
const examplesOf = (page: string) =>
  [...read(page).matchAll(/```sh\n([\s\S]*?)```\n(?:\n```(?:json|text)\n([\s\S]*?)```)?/g)].map(
    ([, command = "", shown = ""]) => ({ command, shown }),
  );

/** The text with ids, credentials and times replaced, so that two runs are equal. */
const anonymous = (text: string) =>
  text
    .replaceAll(/ug([kt])_([a-z]+)_[\w-]{60,154}/g, "ug$1_$2_…")
    .replaceAll(/ugo_[\w-]{59,100}/g, "ugo_…")
    .replaceAll(/^\d+ +/gm, "N  ")
    .replaceAll(/^id +/gm, "id  ")
    .replaceAll(/ operator \d+ /g, " operator N ")
    .replaceAll(/\b([Gg]roup|ug groups \w+) \d+/g, "$1 N")
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "eyJ…")
    .replaceAll(/"(team_id|id)":\d+/g, '"$1":N')
    .replaceAll(/"next_cursor":"[\w-]+"/g, '"next_cursor":"…"')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .trim();

/** In place of a PATH with `ug`. All but `ug serve` run without `ug.mjs`, which other tests start: it would take a quarter of the time. */
const UG = `ug() { if [ "$1" = serve ]; then cli/ug.mjs "$@"; else '${process.execPath}' -- cli/src/main.ts "$@"; fi; }\n`;

/** Pastes all examples of a page into a shell of its own, in the folder of the service. */
function paste(page: string): { outputs: string[]; status: number | null; stderr: string } {
  const script = examplesOf(page)
    .map(({ command }) => command.replaceAll("http://localhost:8787", url).replaceAll("service.log", logFile))
    .join(`\necho\necho "${MARK}"\n`);
  // npm would warn of a setting of its user that it does not know.
  const env = { ...process.env, npm_config_loglevel: "error" };
  const { stdout, ...ended } = spawnSync("bash", ["-c", UG + script], { cwd: folder, encoding: "utf8", env });
  return { ...ended, outputs: stdout.split(MARK) };
}

describe.for(PASTED.filter((page) => examplesOf(page).length > 0))("%s", (page) => {
  it("has the output that its examples print when they are pasted", ({ expect }) => {
    const { outputs, status, stderr } = paste(page);
    const printed = outputs.map((text) => text.replaceAll(url, "http://localhost:8787"));
    for (const [index, { command, shown }] of examplesOf(page).entries())
      expect(anonymous(printed[index] ?? ""), command).toBe(anonymous(shown));
    expect(status, stderr).toBe(0);
    // Without a file of keys, commands would take other credentials.
    expect(stderr).not.toMatch(/No such file|command not found/);
  });
});

it("the pages contain the output of most examples", ({ expect }) => {
  const shown = PASTED.flatMap(examplesOf).filter((example) => example.shown !== "");
  expect(shown.length).toBeGreaterThanOrEqual(25);
});

it("README stays short", ({ expect }) => {
  const readme = read("README.md");
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(README_LINES_MAX);
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(README_BYTES_MAX);
});

it("no page tells an operator to run ug by npx, which outside of a clone finds a package of somebody else", ({
  expect,
}) => {
  for (const page of PASTED)
    for (const [line] of read(page).matchAll(/^.*npx ug\b.*$/gm)) expect(`${page}: ${line}`).toContain("Never type");
});

it.for([
  ["clients.md", ["examples/urllib_request.py"]],
  ["events.md", ["examples/mirror.ts"]],
  ["gateways.md", ["examples/gateways/nginx.conf", "examples/gateways/Caddyfile"]],
  [
    "consumers.md",
    ["hasura.json", "hasura-mint.json", "supabase.sql", "postgrest.conf", "postgrest.sql", "apache.conf"].map(
      (file) => `examples/consumers/${file}`,
    ),
  ],
] as const)("docs/%s contains files of examples/ unchanged", ([page, files], { expect }) => {
  const shown = [...read(`docs/integrators/${page}`).matchAll(/`(examples\/[\w./-]+)`:\n\n```\w+\n([\s\S]*?)```\n/g)];
  expect(shown.map(([, file]) => file)).toEqual(files);
  for (const [, file = "", text] of shown) expect(text, file).toBe(read(file));
});

it("docs/integrators/events.md has every type of event", ({ expect }) => {
  const rows = [...read("docs/integrators/events.md").matchAll(/^\| `(\w+\.\w+)` /gm)].map(([, type]) => type);
  expect(rows.toSorted()).toEqual(EVENT_TYPES.toSorted());
});

it("docs/reference/errors.md has every error code with its status", ({ expect }) => {
  const groups = read("src/http/response/failures.ts").matchAll(
    /^ {2}\.\.\.withStatus\((\d+), \{([\s\S]*?)^ {2}\}\)/gm,
  );
  const statuses = [...groups].flatMap(([, status, messages = ""]) =>
    [...messages.matchAll(/^ {4}(\w+):/gm)].map(([, code]) => `${status} ${code}`),
  );
  const rows = [...read("docs/reference/errors.md").matchAll(/^\| (\d+) +\| `(\w+)`/gm)].map(
    ([, status, code]) => `${status} ${code}`,
  );
  expect(statuses.length).toBeGreaterThan(15);
  expect(rows.toSorted()).toEqual(statuses.toSorted());
});
