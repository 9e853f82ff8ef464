import type { ListedGroup, UserGroup } from "../records.ts";

/** The columns of a group, in the order of the table. */
const COLUMNS = {
  teamId: "team_id",
  providedId: "provided_id",
  name: "name",
  nonce: "nonce",
  graceNonce: "grace_nonce",
  graceEndsAt: "grace_ends_at",
  revision: "revision",
  mapping: "mapping",
  properties: "properties",
} as const satisfies Record<keyof UserGroup, string>;

type Field = keyof UserGroup;
type Row = [
  number,
  string,
  string,
  ArrayBuffer,
  ArrayBuffer | null,
  number | null,
  number,
  string | null,
  string | null,
];

const FIELDS = Object.keys(COLUMNS) as Field[];
/** The fields that a group can change: all but its number. */
const CHANGING = FIELDS.filter((field) => field !== "teamId");
const SAME_ID = CHANGING.filter((field) => field !== "providedId");

const named = (fields: Field[]) => fields.map((field) => COLUMNS[field]).join(", ");
const assigned = (fields: Field[]) => fields.map((field) => `${COLUMNS[field]} = ?`).join(", ");
const valuesOf = (group: Omit<UserGroup, "teamId">, fields: readonly Field[]) =>
  fields.map((field) => (group as UserGroup)[field]);

// Complete statements, because the runtime caches a prepared statement by its text.
const BY_PROVIDED_ID = `SELECT ${named(FIELDS)} FROM user_groups WHERE provided_id = ?`;
const BY_TEAM_ID = `SELECT ${named(FIELDS)} FROM user_groups WHERE team_id = ?`;
const INSERT = `INSERT INTO user_groups (team_id, created_at, updated_at, ${named(CHANGING)})
  VALUES (?, ?, ?, ${CHANGING.map(() => "?").join(", ")})`;
const REPLACE = `UPDATE user_groups SET ${assigned(SAME_ID)}, updated_at = ? WHERE team_id = ?`;
const RENAME = `UPDATE user_groups SET ${assigned(CHANGING)}, updated_at = ? WHERE team_id = ?`;

const LISTED_COLUMNS: Record<keyof ListedGroup, string> = {
  teamId: COLUMNS.teamId,
  providedId: COLUMNS.providedId,
  name: COLUMNS.name,
  mapping: COLUMNS.mapping,
  properties: COLUMNS.properties,
  createdAt: "created_at",
  updatedAt: "updated_at",
};
const LISTED = `SELECT ${Object.entries(LISTED_COLUMNS)
  .map(([field, column]) => `${column} AS ${field}`)
  .join(", ")} FROM user_groups`;
const ONE_LISTED = `${LISTED} WHERE team_id = ?`;
// octet_length reads the length from the row's header, and not the value from its overflow pages.
const SIZES = `SELECT team_id AS teamId, provided_id AS providedId, octet_length(provided_id) + octet_length(name)
  + coalesce(octet_length(mapping), 0) + coalesce(octet_length(properties), 0) AS bytes FROM user_groups`;
/** The two orders of a list: by number, or by id within a range. */
const RANGE = {
  numbers: "WHERE team_id >= ? ORDER BY team_id LIMIT ?",
  ids: "WHERE provided_id >= ? AND provided_id < ? ORDER BY provided_id LIMIT ?",
};
const PAGE = {
  numbers: { sizes: `${SIZES} ${RANGE.numbers}`, groups: `${LISTED} ${RANGE.numbers}` },
  ids: { sizes: `${SIZES} ${RANGE.ids}`, groups: `${LISTED} ${RANGE.ids}` },
};

/** Where a page begins, and in which order it goes on: by number, or by id up to and without `end`. */
export type ListRange = { order: "numbers"; start: number } | { order: "ids"; start: string; end: string };

/** A group's number and id, and the size of what a list shows of it, in UTF-8. */
export type GroupSize = Pick<UserGroup, "teamId" | "providedId"> & { bytes: number };

/** The SQL of user groups. It refuses nothing: a broken constraint is a bug of the caller and throws. */
export class GroupStore {
  readonly #sql: SqlStorage;
  #lastTeamId: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findByProvidedId(providedId: string): UserGroup | undefined {
    const [row] = this.#sql.exec(BY_PROVIDED_ID, providedId).raw<Row>();
    return row && toGroup(row);
  }

  findByTeamId(teamId: number): UserGroup | undefined {
    const [row] = this.#sql.exec(BY_TEAM_ID, teamId).raw<Row>();
    return row && toGroup(row);
  }

  has(providedId: string): boolean {
    return this.#sql.exec("SELECT 1 FROM user_groups WHERE provided_id = ?", providedId).toArray().length > 0;
  }

  /** The sizes of the first `count` groups of a range, without reading what is large in them. */
  sizes(range: ListRange, count: number): GroupSize[] {
    return this.#sql.exec<GroupSize>(PAGE[range.order].sizes, ...boundsOf(range), count).toArray();
  }

  /** The first `count` groups of a range. */
  page(range: ListRange, count: number): ListedGroup[] {
    return this.#sql.exec<ListedGroup>(PAGE[range.order].groups, ...boundsOf(range), count).toArray();
  }

  /** The group with this number, which exists, as lists show it. */
  listed(teamId: number): ListedGroup {
    return this.#sql.exec<ListedGroup>(ONE_LISTED, teamId).one();
  }

  /** Adds a group at the time `now`, under a team id that no group had before. */
  insert(group: Omit<UserGroup, "teamId">, now: number): UserGroup {
    const teamId = this.#findLastTeamId() + 1;
    this.#sql.exec(INSERT, teamId, now, now, ...valuesOf(group, CHANGING));
    this.#lastTeamId = teamId;
    return { teamId, ...group };
  }

  /** Writes every field except the provided id, whose index would be written with it. */
  replace(group: UserGroup, now: number): void {
    this.#sql.exec(REPLACE, ...valuesOf(group, SAME_ID), now, group.teamId);
  }

  /** Writes every field, the provided id included. */
  rename(group: UserGroup, now: number): void {
    this.#sql.exec(RENAME, ...valuesOf(group, CHANGING), now, group.teamId);
  }

  /** Deletes a group. If it has the highest number, that number is kept, so that the next group does not get it. */
  delete(teamId: number): void {
    if (teamId === this.#findLastTeamId()) this.#sql.exec("UPDATE newest_deleted SET team_id = ? WHERE id = 1", teamId);
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
  }

  /** The highest number that any group ever had, or 0. It is read once: nothing else writes this database. */
  #findLastTeamId(): number {
    this.#lastTeamId ??= this.#sql
      .exec<{ last: number }>(
        `SELECT max(team_id, coalesce((SELECT max(team_id) FROM user_groups), 0)) AS last FROM newest_deleted WHERE id = 1`,
      )
      .one().last;
    return this.#lastTeamId;
  }
}

const boundsOf = (range: ListRange): (string | number)[] =>
  range.order === "ids" ? [range.start, range.end] : [range.start];

// A row as an array: as an object it takes a third longer, because every row names its columns again.
const toGroup = ([
  teamId,
  providedId,
  name,
  nonce,
  graceNonce,
  graceEndsAt,
  revision,
  mapping,
  properties,
]: Row): UserGroup => ({
  teamId,
  providedId,
  name,
  nonce,
  graceNonce,
  graceEndsAt,
  revision,
  mapping,
  properties,
});
