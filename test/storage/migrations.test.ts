import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { hasTables, migrate, UNKNOWN_SCHEMA } from "../../src/storage/migrations.ts";
import { newIntegrator } from "../support/states.ts";

const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");
const inDirectory = <Value>(job: (storage: DurableObjectStorage) => Value): Promise<Value> =>
  runInDurableObject(directory(), (_, { storage }) => job(storage));

const migrations = () =>
  inDirectory(({ sql }) => sql.exec<{ level: number; ran_at: number }>("SELECT * FROM migrations").toArray());
const schema = () =>
  inDirectory(({ sql }) => sql.exec("SELECT name, sql FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray());

it("runs each migration once, in rising order, however often a directory starts", async ({ expect }) => {
  await newIntegrator();
  const first = await migrations();
  await evictDurableObject(directory());
  expect(await migrations()).toEqual(first);
  await inDirectory(migrate);
  expect(await migrations()).toEqual(first);

  const numbers = first.map(({ level }) => level);
  expect(numbers.length).toBeGreaterThan(0);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
});

it("creates nothing when it is asked whether there are tables", async ({ expect }) => {
  expect(await inDirectory(hasTables)).toBe(false);
  expect(await schema()).toEqual([]);
  await inDirectory(migrate);
  expect(await inDirectory(hasTables)).toBe(true);
});

it("refuses a database of a number that it does not know, and leaves it as it is", async ({ expect }) => {
  await newIntegrator();
  const before = await schema();
  for (const number of [1, 6, 8]) {
    const message = await inDirectory((storage) => {
      storage.sql.exec("UPDATE migrations SET level = ?", number);
      try {
        migrate(storage);
      } catch (error) {
        return String(error);
      }
      return "no error";
    });
    expect(message).toContain(`${UNKNOWN_SCHEMA} the database has number ${number}`);
    expect(await schema()).toEqual(before);
    expect(await migrations()).toMatchObject([{ level: number }]);
  }
});
