import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const GROUPS_PER_STEP = 20_000;

/** What to make of a directory: how many groups, and the JSON that each of them has. */
export type DirectoryPlan = { groups: number; json?: typeof SMALL };

const SMALL = { mapping: '{"sales":"warehouse-7"}', properties: '{"region":"eu","plans":["pro"]}' };

/**
 * Writes groups into the database of one Durable Object, while its workerd does not run: a million calls would take
 * ten minutes and more, and end with the same rows. The group of number n has the id `group-n`.
 */
export function fill(database: DatabaseSync, { groups, json = SMALL }: DirectoryPlan): void {
  for (let from = 0; from < groups; from += GROUPS_PER_STEP) {
    const count = Math.min(GROUPS_PER_STEP, groups - from);
    const insert = database.prepare(`
      WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${from + count - 1})
      INSERT INTO user_groups (provided_id, name, nonce, generation, revision, created_at, updated_at, mapping, properties)
      SELECT 'group-' || n, 'Group ' || n, randomblob(16), randomblob(16), 1, 0, 0, ?, ? FROM numbers`);
    insert.run(json.mapping, json.properties);
  }
}

/** The databases of directories that workerd keeps in a folder. That of the registry has no groups, and is left out. */
export function databasesIn(folder: string): DatabaseSync[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /[0-9a-f]{64}\.sqlite$/.test(file))
    .map((file) => new DatabaseSync(join(folder, file)))
    .filter((database) => {
      const hasGroups = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'user_groups'").get() !== undefined;
      if (!hasGroups) database.close();
      return hasGroups;
    });
}
