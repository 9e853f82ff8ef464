import { expect, it } from "vitest";

/** Types are not in the code that runs, so there this test stands in other lines. */
type Failure = {
  error: Error;
};

it("is shown where it has failed in its own file", () => {
  const failure: Failure = { error: new Error("here") };
  expect(failure.error.stack).toContain("source-maps.test.ts:9:");
});
