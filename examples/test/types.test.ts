import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, it } from "vitest";

it("all examples compile with the packages that they use", () => {
  const args = ["-p", "examples/tsconfig.all.json"];
  const { status, stdout } = spawnSync(resolve("node_modules/.bin/tsc"), args, { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});
