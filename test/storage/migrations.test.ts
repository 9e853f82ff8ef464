import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { REGISTRY_NAME } from "../../src/domain/placement.ts";
import { Schema, UNKNOWN_SCHEMA } from "../../src/storage/migrations.ts";
import { DIRECTORY_MIGRATIONS, REGISTRY_MIGRATIONS } from "../../src/storage/schema.ts";
import { issueKey } from "../support/states.ts";

describe.for([
  ["a directory", () => env.GROUP_DIRECTORY.getByName("acme/Testing"), DIRECTORY_MIGRATIONS],
  ["the registry", () => env.REGISTRY.getByName(REGISTRY_NAME), REGISTRY_MIGRATIONS],
] as const)("the schema of %s", ([, stub, migrations]) => {
  const inObject = <Value>(job: (storage: DurableObjectStorage) => Value): Promise<Value> =>
    runInDurableObject(stub(), (_, { storage }) => job(storage));
  const levels = () =>
    inObject(({ sql }) => sql.exec<{ level: number }>("SELECT level, ran_at FROM migrations ORDER BY level").toArray());

  it("runs each migration once, however often its object starts", async () => {
    await issueKey();
    const first = await levels();
    await evictDurableObject(stub());
    expect(await levels()).toEqual(first);
    await inObject((storage) => new Schema(storage, migrations).create());
    expect(await levels()).toEqual(first);
    expect(first.map(({ level }) => level)).toEqual(migrations.map(({ number }) => number));
  });

  it("has migrations whose numbers rise", () => {
    const numbers = migrations.map(({ number }) => number);
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
  });

  it("is created by its first change, and not by a question for it", async () => {
    const tables = ({ sql }: DurableObjectStorage) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray().length;
    const seen = await inObject((storage) => {
      const schema = new Schema(storage, migrations);
      const before = [schema.exists, tables(storage)];
      schema.create();
      return { before, after: [schema.exists, tables(storage) > 0] };
    });
    expect(seen).toEqual({ before: [false, 0], after: [true, true] });
  });

  it("lets each release that made one of its migrations open the database again", async () => {
    await issueKey();
    for (const index of migrations.keys())
      expect(await inObject((storage) => new Schema(storage, migrations.slice(0, index + 1)).exists)).toBe(true);
  });

  it("runs on a database of the next release that says it may, and refuses one that may not", async () => {
    await issueKey();
    const newest = migrations.at(-1)?.number ?? 0;
    const openAfter = (readableBy: number) =>
      inObject((storage) => {
        storage.sql.exec("DELETE FROM migrations WHERE level > ?", newest);
        storage.sql.exec("INSERT INTO migrations VALUES (?, ?, 0)", newest + 1, readableBy);
        try {
          return new Schema(storage, migrations).exists;
        } catch (error) {
          return String(error);
        }
      });
    expect(await openAfter(newest)).toBe(true);
    expect(await openAfter(newest + 1)).toContain(UNKNOWN_SCHEMA);
  });

  it.for([0, 5, 99])("refuses a database of number %i, and leaves it as it is", async (number) => {
    await issueKey();
    const refused = await inObject((storage) => {
      const tables = () => storage.sql.exec("SELECT name, sql FROM sqlite_master").toArray();
      storage.sql.exec("DELETE FROM migrations");
      storage.sql.exec("INSERT INTO migrations (level, readable_by, ran_at) VALUES (?, ?, 0)", number, number);
      const before = tables();
      let message = "";
      try {
        new Schema(storage, migrations);
      } catch (error) {
        message = String(error);
      }
      return { message, before, after: tables(), levels: storage.sql.exec("SELECT level FROM migrations").toArray() };
    });
    expect(refused.message).toContain(`${UNKNOWN_SCHEMA} the database has number ${number}`);
    expect(refused.after).toEqual(refused.before);
    expect(refused.levels).toEqual([{ level: number }]);
  });
});
