import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { removeOldBundles } from "../../cli/src/serve/bundle.ts";
import { newFolder } from "../support/node/new-folder.ts";

it("keeps the built Worker of a service that runs, because it serves the pages from there", () => {
  const cache = newFolder();
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
