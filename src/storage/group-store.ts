import type { UserGroup } from "./records.ts";

const COLUMNS = `team_id AS teamId, provided_id AS providedId, name, mapping, properties, nonce, grace_nonce AS graceNonce,
  grace_ends_at AS graceEndsAt, revision, created_at AS createdAt, updated_at AS updatedAt`;

/** The SQL of user groups. It refuses nothing: a broken constraint is a bug of the caller and throws. */
export class GroupStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findByProvidedId(providedId: string): UserGroup | undefined {
    return this.#sql
      .exec<UserGroup>(`SELECT ${COLUMNS} FROM user_groups WHERE provided_id = ?`, providedId)
      .toArray()[0];
  }

  findByTeamId(teamId: number): UserGroup | undefined {
    return this.#sql.exec<UserGroup>(`SELECT ${COLUMNS} FROM user_groups WHERE team_id = ?`, teamId).toArray()[0];
  }

  /** Adds a group and answers with it, under a team id that no group had before. */
  insert(group: Omit<UserGroup, "teamId">): UserGroup {
    const { teamId } = this.#sql
      .exec<{ teamId: number }>(
        `INSERT INTO user_groups (provided_id, name, mapping, properties, nonce, grace_nonce, grace_ends_at, revision,
          created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING team_id AS teamId`,
        ...valuesOf(group),
      )
      .one();
    return { teamId, ...group };
  }

  /** Writes every field of the group that has this team id. */
  replace(group: UserGroup): void {
    this.#sql.exec(
      `UPDATE user_groups SET provided_id = ?, name = ?, mapping = ?, properties = ?, nonce = ?, grace_nonce = ?,
        grace_ends_at = ?, revision = ?, created_at = ?, updated_at = ? WHERE team_id = ?`,
      ...valuesOf(group),
      group.teamId,
    );
  }

  delete(teamId: number): void {
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
  }
}

const valuesOf = (group: Omit<UserGroup, "teamId">) => [
  group.providedId,
  group.name,
  group.mapping,
  group.properties,
  group.nonce,
  group.graceNonce,
  group.graceEndsAt,
  group.revision,
  group.createdAt,
  group.updatedAt,
];
