import type { GroupFilter, ListedGroup, UserGroup } from "./records.ts";

const GROUP = `SELECT team_id, provided_id, name, mapping, properties, nonce, grace_nonce, grace_ends_at, indexed,
  grace_indexed, revision FROM user_groups`;
// Whole statements, which the runtime finds again by their text: put together at each call, that text had to be read first.
const BY_PROVIDED_ID = `${GROUP} WHERE provided_id = ?`;
const BY_TEAM_ID = `${GROUP} WHERE team_id = ?`;

// A row as values in the order of these columns: as an object it takes a third longer, since each row names them again.
type GroupRow = [
  teamId: number,
  providedId: string,
  name: string,
  mapping: string | null,
  properties: string | null,
  nonce: ArrayBuffer,
  graceNonce: ArrayBuffer | null,
  graceEndsAt: number | null,
  indexed: number,
  graceIndexed: number,
  revision: number,
];

// Not LIKE, which has wildcards and folds case. Both texts are well formed, so code points say what code units would.
const MATCHES = "(updated_at >= ?3 AND substr(provided_id, 1, length(?4)) = ?4)";
const PAGE = `SELECT team_id AS teamId, provided_id AS providedId, name, created_at AS createdAt, updated_at AS updatedAt,
  ${MATCHES} AS matches, iif(${MATCHES}, mapping, NULL) AS mapping, iif(${MATCHES}, properties, NULL) AS properties
  FROM user_groups WHERE team_id > ?1 ORDER BY team_id LIMIT ?2`;

/** A group with 1 or 0 for whether the filter lets it through; one that it does not is without its large fields. */
type ExaminedGroup = ListedGroup & { matches: number };

const CHANGING = `name = ?, mapping = ?, properties = ?, nonce = ?, grace_nonce = ?, grace_ends_at = ?, indexed = ?,
  grace_indexed = ?, revision = ?, updated_at = ?`;
const REPLACE = `UPDATE user_groups SET ${CHANGING} WHERE team_id = ?`;
const RENAME = `UPDATE user_groups SET ${CHANGING}, provided_id = ? WHERE team_id = ?`;

/** The SQL of user groups. It refuses nothing: a broken constraint is a bug of the caller and throws. */
export class GroupStore {
  readonly #sql: SqlStorage;
  #lastTeamId: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findByProvidedId(providedId: string): UserGroup | undefined {
    const [row] = this.#sql.exec(BY_PROVIDED_ID, providedId).raw<GroupRow>();
    return row && groupOf(row);
  }

  findByTeamId(teamId: number): UserGroup | undefined {
    const [row] = this.#sql.exec(BY_TEAM_ID, teamId).raw<GroupRow>();
    return row && groupOf(row);
  }

  has(providedId: string): boolean {
    return this.#sql.exec("SELECT 1 FROM user_groups WHERE provided_id = ?", providedId).toArray().length > 0;
  }

  /** The groups behind the number `after`, in order, at most `count`, with the filter's verdict on each. */
  page(after: number, { updatedSince, providedIdPrefix }: GroupFilter, count: number): ExaminedGroup[] {
    return this.#sql.exec<ExaminedGroup>(PAGE, after, count, updatedSince, providedIdPrefix).toArray();
  }

  /** Whether there is any group behind the number `after`. */
  hasBehind(after: number): boolean {
    return this.#sql.exec("SELECT 1 FROM user_groups WHERE team_id > ? LIMIT 1", after).toArray().length > 0;
  }

  /** Adds a group at the time `now` and answers with it, under a team id that no group had before. */
  insert(group: Omit<UserGroup, "teamId">, now: number): UserGroup {
    const teamId = this.#findLastTeamId() + 1;
    this.#sql.exec(
      `INSERT INTO user_groups (team_id, provided_id, created_at, name, mapping, properties, nonce, grace_nonce,
        grace_ends_at, indexed, grace_indexed, revision, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      teamId,
      group.providedId,
      now,
      ...changingValues(group, now),
    );
    this.#lastTeamId = teamId;
    return { teamId, ...group };
  }

  /** Writes every field but the id that the integrator gave, whose index would be written with it. */
  replace(group: UserGroup, now: number): void {
    this.#sql.exec(REPLACE, ...changingValues(group, now), group.teamId);
  }

  /** The same with that id. */
  rename(group: UserGroup, now: number): void {
    this.#sql.exec(RENAME, ...changingValues(group, now), group.providedId, group.teamId);
  }

  /** Writes only whether the index may have an entry for each of its tokens, which is no change that anybody sees. */
  markIndexed({ teamId, indexed, graceIndexed }: UserGroup): void {
    this.#sql.exec(
      "UPDATE user_groups SET indexed = ?, grace_indexed = ? WHERE team_id = ?",
      indexed,
      graceIndexed,
      teamId,
    );
  }

  /** Takes a group out. The number of the newest one is noted, so that the next one does not get it. */
  delete(teamId: number): void {
    if (teamId === this.#findLastTeamId()) this.#sql.exec("UPDATE newest_deleted SET team_id = ? WHERE id = 1", teamId);
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
  }

  /** The highest number that any group ever had, or 0. It is read once: nobody else writes this database. */
  #findLastTeamId(): number {
    this.#lastTeamId ??= this.#sql
      .exec<{ last: number }>(
        `SELECT max(team_id, coalesce((SELECT max(team_id) FROM user_groups), 0)) AS last FROM newest_deleted WHERE id = 1`,
      )
      .one().last;
    return this.#lastTeamId;
  }
}

const groupOf = ([
  teamId,
  providedId,
  name,
  mapping,
  properties,
  nonce,
  graceNonce,
  graceEndsAt,
  indexed,
  graceIndexed,
  revision,
]: GroupRow): UserGroup => ({
  teamId,
  providedId,
  name,
  mapping,
  properties,
  nonce,
  graceNonce,
  graceEndsAt,
  indexed,
  graceIndexed,
  revision,
});

const changingValues = (group: Omit<UserGroup, "teamId">, now: number) => [
  group.name,
  group.mapping,
  group.properties,
  group.nonce,
  group.graceNonce,
  group.graceEndsAt,
  group.indexed,
  group.graceIndexed,
  group.revision,
  now,
];
