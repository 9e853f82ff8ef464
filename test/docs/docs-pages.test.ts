import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { afterAll, describe, inject, it } from "vitest";
import { ugCommand } from "../../cli/src/grammar.ts";
import { EVENT_TYPES } from "../../src/records.ts";
import { examplesOf, expectPasted } from "../support/node/pasted-pages.ts";

const { url, folder, logFile, key } = inject("service");

const read = (file: string) => readFileSync(file, "utf8");

/** What a page lets its reader put into a variable. */
const GIVEN = { API_KEY: key, OPERATOR_KEY: read(join(folder, ".demo-keys/default.operator")).trim() };
const givenBy = (page: string) =>
  Object.fromEntries(Object.entries(GIVEN).filter(([name]) => read(page).includes(`into the variable \`${name}\``)));

const README_LINES_MAX = 150;
const README_BYTES_MAX = 8 * 1024;
const PASTED = globSync(["README.md", "docs/{integrators,operators,reference}/*.md"]).toSorted();

/** A folder of a PATH, with `ug`. All but `ug serve` run without `ug.mjs`, which other tests start: it would take a quarter of the time. */
const BIN = mkdtempSync(join(tmpdir(), "user-group-bin-"));
const UG = `#!/bin/sh
if [ "$1" = serve ]; then exec ${folder}/cli/ug.mjs "$@"; else exec '${process.execPath}' -- ${folder}/cli/src/main.ts "$@"; fi
`;
writeFileSync(join(BIN, "ug"), UG, { mode: 0o755 });
afterAll(() => rmSync(BIN, { recursive: true }));

describe.for(PASTED.filter((page) => examplesOf(page).length > 0))("%s", (page) => {
  it("has the output that its examples print when they are pasted", ({ expect }) => {
    const path = `${BIN}:${dirname(process.execPath)}:${process.env.PATH}`;
    expectPasted(expect, page, { url, folder, logFile, path, env: givenBy(page) });
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

/** The words of a command of `ug` that it does not know: a subcommand, or options. */
function unknownIn(words: readonly string[], program: Command): string[] {
  let command = program;
  return words.filter((word) => {
    const next = command.commands.find((each) => each.name() === word);
    command = next ?? command;
    const name = /^--[a-z][a-z-]*/.exec(word)?.[0];
    if (name) return !command.options.some(({ long }) => long === name);
    return !next && command.commands.length > 0 && command.registeredArguments.length === 0;
  });
}

it("ug has each subcommand and option that a page names outside of the examples that are pasted", async ({
  expect,
}) => {
  const program = await ugCommand();
  const named = PASTED.flatMap((page) =>
    [...read(page).matchAll(/(?<=^ {4}.*|`)\bug ([a-z][^`\n|;)]*)/gm)]
      // They stand for options of `ug`.
      .filter(([, typed = ""]) => !/^(?:help|version)\b/.test(typed))
      .map(([line, typed = ""]) => ({ page, line, unknown: unknownIn(typed.trim().split(/\s+/), program) })),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ unknown }) => unknown.length > 0)).toEqual([]);
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
