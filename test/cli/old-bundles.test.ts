import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, onTestFinished } from "vitest";
import { removeOldBundles } from "../../cli/src/serve/bundle.ts";

it("keeps the built Worker of a service that runs, because it serves the pages from there", ({ expect }) => {
  const cache = mkdtempSync(join(tmpdir(), "bundles-"));
  onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  for (const [hour, name] of names.entries()) {
    mkdirSync(join(cache, name));
    utimesSync(join(cache, name), hour * 3600, hour * 3600);
  }
  mkdirSync(join(cache, "users"));
  const ended = spawnSync(process.execPath, ["--version"]).pid;
  for (const mark of [`a-${process.pid}`, `b-${ended}`]) writeFileSync(join(cache, "users", mark), "");

  removeOldBundles(cache);

  expect(readdirSync(cache).toSorted()).toEqual(["a", "d", "e", "f", "g", "h", "users"]);
  expect(readdirSync(join(cache, "users"))).toEqual([`a-${process.pid}`]);
});
