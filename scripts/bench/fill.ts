import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const GROUPS_PER_STEP = 20_000;

/**
 * Writes groups into the database of one Durable Object, while its workerd does not run: a million calls would take
 * ten minutes and more, and end with the same rows. The group of number n has the id `group-n`.
 */
export function fill(database: DatabaseSync, groups: number, onGroups: (count: number) => void): void {
  for (let from = 0; from < groups; from += GROUPS_PER_STEP) {
    const count = Math.min(GROUPS_PER_STEP, groups - from);
    database.exec(`
      WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${from + count - 1})
      INSERT INTO user_groups (provided_id, name, mapping, properties, nonce, indexed, grace_indexed, revision,
        created_at, updated_at)
      SELECT 'group-' || n, 'Group ' || n, '{"sales":"warehouse-7"}', '{"region":"eu","plans":["pro"]}', randomblob(16), 0, 0, 1,
        0, 0 FROM numbers`);
    onGroups(count);
  }
}

/** The databases that workerd keeps in a folder, one for each Durable Object. */
export function databasesIn(folder: string): DatabaseSync[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /[0-9a-f]{64}\.sqlite$/.test(file))
    .map((file) => new DatabaseSync(join(folder, file)));
}
