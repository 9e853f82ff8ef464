import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONSUMERS } from "../../../tools/matrix/consumers.ts";
import { consumerOutcome, type TestRun } from "../../../tools/matrix/outcomes.ts";
import { lastRunsIn, TABLE, tableOf } from "../../../tools/matrix/table.ts";
import { outcomeOf } from "../../support/node/commands.ts";
import { runNode } from "../../support/node/service.ts";

const PAGE = readFileSync("docs/integrators/consumers.md", "utf8");
const LAST_RUNS = lastRunsIn(PAGE, CONSUMERS);

describe("the outcome of a consumer", () => {
  const consumer = { tests: { file: "test/a.test.ts", named: /^nginx >/ } };
  const run = (state: string, name = "nginx > lets nobody through", file = "test/a.test.ts"): TestRun => ({
    file,
    name,
    state,
  });

  it.for([
    ["worked", "if all of its tests passed", [run("passed"), run("failed", "caddy > lets nobody through")]],
    ["worked", "if tests of another file failed", [run("passed"), run("failed", "nginx > x", "test/b.test.ts")]],
    ["failed", "if one of its tests failed", [run("passed"), run("failed")]],
    [
      "failed",
      "if one failed although another says that it is missing",
      [run("skipped", "nginx > a, skipped: b"), run("failed")],
    ],
    ["failed", "if no test has its name", [run("passed", "caddy > lets nobody through")]],
    ["failed", "if its tests did not run, as after an error in what they share", [run("passed"), run("skipped")]],
    [
      "skipped",
      "if a test says what is missing",
      [run("skipped", "nginx > a, skipped: nginx is missing"), run("skipped")],
    ],
  ] as const)("is %s %s", ([state, , runs]) => {
    expect(consumerOutcome(consumer, runs)).toMatchObject({ state });
  });

  it("names what is missing, and what failed", () => {
    expect(consumerOutcome(consumer, [run("skipped", "nginx > a, skipped: nginx is missing")]).detail).toBe(
      "nginx is missing",
    );
    expect(consumerOutcome(consumer, [run("failed")]).detail).toBe("nginx > lets nobody through");
  });
});

describe("consumers.md", () => {
  it("has the table of the list and of its last runs", () => {
    expect(TABLE.exec(PAGE)?.[0]).toBe(tableOf(CONSUMERS, LAST_RUNS));
  });

  it("names every file of its recipes", () => {
    expect(readdirSync("examples/consumers").filter((file) => !PAGE.includes(`examples/consumers/${file}`))).toEqual(
      [],
    );
  });

  it("calls no consumer connected that has never run", () => {
    const never = CONSUMERS.filter(({ name, verdict, tests }) => (verdict === "works" || tests) && !LAST_RUNS[name]);
    expect(never.map(({ name }) => name)).toEqual([]);
    expect(CONSUMERS.filter(({ verdict, tests }) => verdict === "works" && !tests)).toEqual([]);
  });

  it("has one row for each name", () => {
    const names = CONSUMERS.map(({ name }) => name);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  });
});

describe("npm run matrix", () => {
  const matrix = (...args: string[]) => outcomeOf(runNode(".", ["tools/matrix.ts", ...args]));

  it("names the consumers that it knows if it does not know one", async () => {
    const { stderr } = await matrix("nginx", "gopher");
    expect(stderr).toMatch(/^No test runs gopher\.[\s\S]*\bHasura\b/);
  });

  it("connects a consumer, and counts", async () => {
    const { status, stdout } = await matrix("express-oauth2-jwt-bearer");
    expect(stdout).toMatch(/^express-oauth2-jwt-bearer +1[.\d]+ +worked\n\n1 worked, 0 failed, 0 skipped$/m);
    expect(status).toBe(0);
  });
});
