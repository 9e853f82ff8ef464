import type { Operator } from "../domain/credentials/caller.ts";
import { grantOf, roleOf } from "../domain/credentials/rights.ts";
import type { SessionClaims } from "../domain/credentials/viewer-session.ts";
import { type Environment, type EnvironmentTag, parseDirectoryName } from "../domain/environment.ts";
import { type GroupWithToken, type RotatedView, stateOf } from "../domain/user-groups/user-group.ts";
import type { GroupSnapshot, ListedGroup, StoredEnvironment, StoredEvent, StoredKey } from "../records.ts";

/** The published names. Each function gives exactly the fields that the answer to one call has. */

type WireNames = {
  teamId: "team_id";
  providedId: "provided_id";
  name: "name";
  mapping: "mapping";
  properties: "properties";
  suspendedAt: "state";
  createdAt: "created_at";
  updatedAt: "updated_at";
  deletedAt: "deleted_at";
};

/** What of a group's JSON comes from its environment and from the settings: for how long a deletion can be undone. */
export type ListOptions = { tag: EnvironmentTag; undoMs: number };

/** An answer with all these fields: a new field of a group does not compile until each answer has it. */
type Body<Field extends keyof WireNames> = Record<WireNames[Field], unknown> & Record<string, unknown>;

const parsed = (json: string | null): object | null => JSON.parse(json ?? "null");

/** Without a token the field is absent: the caller may not read it. */
const common = (group: Pick<GroupWithToken, "teamId" | "name" | "providedId">, token: string | undefined) => ({
  team_id: group.teamId,
  ...(token !== undefined && { token }),
  name: group.name,
  provided_id: group.providedId,
});

/** `user_group` in the answer to GET. */
export const getBody = (group: GroupWithToken, token: string | undefined) =>
  ({
    ...common(group, token),
    properties: parsed(group.properties),
  }) satisfies Body<Exclude<keyof GroupWithToken, "revision" | "nonce">>;

/** `user_group` in the answer to PUT. */
export const putBody = (group: GroupWithToken, token: string | undefined, tag: EnvironmentTag) =>
  ({
    ...common(group, token),
    properties: parsed(group.properties),
    api_environment_tag: tag,
  }) satisfies Body<Exclude<keyof GroupWithToken, "revision" | "nonce">>;

/** `user_group` in the answer to POST. */
export const postBody = (group: RotatedView, token: string | undefined, tag: EnvironmentTag) => ({
  ...common(group, token),
  api_environment_tag: tag,
});

/** `user_group` as its viewers see it, without the token. */
export const viewBody = (group: GroupSnapshot, tag: EnvironmentTag) =>
  ({
    team_id: group.teamId,
    name: group.name,
    provided_id: group.providedId,
    properties: parsed(group.properties),
    mapping: parsed(group.mapping),
    api_environment_tag: tag,
  }) satisfies Body<Exclude<keyof GroupSnapshot, "validUntil">>;

const time = (milliseconds: number | null) => (milliseconds === null ? null : new Date(milliseconds).toISOString());

const utf8 = new TextEncoder();

/**
 * The answer to a list, as JSON. Groups are encoded one by one, and `mapping` and `properties` are copied as stored JSON text:
 * parsing or joining a full page could exhaust the isolate's memory.
 */
export function listBody(groups: ListedGroup[], options: ListOptions, nextCursor: string | null): Blob {
  const rows = groups.map((group, index) => utf8.encode((index === 0 ? "" : ",") + listedGroup(group, options)));
  return new Blob(['{"success":1,"user_groups":[', ...rows, `],"next_cursor":${JSON.stringify(nextCursor)}}`]);
}

function listedGroup(group: ListedGroup, { tag, undoMs }: ListOptions): string {
  const { deletedAt } = group;
  const fields = {
    team_id: JSON.stringify(group.teamId),
    provided_id: JSON.stringify(group.providedId),
    name: JSON.stringify(group.name),
    mapping: group.mapping ?? "null",
    properties: group.properties ?? "null",
    api_environment_tag: JSON.stringify(tag),
    state: JSON.stringify(stateOf(group)),
    created_at: JSON.stringify(time(group.createdAt)),
    updated_at: JSON.stringify(time(group.updatedAt)),
    deleted_at: deletedAt === null ? undefined : JSON.stringify(time(deletedAt)),
    purge_at: deletedAt === null ? undefined : JSON.stringify(time(deletedAt + undoMs)),
  } satisfies Body<Exclude<keyof ListedGroup, "revision">>;
  const members = Object.entries(fields)
    .filter(([, json]) => json !== undefined)
    .map(([name, json]) => `"${name}":${json}`);
  return `{${members.join(",")}}`;
}

/** One group as a list shows it, as JSON text. */
export const groupBody = (group: ListedGroup, options: ListOptions): string =>
  `{"success":1,"user_group":${listedGroup(group, options)}}`;

/** An event. Its group, key, operator or environment stands under its own name, and only where the event has one. */
export const eventBody = ({ id, at, type, actor, requestId, teamId, providedId, details }: StoredEvent) => ({
  id,
  at: time(at),
  type,
  actor,
  request_id: requestId,
  ...(teamId !== null && { user_group: { team_id: teamId, provided_id: providedId } }),
  ...details,
});

/** `api_key`, with times in ISO 8601, and never the key itself. */
export const apiKeyBody = (key: StoredKey, { workspace, tag }: Environment) => ({
  id: key.id,
  workspace,
  environment: tag,
  name: key.name,
  ...grantOf(key.rights),
  ...timesOf(key),
});

/** `operator`, with times in ISO 8601, and never the key itself. */
export const operatorBody = (operator: StoredKey) => ({
  id: operator.id,
  name: operator.name,
  role: roleOf(operator.rights),
  ...timesOf(operator),
});

const timesOf = (key: StoredKey) => ({
  created_at: time(key.createdAt),
  expires_at: time(key.expiresAt),
  last_used_at: time(key.lastUsedAt),
  revoked_at: time(key.revokedAt),
});

/** An environment of the list. */
export function environmentBody({ name, location, createdAt }: StoredEnvironment) {
  const { workspace, tag } = parseDirectoryName(name);
  return { workspace, environment: tag, location, created_at: time(createdAt) };
}

/** `caller` for an API key. */
export const apiKeyCaller = ({ id, name, rights, expiresAt }: StoredKey, { workspace, tag }: Environment) => ({
  kind: "api_key",
  id,
  name,
  workspace,
  environment: tag,
  scopes: grantOf(rights).scopes,
  expires_at: time(expiresAt),
});

/** `caller` for an operator, who belongs to no environment. */
export const operatorCaller = ({ id, name, role, expiresAt }: Operator) => ({
  kind: "operator",
  id,
  name,
  workspace: null,
  environment: null,
  role,
  expires_at: time(expiresAt),
});

/** `caller` for a viewer session. */
export const sessionCaller = (
  { teamId, name }: GroupSnapshot,
  { environment: { workspace, tag }, expiresAtSeconds }: Pick<SessionClaims, "environment" | "expiresAtSeconds">,
) => ({
  kind: "viewer_session",
  id: teamId,
  name,
  workspace,
  environment: tag,
  expires_at: time(expiresAtSeconds * 1000),
});

/** `caller` for the token of a user group. It expires at the end of a grace. */
export const tokenCaller = ({ teamId, name, validUntil }: GroupSnapshot, { workspace, tag }: Environment) => ({
  kind: "user_group_token",
  id: teamId,
  name,
  workspace,
  environment: tag,
  expires_at: time(validUntil),
});
