import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { hasTables, migrate, UNKNOWN_SCHEMA } from "../../src/storage/migrations.ts";
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

  const numbers = first.map(({ level }) => level);
  expect(numbers.length).toBeGreaterThan(0);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
});

it("asking for the tables creates nothing", async ({ expect }) => {
  const tables = await runInDurableObject(directory(), (_, { storage }) => [
    hasTables(storage),
    storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
  ]);
  expect(tables).toEqual([false, []]);
});

it.for([1, 7, 99])("refuses a database of number %i, and does not change it", async (number, { expect }) => {
  await issueKey();
  const refused = await runInDurableObject(directory(), (_, { storage }) => {
    const schema = () => storage.sql.exec("SELECT name, sql FROM sqlite_master").toArray();
    storage.sql.exec("UPDATE migrations SET level = ?", number);
    const before = schema();
    let message = "";
    try {
      migrate(storage);
    } catch (error) {
      message = String(error);
    }
    return { message, before, after: schema(), levels: storage.sql.exec("SELECT level FROM migrations").toArray() };
  });
  expect(refused.message).toContain(`${UNKNOWN_SCHEMA} the database has number ${number}`);
  expect(refused.after).toEqual(refused.before);
  expect(refused.levels).toEqual([{ level: number }]);
});
