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
        `INSERT INTO user_groups (provided_id, created_at, name, mapping, properties, nonce, grace_nonce, grace_ends_at,
          revision, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING team_id AS teamId`,
        group.providedId,
        group.createdAt,
        ...changingValues(group),
      )
      .one();
    return { teamId, ...group };
  }

  /** Writes every field but the id that the integrator gave, whose index would be written with it. */
  replace(group: UserGroup): void {
    this.#sql.exec(
      `UPDATE user_groups SET name = ?, mapping = ?, properties = ?, nonce = ?, grace_nonce = ?, grace_ends_at = ?,
        revision = ?, updated_at = ? WHERE team_id = ?`,
      ...changingValues(group),
      group.teamId,
    );
  }

  rename(teamId: number, providedId: string): void {
    this.#sql.exec("UPDATE user_groups SET provided_id = ? WHERE team_id = ?", providedId, teamId);
  }

  delete(teamId: number): void {
    this.#sql.exec("DELETE FROM user_groups WHERE team_id = ?", teamId);
  }
}

const changingValues = (group: Omit<UserGroup, "teamId">) => [
  group.name,
  group.mapping,
  group.properties,
  group.nonce,
  group.graceNonce,
  group.graceEndsAt,
  group.revision,
  group.updatedAt,
];
