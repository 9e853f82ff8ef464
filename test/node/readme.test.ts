import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { inject, it } from "vitest";

const { url, folder } = inject("service");
const README = readFileSync("README.md", "utf8");

/** The examples in their order: what to paste, and what the page shows below it. */
const examples = [...README.matchAll(/```sh\n([\s\S]*?)```\n(?:\n```(?:json|text)\n([\s\S]*?)```)?/g)].map(
  ([, command = "", shown = ""]) => ({ command, shown }),
);

/** The same text for any ids, credentials and times. */
const anonymous = (text: string) =>
  text
    .replaceAll(/ug([kt])_([a-z]+)_[\w-]{60,154}/g, "ug$1_$2_…")
    .replaceAll(/"(team_id|id)":\d+/g, '"$1":N')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .trim();

it("prints what the README shows, when all of its examples are pasted in order", ({ expect }) => {
  const MARK = "----- the next example -----";
  const here = (command: string) =>
    command
      .replaceAll("http://localhost:8787", url)
      .replaceAll(/^npm run --silent (keys|groups) .*$/gm, `$& --url ${url}`);
  const script = examples.map(({ command }) => here(command)).join(`\necho\necho "${MARK}"\n`);
  const printed = execFileSync("bash", ["-c", script], { cwd: folder, encoding: "utf8", stdio: "pipe" }).split(MARK);

  expect(examples.filter(({ shown }) => shown !== "").length).toBeGreaterThanOrEqual(8);
  for (const [index, { command, shown }] of examples.entries())
    expect(anonymous(printed[index] ?? ""), command).toBe(anonymous(shown));
});

it("shows files of examples/ as they are", ({ expect }) => {
  const shown = [...README.matchAll(/`(examples\/[\w.-]+)`:\n\n```\w+\n([\s\S]*?)```\n/g)];
  expect(shown.map(([, file]) => file)).toEqual(["examples/urllib_request.py", "examples/fetch.ts"]);
  for (const [, file = "", text] of shown) expect(text, file).toBe(readFileSync(file, "utf8"));
});

it("explains every refusal", ({ expect }) => {
  const codes = [...readFileSync("src/domain/failure.ts", "utf8").matchAll(/code: "(\w+)"/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(15);
  expect(codes.filter((code) => !README.includes(`\`${code}\``))).toEqual([]);
});
