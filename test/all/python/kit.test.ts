import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { outcomeOf } from "../../support/node/commands.ts";
import { skippedWithout, withKit } from "../../support/node/python.ts";
import { runIn } from "../../support/node/service.ts";

const skipped = skippedWithout("jwt");

it.skipIf(skipped)(`the kit of Python keeps its rules${skipped}`, async () => {
  const { status, stderr } = await outcomeOf(runIn(".", ["python3", "test/python/kit_test.py"], withKit()));
  expect(stderr).toMatch(/OK$/);
  expect(status).toBe(0);
});

const untyped = skippedWithout("mypy", "jwt");

it.skipIf(untyped)(`the kit of Python has strict types${untyped}`, async () => {
  const cache = mkdtempSync(join(tmpdir(), "mypy-"));
  onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
  const checked = runIn(".", ["python3", "-m", "mypy", "--strict", "--cache-dir", cache, "python/user_group_service"]);
  expect(await outcomeOf(checked)).toMatchObject({ status: 0, stderr: "" });
});
