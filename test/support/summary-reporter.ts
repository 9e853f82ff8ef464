import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

/** Prints `N passed, N failed` as the last line. A file that does not load, and an error outside of all tests, count as failed. */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length + errors.length;
    const skipped = count("skipped");
    // After the default reporter's own summary, which is printed in this same tick.
    setImmediate(() => {
      if (skipped > 0) console.info(`${skipped} skipped, for want of a program on this machine`);
      console.info(`${count("passed")} passed, ${count("failed") + broken} failed`);
    });
  }
}
