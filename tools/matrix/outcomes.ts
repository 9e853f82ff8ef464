/** What the tests say of each consumer. */
import type { Consumer } from "./consumers.ts";

/** A test that vitest has reported: its file, and its titles joined by ` > `. */
export type TestRun = { file: string; name: string; state: string };

/** `detail` names what is missing, or which tests failed. */
export type Outcome = { state: "worked" | "failed" | "skipped"; detail: string };

/** The part that is read of vitest's report as JSON. */
type Report = {
  testResults: { name: string; assertionResults: { ancestorTitles: string[]; title: string; status: string }[] }[];
};

/** The tests of a report, with files relative to `root`. */
export const testsOf = ({ testResults }: Report, root: string): TestRun[] =>
  testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status }) => ({
      file: name.replace(`${root}/`, ""),
      name: [...ancestorTitles, title].join(" > "),
      state: status,
    })),
  );

const skippedFor = ({ name }: TestRun): string | undefined => / skipped: (.+)$/.exec(name)?.[1];

/** A consumer works if all of its tests passed. One without a test that ran has failed, unless a test says what is missing. */
export function consumerOutcome(consumer: Required<Pick<Consumer, "tests">>, runs: readonly TestRun[]): Outcome {
  const { file, named } = consumer.tests;
  const own = runs.filter((run) => run.file === file && named.test(run.name));
  const failed = own.filter(({ state }) => state === "failed");
  if (failed.length > 0) return { state: "failed", detail: failed.map(({ name }) => name).join("; ") };
  const missing = own.map(skippedFor).find((reason) => reason !== undefined);
  if (missing !== undefined) return { state: "skipped", detail: missing };
  if (own.length === 0) return { state: "failed", detail: `No test of ${file} has a name like ${named}.` };
  const notRun = own.find(({ state }) => state !== "passed");
  return notRun ? { state: "failed", detail: `It did not run: ${notRun.name}` } : { state: "worked", detail: "" };
}
