/** The result of a restore of a backup: the last line about each thing. It is in a database on disk, so that memory does not grow. */
import { DatabaseSync } from "node:sqlite";
import { parsed } from "./service-pages.ts";

/** The last line about a thing, such as a group or a key. `id` is unique in its kind. */
export type Thing = { kind: string; id: string; line: string };

/** What identifies a line of each kind. Headers, footers and the ends of pages are not among them. */
const IDS: Record<string, (line: Record<string, unknown>) => unknown> = {
  user_group: ({ team_id }) => team_id,
  api_key: ({ id }) => id,
  operator: ({ id }) => id,
  event: ({ id }) => id,
  ended_session: ({ name }) => name,
  environment: ({ workspace, environment }) => [workspace, environment],
  tombstone: ({ workspace, environment, team_id, created_at }) => [workspace, environment, team_id, created_at],
};

/** The things of a backup, without the purged groups. */
export class Contents implements Disposable {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    this.#database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
      CREATE TABLE things (kind TEXT NOT NULL, id TEXT NOT NULL, line TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID`);
  }

  /** Adds the lines of a page. */
  add(page: string): void {
    const put = this.#database.prepare("INSERT OR REPLACE INTO things VALUES (?, ?, ?)");
    const remove = this.#database.prepare("DELETE FROM things WHERE kind = 'user_group' AND id = ?");
    this.#database.exec("BEGIN");
    for (const line of page.split("\n")) {
      const fields = line === "" ? undefined : parsed(line);
      const kind = String(fields?.kind);
      const id = fields && IDS[kind]?.(fields);
      if (!fields || id === undefined) continue;
      put.run(kind, JSON.stringify(id), line);
      if (kind === "event" && fields.type === "user_group.purged") remove.run(JSON.stringify(fields.team_id));
    }
    this.#database.exec("COMMIT");
  }

  /** The line about a thing; `undefined` if the backup has no such thing. */
  find(kind: string, id: string): string | undefined {
    const row = this.#database.prepare("SELECT line FROM things WHERE kind = ? AND id = ?").get(kind, id);
    return row?.line as string | undefined;
  }

  /** All things of a kind, or of all kinds. */
  *all(kind?: string): Generator<Thing, void, undefined> {
    const where = kind === undefined ? "" : "WHERE kind = ?";
    const rows = this.#database.prepare(`SELECT kind, id, line FROM things ${where} ORDER BY kind, id`);
    for (const row of kind === undefined ? rows.iterate() : rows.iterate(kind)) yield row as Thing;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
