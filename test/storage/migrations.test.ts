import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { hasTables, migrate } from "../../src/storage/migrations.ts";
import { issueKey } from "../support/states.ts";

const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");

it("runs each migration once, however often a directory starts", async ({ expect }) => {
  await issueKey();
  const levels = () =>
    runInDurableObject(directory(), (_, { storage }) =>
      storage.sql.exec<{ level: number }>("SELECT level, ran_at FROM migrations ORDER BY level").toArray(),
    );
  const first = await levels();
  await evictDurableObject(directory());
  expect(await levels()).toEqual(first);
  await runInDurableObject(directory(), (_, { storage }) => migrate(storage));
  expect(await levels()).toEqual(first);
});

it("asking for the tables creates nothing", async ({ expect }) => {
  const tables = await runInDurableObject(directory(), (_, { storage }) => [
    hasTables(storage),
    storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
  ]);
  expect(tables).toEqual([false, []]);
});
