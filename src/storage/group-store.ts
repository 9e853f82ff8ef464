import { COLUMNS as CONTENT_COLUMNS } from "../../common/content.ts";
import type { ListedGroup, UserGroup } from "../records.ts";
import { NO_UNIQUE_IDS, UNIQUE_IDS } from "./schema.ts";
import { Table } from "./table.ts";

export type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;
/** A column for each field, named after it. */
type Columns<Group> = { [Field in keyof Group]: SnakeCase<Field> };

/** The columns that lists show. */
const LISTED = {
  teamId: "team_id",
  ...CONTENT_COLUMNS,
  suspendedAt: "suspended_at",
  suspendedReason: "suspended_reason",
  lastViewedOn: "last_viewed_on",
  revision: "revision",
  createdAt: "created_at",
  updatedAt: "updated_at",
  deletedAt: "deleted_at",
} satisfies Columns<ListedGroup>;

const COLUMNS = {
  ...LISTED,
  nonce: "nonce",
  generation: "generation",
  graceNonce: "grace_nonce",
  graceGeneration: "grace_generation",
  graceEndsAt: "grace_ends_at",
} satisfies Columns<UserGroup>;

type Field = keyof UserGroup;

const FIELDS = Object.keys(COLUMNS) as Field[];
/** The fields of a group that exists. */
const EXISTING = FIELDS.filter((field) => field !== "deletedAt");
/** The fields that a group can change. */
const CHANGING = EXISTING.filter((field) => field !== "teamId" && field !== "createdAt");
const SAME_ID = CHANGING.filter((field) => field !== "providedId");

const valuesOf = (group: UserGroup, fields: Field[]) => fields.map((field) => group[field]);

// Complete statements, because the runtime caches a prepared statement by its text.
const selected = (columns: Partial<Columns<UserGroup>>, table: "user_groups" | "deleted_groups") =>
  Object.entries(columns)
    .map(([field, column]) => `${field === "deletedAt" && table === "user_groups" ? "NULL" : column} AS ${field}`)
    .join(", ");
const insertInto = (table: string, fields: Field[]) =>
  `INSERT INTO ${table} (${fields.map((field) => COLUMNS[field]).join(", ")}) VALUES (${fields.map(() => "?").join(", ")})`;
const update = (fields: Field[]) =>
  `UPDATE user_groups SET ${fields.map((field) => `${COLUMNS[field]} = ?`).join(", ")} WHERE team_id = ?`;

const EXISTING_GROUP = `SELECT ${selected(COLUMNS, "user_groups")} FROM user_groups`;
const BY_PROVIDED_ID = `${EXISTING_GROUP} WHERE provided_id = ?`;
const BY_TEAM_ID = `${EXISTING_GROUP} WHERE team_id = ?`;
const DELETED_BY_TEAM_ID = `SELECT ${selected(COLUMNS, "deleted_groups")} FROM deleted_groups WHERE team_id = ?`;
const INSERT = insertInto("user_groups", EXISTING);
const INSERT_DELETED = insertInto("deleted_groups", FIELDS);
const RENAME = update(CHANGING);
const REPLACE = update(SAME_ID);

const COUNT = {
  existing:
    "SELECT count(*) AS count FROM (SELECT provided_id FROM user_groups INDEXED BY user_groups_by_provided_id LIMIT ?)",
  deleted:
    "SELECT count(*) AS count FROM (SELECT deleted_at FROM deleted_groups INDEXED BY deleted_groups_by_time LIMIT ?)",
};

const NAME = `SELECT name FROM user_groups WHERE team_id = ?1
  UNION ALL SELECT name FROM deleted_groups WHERE team_id = ?1`;

// octet_length reads the length from the row's header, and not the value from its overflow pages.
const BYTES = [...Object.values(CONTENT_COLUMNS), "suspended_reason"]
  .map((column) => `coalesce(octet_length(${column}), 0)`)
  .join(" + ");
const SIZE = `team_id AS teamId, provided_id AS providedId, suspended_at AS suspendedAt, ${BYTES} AS bytes`;

const SCANNED = `team_id, provided_id, name, suspended_at, last_viewed_on, created_at, ${BYTES}`;

/** The orders of a list: by number, or by id within a range; and of deleted groups, by number. */
const ORDERS = {
  numbers: { table: "user_groups", range: "team_id >= ?", by: "team_id" },
  ids: { table: "user_groups", range: "provided_id >= ? AND provided_id < ?", by: "provided_id" },
  deleted: { table: "deleted_groups", range: "team_id >= ?", by: "team_id" },
} as const;
/** Which of the groups that exist a page has. */
const FILTER = { all: "", active: "AND suspended_at IS NULL", suspended: "AND suspended_at IS NOT NULL" };

type Order = keyof typeof ORDERS;
export type Filter = keyof typeof FILTER;

/** Selects columns, given as a text or by their fields, of the groups in an order. */
function selectInOrder(order: Order, what: string | Partial<Columns<UserGroup>>, filter: Filter = "all"): string {
  const { table, range, by } = ORDERS[order];
  const columns = typeof what === "string" ? what : selected(what, table);
  return `SELECT ${columns} FROM ${table} WHERE ${range} ${FILTER[filter]} ORDER BY ${by} LIMIT ?`;
}

const LISTED_BY_TEAM_ID = {
  existing: `SELECT ${selected(LISTED, "user_groups")} FROM user_groups WHERE team_id = ?`,
  deleted: `SELECT ${selected(LISTED, "deleted_groups")} FROM deleted_groups WHERE team_id = ?`,
};

/** Where a page begins, and in which order it goes on: by number, or by id up to and without `end`. */
export type ListRange = { order: "numbers" | "deleted"; start: number } | { order: "ids"; start: string; end: string };

/** A group's number and id, whether it is suspended, and the size of what a list shows of it, in UTF-8. */
export type GroupSize = Pick<UserGroup, "teamId" | "providedId" | "suspendedAt"> & { bytes: number };

/** The fields of a group that a search examines, and the bytes in UTF-8 of the group in a list. */
export type ScannedGroup = Pick<
  ListedGroup,
  "teamId" | "providedId" | "name" | "suspendedAt" | "lastViewedOn" | "createdAt"
> & { bytes: number };

/** How many groups were counted, how many of them are suspended, the last number, 0 without any, and their bytes as `GroupSize` has them. */
export type CountedGroups = { examined: number; suspended: number; last: number; bytes: number };

/** The SQL of user groups. It refuses nothing: a broken constraint is a bug of the caller and throws. */
export class GroupStore {
  readonly #sql: SqlStorage;
  readonly #deleted: Table<DeletedGroup>;
  #lastTeamId: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#deleted = new Table(sql, "deleted_groups", ["teamId", "providedId", "createdAt", "deletedAt"]);
  }

  findByProvidedId(providedId: string): UserGroup | undefined {
    return this.#find(BY_PROVIDED_ID, providedId);
  }

  findByTeamId(teamId: number): UserGroup | undefined {
    return this.#find(BY_TEAM_ID, teamId);
  }

  findDeleted(teamId: number): UserGroup | undefined {
    return this.#find(DELETED_BY_TEAM_ID, teamId);
  }

  #find(statement: string, key: string | number): UserGroup | undefined {
    const [row] = this.#sql.exec(statement, key).raw();
    return row && toGroup(row);
  }

  /** The name of the group with this number, if it exists or is deleted. A purged one has none. */
  nameOf(teamId: number): string | undefined {
    return this.#sql.exec<{ name: string }>(NAME, teamId).toArray()[0]?.name;
  }

  has(providedId: string): boolean {
    return this.#sql.exec("SELECT 1 FROM user_groups WHERE provided_id = ?", providedId).toArray().length > 0;
  }

  /** Whether a group has this number, or may have had it. The numbers that a restore skips may have been used after its backup. */
  wasUsed(teamId: number): boolean {
    return teamId > 0 && teamId <= this.#findLastTeamId();
  }

  /** The sizes of the first `count` groups of a range, without reading what is large in them. */
  sizes(range: ListRange, count: number): GroupSize[] {
    return this.#sql.exec<GroupSize>(selectInOrder(range.order, SIZE), ...boundsOf(range), count).toArray();
  }

  /** The first `count` groups of a range that pass the filter. */
  page(range: ListRange, filter: Filter, count: number): ListedGroup[] {
    return this.#sql.exec<ListedGroup>(selectInOrder(range.order, LISTED, filter), ...boundsOf(range), count).toArray();
  }

  /** The first `count` groups of a range, with what a search examines of them. */
  scan(range: ListRange, count: number): ScannedGroup[] {
    const rows = this.#sql.exec(selectInOrder(range.order, SCANNED), ...boundsOf(range), count).raw<ScannedRow>();
    return Array.from(rows, ([teamId, providedId, name, suspendedAt, lastViewedOn, createdAt, bytes]) => ({
      teamId,
      providedId,
      name,
      suspendedAt,
      lastViewedOn,
      createdAt,
      bytes,
    }));
  }

  /** A group as lists show it. */
  listed(which: "existing" | "deleted", teamId: number): ListedGroup {
    return this.#sql.exec<ListedGroup>(LISTED_BY_TEAM_ID[which], teamId).one();
  }

  /** The first `count` groups from a number on with their secrets: of those that exist, or of the deleted ones. */
  whole(order: "numbers" | "deleted", start: number, count: number): UserGroup[] {
    return [...this.#sql.exec(selectInOrder(order, COLUMNS), start, count).raw()].map(toGroup);
  }

  /** How many groups exist or are deleted. */
  count(): number {
    return this.#sql
      .exec<{ count: number }>(
        "SELECT (SELECT count(*) FROM user_groups) + (SELECT count(*) FROM deleted_groups) AS count",
      )
      .one().count;
  }

  isEmpty(): boolean {
    return this.whole("numbers", 0, 1).length === 0 && this.whole("deleted", 0, 1).length === 0;
  }

  /** Writes a group as it is, in the place of any with its number. */
  put(group: UserGroup): void {
    this.drop(group.teamId);
    const [statement, fields] = group.deletedAt === null ? [INSERT, EXISTING] : [INSERT_DELETED, FIELDS];
    this.#sql.exec(statement, ...valuesOf(group, fields));
  }

  /** Removes a group, whether it exists or is deleted. */
  drop(teamId: number): void {
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
    this.purge(teamId);
  }

  /** Whether ids must be unique, which no restore can promise before its end. Throws if they are not. */
  setUniqueIds(areUnique: boolean): void {
    this.#sql.exec(areUnique ? UNIQUE_IDS : NO_UNIQUE_IDS);
  }

  /** The highest number of a group that is kept. */
  highestTeamId(): number {
    return this.#sql
      .exec<{ highest: number }>(
        `SELECT max(coalesce((SELECT max(team_id) FROM user_groups), 0),
          coalesce((SELECT max(team_id) FROM deleted_groups), 0)) AS highest`,
      )
      .one().highest;
  }

  /** Lets the next group have a higher number than this one. */
  setLastTeamId(teamId: number): void {
    this.#sql.exec("UPDATE newest_deleted SET team_id = ? WHERE id = 1", teamId);
    this.#lastTeamId = undefined;
  }

  /** Replaces the tokens of all groups, and ends their sessions. SQLite's random bytes are those of ChaCha20, seeded by the system. */
  rotateAll(now: number): void {
    for (const table of ["user_groups", "deleted_groups"])
      this.#sql.exec(
        `UPDATE ${table} SET nonce = randomblob(16), generation = randomblob(16), grace_nonce = NULL, grace_generation = NULL,
          grace_ends_at = NULL, revision = revision + 1, updated_at = ?`,
        now,
      );
  }

  /** Adds a group under a number that no group had before. */
  insert(group: Omit<UserGroup, "teamId">): UserGroup {
    const inserted = { teamId: this.#findLastTeamId() + 1, ...group };
    this.#sql.exec(INSERT, ...valuesOf(inserted, EXISTING));
    this.#lastTeamId = inserted.teamId;
    return inserted;
  }

  /** Counts the groups that exist, or the deleted ones, up to a bound. It reads an index, whose rows are short. */
  countUpTo(which: "existing" | "deleted", bound: number): number {
    return this.#sql.exec<{ count: number }>(COUNT[which], bound).one().count;
  }

  /** Counts the first `bound` groups from a number on. */
  countSuspended(start: number, bound: number): CountedGroups {
    return this.#sql
      .exec<CountedGroups>(
        `SELECT count(*) AS examined, count(suspended_at) AS suspended, coalesce(max(team_id), 0) AS last, coalesce(sum(bytes), 0) AS bytes
          FROM (SELECT team_id, suspended_at, ${BYTES} AS bytes FROM user_groups WHERE team_id >= ? ORDER BY team_id LIMIT ?)`,
        start,
        bound,
      )
      .one();
  }

  /** Writes a group. Its provided id is written only if it has changed, because the index of ids is written with it. */
  replace(before: UserGroup, after: UserGroup): void {
    const [statement, fields] = after.providedId === before.providedId ? [REPLACE, SAME_ID] : [RENAME, CHANGING];
    this.#sql.exec(statement, ...valuesOf(after, fields), after.teamId);
  }

  /** Notes the day of a group's last view. */
  setLastViewedOn(teamId: number, day: string): void {
    this.#sql.exec("UPDATE user_groups SET last_viewed_on = ? WHERE team_id = ?", day, teamId);
  }

  /** Moves a group to the deleted ones. If it has the highest number, that number is kept, so that the next group does not get it. */
  delete(deleted: UserGroup): void {
    const { teamId } = deleted;
    if (teamId === this.#findLastTeamId()) this.#sql.exec("UPDATE newest_deleted SET team_id = ? WHERE id = 1", teamId);
    this.#sql.exec(INSERT_DELETED, ...valuesOf(deleted, FIELDS));
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
  }

  /** Moves a deleted group back. */
  restore(restored: UserGroup): void {
    this.#sql.exec(INSERT, ...valuesOf(restored, EXISTING));
    this.purge(restored.teamId);
  }

  /** Deletes the row of a deleted group, for a purge or a restore. */
  purge(teamId: number): void {
    this.#sql.exec("DELETE FROM deleted_groups WHERE team_id = ?", teamId);
  }

  /** The groups that were deleted first, at most `count`. */
  oldestDeleted(count: number): DeletedGroup[] {
    return this.#deleted.list("deleted_at > 0 ORDER BY deleted_at LIMIT ?", count);
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

type DeletedGroup = Pick<UserGroup, "teamId" | "providedId" | "createdAt"> & { deletedAt: number };

type ScannedRow = [number, string, string, number | null, string | null, number, number];

const boundsOf = (range: ListRange): (string | number)[] =>
  range.order === "ids" ? [range.start, range.end] : [range.start];

/** A row of all columns. As an object it takes a third longer to read, because every row names its columns again. */
function toGroup(row: SqlStorageValue[]): UserGroup {
  const group: Partial<Record<Field, SqlStorageValue | undefined>> = {};
  for (const [index, field] of FIELDS.entries()) group[field] = row[index];
  return group as UserGroup;
}
