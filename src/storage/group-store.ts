import type { ListedGroup, UserGroup } from "../records.ts";

/** The columns of a group, in the order of the table. */
const COLUMNS = {
  teamId: "team_id",
  providedId: "provided_id",
  name: "name",
  nonce: "nonce",
  generation: "generation",
  graceNonce: "grace_nonce",
  graceGeneration: "grace_generation",
  graceEndsAt: "grace_ends_at",
  suspendedAt: "suspended_at",
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
  ArrayBuffer,
  ArrayBuffer | null,
  ArrayBuffer | null,
  number | null,
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
// Without a time, `updated_at` stays.
const REPLACE = `UPDATE user_groups SET ${assigned(SAME_ID)}, updated_at = coalesce(?, updated_at) WHERE team_id = ?`;
const RENAME = `UPDATE user_groups SET ${assigned(CHANGING)}, updated_at = coalesce(?, updated_at) WHERE team_id = ?`;

const UNREVISED = FIELDS.filter((field) => field !== "revision");
const MOVE_TO_DELETED = `INSERT INTO deleted_groups (deleted_at, created_at, updated_at, ${named(UNREVISED)}, revision)
  SELECT ?, created_at, updated_at, ${named(UNREVISED)}, revision + 1 FROM user_groups WHERE team_id = ?`;
const MOVE_BACK = `INSERT INTO user_groups (${named(FIELDS)}, created_at, updated_at)
  SELECT ${FIELDS.map(() => "?").join(", ")}, created_at, updated_at FROM deleted_groups WHERE team_id = ?`;
const DELETED_BY_TEAM_ID = `SELECT ${named(FIELDS)} FROM deleted_groups WHERE team_id = ?`;

const KEPT = `SELECT 1 FROM user_groups WHERE team_id = ?1
  UNION ALL SELECT 1 FROM deleted_groups WHERE team_id = ?1`;

const LISTED_COLUMNS = {
  teamId: COLUMNS.teamId,
  providedId: COLUMNS.providedId,
  name: COLUMNS.name,
  suspendedAt: COLUMNS.suspendedAt,
  createdAt: "created_at",
  updatedAt: "updated_at",
  mapping: COLUMNS.mapping,
  properties: COLUMNS.properties,
} satisfies Record<keyof Omit<ListedGroup, "deletedAt">, string>;
const LISTED = Object.entries(LISTED_COLUMNS)
  .map(([field, column]) => `${column} AS ${field}`)
  .join(", ");
// octet_length reads the length from the row's header, and not the value from its overflow pages.
const SIZE = `team_id AS teamId, provided_id AS providedId, suspended_at AS suspendedAt,
  octet_length(provided_id) + octet_length(name)
  + coalesce(octet_length(mapping), 0) + coalesce(octet_length(properties), 0) AS bytes`;

/** The orders of a list: by number, or by id within a range; and of deleted groups, by number. */
const RANGE = {
  numbers: "FROM user_groups WHERE team_id >= ?",
  ids: "FROM user_groups WHERE provided_id >= ? AND provided_id < ?",
  deleted: "FROM deleted_groups WHERE team_id >= ?",
};
const ORDER = { numbers: "team_id", ids: "provided_id", deleted: "team_id" };
const DELETED_AT = { numbers: "NULL AS deletedAt", ids: "NULL AS deletedAt", deleted: "deleted_at AS deletedAt" };
/** Which of the groups that exist a page has. */
const FILTER = { all: "", active: "AND suspended_at IS NULL", suspended: "AND suspended_at IS NOT NULL" };

type Order = keyof typeof RANGE;
export type Filter = keyof typeof FILTER;

const sizesOf = (order: Order) => `SELECT ${SIZE} ${RANGE[order]} ORDER BY ${ORDER[order]} LIMIT ?`;
const SIZES = { numbers: sizesOf("numbers"), ids: sizesOf("ids"), deleted: sizesOf("deleted") };
const groupsOf = (order: Order, filter: Filter) =>
  `SELECT ${LISTED}, ${DELETED_AT[order]} ${RANGE[order]} ${FILTER[filter]} ORDER BY ${ORDER[order]} LIMIT ?`;

const oneOf = (order: Order) => `SELECT ${LISTED}, ${DELETED_AT[order]} ${RANGE[order].replace(">=", "=")}`;
const ONE_LISTED = { numbers: oneOf("numbers"), deleted: oneOf("deleted") };

/** Where a page begins, and in which order it goes on: by number, or by id up to and without `end`. */
export type ListRange = { order: "numbers" | "deleted"; start: number } | { order: "ids"; start: string; end: string };

/** A group's number and id, whether it is suspended, and the size of what a list shows of it, in UTF-8. */
export type GroupSize = Pick<UserGroup, "teamId" | "providedId" | "suspendedAt"> & { bytes: number };

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

  /** Whether the group with this number exists or is deleted. A purged one is neither. */
  isKept(teamId: number): boolean {
    return this.#sql.exec(KEPT, teamId).toArray().length > 0;
  }

  /** The sizes of the first `count` groups of a range, without reading what is large in them. */
  sizes(range: ListRange, count: number): GroupSize[] {
    return this.#sql.exec<GroupSize>(SIZES[range.order], ...boundsOf(range), count).toArray();
  }

  /** The first `count` groups of a range that pass the filter. */
  page(range: ListRange, filter: Filter, count: number): ListedGroup[] {
    return this.#sql.exec<ListedGroup>(groupsOf(range.order, filter), ...boundsOf(range), count).toArray();
  }

  /** The group with this number, which exists or is deleted, as lists show it. */
  listed(teamId: number, from: "numbers" | "deleted"): ListedGroup {
    return this.#sql.exec<ListedGroup>(ONE_LISTED[from], teamId).one();
  }

  /** Adds a group at the time `now`, under a team id that no group had before. */
  insert(group: Omit<UserGroup, "teamId">, now: number): UserGroup {
    const teamId = this.#findLastTeamId() + 1;
    this.#sql.exec(INSERT, teamId, now, now, ...valuesOf(group, CHANGING));
    this.#lastTeamId = teamId;
    return { teamId, ...group };
  }

  /** Writes every field except the provided id, whose index would be written with it. Without a time, `updated_at` stays. */
  replace(group: UserGroup, updatedAt: number | null): void {
    this.#sql.exec(REPLACE, ...valuesOf(group, SAME_ID), updatedAt, group.teamId);
  }

  /** Writes every field, the provided id included. */
  rename(group: UserGroup, updatedAt: number | null): void {
    this.#sql.exec(RENAME, ...valuesOf(group, CHANGING), updatedAt, group.teamId);
  }

  /**
   * Moves a group to the deleted ones, and counts a revision. If it has the highest number, that number is kept, so that the
   * next group does not get it.
   */
  delete(teamId: number, deletedAt: number): void {
    if (teamId === this.#findLastTeamId()) this.#sql.exec("UPDATE newest_deleted SET team_id = ? WHERE id = 1", teamId);
    this.#sql.exec(MOVE_TO_DELETED, deletedAt, teamId);
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
  }

  findDeleted(teamId: number): UserGroup | undefined {
    const [row] = this.#sql.exec(DELETED_BY_TEAM_ID, teamId).raw<Row>();
    return row && toGroup(row);
  }

  /** Moves a deleted group back with the fields of `restored`. Its times stay. */
  restore(restored: UserGroup): void {
    this.#sql.exec(MOVE_BACK, ...valuesOf(restored, FIELDS), restored.teamId);
    this.erase(restored.teamId);
  }

  /** Erases a deleted group. */
  erase(teamId: number): void {
    this.#sql.exec("DELETE FROM deleted_groups WHERE team_id = ?", teamId);
  }

  /** The groups that were deleted first, at most `count`. */
  oldestDeleted(count: number): (Pick<UserGroup, "teamId" | "providedId"> & { deletedAt: number })[] {
    return this.#sql
      .exec<{ teamId: number; providedId: string; deletedAt: number }>(
        `SELECT team_id AS teamId, provided_id AS providedId, deleted_at AS deletedAt FROM deleted_groups
          WHERE deleted_at > 0 ORDER BY deleted_at LIMIT ?`,
        count,
      )
      .toArray();
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
  generation,
  graceNonce,
  graceGeneration,
  graceEndsAt,
  suspendedAt,
  revision,
  mapping,
  properties,
]: Row): UserGroup => ({
  teamId,
  providedId,
  name,
  nonce,
  generation,
  graceNonce,
  graceGeneration,
  graceEndsAt,
  suspendedAt,
  revision,
  mapping,
  properties,
});
