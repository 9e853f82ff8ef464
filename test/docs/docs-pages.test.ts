import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { afterAll, describe, expect, inject, it } from "vitest";
import { ugCommand } from "../../cli/src/grammar.ts";
import { EVENT_TYPES } from "../../src/records.ts";
import { runCommand } from "../support/node/commands.ts";
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

/**
 * Runs `ug` in this process: one for each would take three quarters of the time. `npm run test:all` pastes the pages of operators with
 * a process for each. The request has the number of arguments, the arguments and the variables; the answer is a script that prints and
 * exits as `ug` did.
 */
const resident = createServer(async (request, response) => {
  const [count = "", ...texts] = (await text(request)).split("\0");
  const [name = "", ...args] = texts.splice(0, Number(count));
  const variables = texts.filter((each) => each !== "").map((each) => each.split(/=(.*)/s));
  const { status, stdout, stderr } = await runCommand(name, args, {
    SERVICE_URL: undefined,
    ...Object.fromEntries(variables),
  });
  const printed = (output: string) => `printf %s '${output.replaceAll("'", String.raw`'\''`)}${output && "\n"}'`;
  response.end(`${printed(stderr)} >&2; ${printed(stdout)}; exit ${status}`);
}).listen(0, "127.0.0.1");
await once(resident, "listening");

/** A folder of a PATH, with `ug`. The service that it starts and what reads its input are processes of their own. */
const BIN = mkdtempSync(join(tmpdir(), "user-group-bin-"));
const UG = `#!/bin/bash
if [ "$1" = serve ]; then exec ${folder}/cli/ug.mjs "$@"; fi
if [ ! /dev/stdin -ef /dev/null ]; then exec '${process.execPath}' -- ${folder}/cli/src/main.ts "$@"; fi
eval "$({ printf '%s\\0' $# "$@"; env -0; } | curl -sS --data-binary @- 127.0.0.1:${(resident.address() as AddressInfo).port})"
exit 1
`;
writeFileSync(join(BIN, "ug"), UG, { mode: 0o755 });
afterAll(() => {
  resident.close();
  rmSync(BIN, { recursive: true });
});

describe.for(PASTED.filter((page) => examplesOf(page).length > 0))("%s", (page) => {
  it("has the output that its examples print when they are pasted", async () => {
    const path = `${BIN}:${dirname(process.execPath)}:${process.env.PATH}`;
    await expectPasted(expect, page, { url, folder, logFile, path, env: givenBy(page) });
  });
});

it("the pages contain the output of most examples", () => {
  const shown = PASTED.flatMap(examplesOf).filter((example) => example.shown !== "");
  expect(shown.length).toBeGreaterThanOrEqual(25);
});

it("README stays short", () => {
  const readme = read("README.md");
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(README_LINES_MAX);
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(README_BYTES_MAX);
});

it("no page tells an operator to run ug by npx, which outside of a clone finds a package of somebody else", () => {
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

it("ug has each subcommand and option that a page names outside of the examples that are pasted", async () => {
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

it("docs/integrators/events.md has every type of event", () => {
  const rows = [...read("docs/integrators/events.md").matchAll(/^\| `(\w+\.\w+)` /gm)].map(([, type]) => type);
  expect(rows.toSorted()).toEqual(EVENT_TYPES.toSorted());
});

it("docs/reference/errors.md has every error code with its status", () => {
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
