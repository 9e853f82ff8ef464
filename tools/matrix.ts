/** `npm run matrix -- [--record] [CONSUMER ...]`: connects the consumers, by their tests. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { lineOf, widthsOf } from "../cli/src/support/table.ts";
import { CommandError } from "../common/command-error.ts";
import { runTool } from "./command.ts";
import { CONSUMERS, type Consumer } from "./matrix/consumers.ts";
import { consumerOutcome, type Outcome, type TestRun, testsOf } from "./matrix/outcomes.ts";
import { lastRunsIn, TABLE, tableOf } from "./matrix/table.ts";

const RUN_BY_TESTS = CONSUMERS.filter((consumer): consumer is Tested => consumer.tests !== undefined);
type Tested = Consumer & Required<Pick<Consumer, "tests">>;
const NAMES = RUN_BY_TESTS.map(({ name }) => name).join(", ");

const PAGE = "docs/integrators/consumers.md";

/** Runs these files of tests, and prints what vitest does. */
function runTests(files: readonly string[]): TestRun[] {
  const folder = mkdtempSync(join(tmpdir(), "matrix-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const args = ["node_modules/vitest/vitest.mjs", "run", "--project=node", "--project=all", ...reporters, ...files];
    spawnSync(process.execPath, args, { stdio: "inherit" });
    if (!existsSync(report)) throw new CommandError("The tests did not run to their end.");
    return testsOf(JSON.parse(readFileSync(report, "utf8")), process.cwd());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the table again, by which these consumers work today. */
function record(consumers: readonly Consumer[]): void {
  const page = readFileSync(PAGE, "utf8");
  const lastRuns = lastRunsIn(page, CONSUMERS);
  const on = new Date().toISOString().slice(0, 10);
  for (const { name, version } of consumers) lastRuns[name] = { on, version: version?.() };
  writeFileSync(
    PAGE,
    page.replace(TABLE, () => tableOf(CONSUMERS, lastRuns)),
  );
}

function named(names: readonly string[]): Tested[] {
  const unknown = names.filter((name) => !RUN_BY_TESTS.some((consumer) => consumer.name === name));
  if (unknown.length > 0) throw new CommandError(`No test runs ${unknown.join(", ")}. Tests run ${NAMES}.`);
  return RUN_BY_TESTS.filter(({ name }) => names.length === 0 || names.includes(name));
}

function run(names: string[], values: { record?: true }): void {
  const consumers = named(names);
  const runs = runTests([...new Set(consumers.map(({ tests }) => tests.file))]);
  const outcomes = consumers.map((consumer) => ({ consumer, ...consumerOutcome(consumer, runs) }));
  const rows = outcomes.map(({ consumer: { name, version }, state, detail }) => [
    name,
    version?.() ?? "-",
    state,
    detail,
  ]);
  const widths = widthsOf(rows.map((row) => row.slice(0, 3)));
  console.info(`\n${rows.map((row) => lineOf(row, widths)).join("\n")}`);
  const count = (state: Outcome["state"]) => outcomes.filter((outcome) => outcome.state === state).length;
  console.info(`\n${count("worked")} worked, ${count("failed")} failed, ${count("skipped")} skipped`);
  if (values.record) record(outcomes.filter(({ state }) => state === "worked").map(({ consumer }) => consumer));
  process.exitCode = count("failed") > 0 ? 1 : 0;
}

await runTool(
  new Command("npm run --silent matrix --")
    .description(
      "Connects all consumers, or those named, and ends with the status 1 if one of them fails. A consumer that is not installed is " +
        "skipped.",
    )
    .argument("[consumer...]", NAMES)
    .option("--record", `write the day and the versions of those that worked into the table of ${PAGE}`)
    .action(run),
);
