import type {
  ApiKey,
  Environment,
  EnvironmentTag,
  GroupSnapshot,
  ListedGroup,
  ShownGroup,
} from "../domain/user-group.ts";

/** The published names. Each function gives exactly the fields that one call's answer lists. */

const parsed = (json: string | null): object | null => JSON.parse(json ?? "null");

const common = (group: Pick<ShownGroup, "teamId" | "name" | "providedId">, token: string) => ({
  team_id: group.teamId,
  token,
  name: group.name,
  provided_id: group.providedId,
});

/** `user_group` as GET shows it. */
export const onGet = (group: ShownGroup, token: string) => ({
  ...common(group, token),
  properties: parsed(group.properties),
});

/** `user_group` as PUT shows it. */
export const onPut = (group: ShownGroup, token: string, tag: EnvironmentTag) => ({
  ...common(group, token),
  properties: parsed(group.properties),
  api_environment_tag: tag,
});

/** `user_group` as POST shows it. */
export const onPost = (group: Parameters<typeof common>[0], token: string, tag: EnvironmentTag) => ({
  ...common(group, token),
  api_environment_tag: tag,
});

/** `user_group` as its viewers see it: never with the token. */
export const onView = (group: GroupSnapshot, tag: EnvironmentTag) => ({
  team_id: group.teamId,
  name: group.name,
  provided_id: group.providedId,
  properties: parsed(group.properties),
  mapping: parsed(group.mapping),
  api_environment_tag: tag,
});

const time = (milliseconds: number | null) => (milliseconds === null ? null : new Date(milliseconds).toISOString());

/** `user_group` in a list, as JSON text. What is kept as JSON goes out as it is: taken apart, a page of it could fill the memory. */
export const onList = (group: ListedGroup, tag: EnvironmentTag): string => {
  const before = { team_id: group.teamId, provided_id: group.providedId, name: group.name };
  const behind = {
    api_environment_tag: tag,
    created_at: time(group.createdAt),
    updated_at: time(group.updatedAt),
  };
  const kept = `"mapping":${group.mapping ?? "null"},"properties":${group.properties ?? "null"}`;
  return `${JSON.stringify(before).slice(0, -1)},${kept},${JSON.stringify(behind).slice(1)}`;
};

/** `api_key`, with times in ISO 8601 and never the key itself. */
export const apiKey = (key: ApiKey, { workspace, tag }: Environment) => ({
  id: key.id,
  workspace,
  environment: tag,
  name: key.name,
  access: key.access,
  created_at: time(key.createdAt),
  expires_at: time(key.expiresAt),
  last_used_at: time(key.lastUsedAt),
  revoked_at: time(key.revokedAt),
});
