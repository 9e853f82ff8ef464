import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { REGISTRY_NAME } from "../../src/domain/placement.ts";

type Job<Value> = (storage: DurableObjectStorage) => Value | Promise<Value>;

/** Runs a job with what the directory of an environment has stored. */
export const inDirectory = <Value>(job: Job<Value>, name = "acme/Testing"): Promise<Value> =>
  runInDurableObject(env.GROUP_DIRECTORY.getByName(name), (_, { storage }) => job(storage));

/** Runs a job with what the registry has stored. */
export const inRegistry = <Value>(job: Job<Value>): Promise<Value> =>
  runInDurableObject(env.REGISTRY.getByName(REGISTRY_NAME), (_, { storage }) => job(storage));

/** Makes the directory's database report this size. */
export const setDatabaseSize = (bytes: number): Promise<void> =>
  inDirectory(({ sql }) => void Object.defineProperty(sql, "databaseSize", { value: bytes, configurable: true }));

/** Adds groups with the ids `group 1` and so on, in one statement: as many calls would take minutes. The fields are SQL. */
export const insertGroups = (count: number, { first = 1, mapping = "NULL", properties = "NULL" } = {}): Promise<void> =>
  inDirectory(({ sql }) => {
    sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO user_groups (provided_id, name, nonce, generation, revision, created_at, updated_at, mapping, properties)
        SELECT 'group ' || i, 'Group', randomblob(16), randomblob(16), 1, 1, 1, ${mapping}, ${properties} FROM n`,
      first + count - 1,
    );
  });
