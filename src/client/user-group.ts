import type { Answer, EnvironmentTag } from "./answer.ts";
import type { Answered } from "./connection.ts";
import type { JsonObject } from "./json.ts";

/** Leads from the ids of your schemas to data sources. */
export type Mapping = Record<string, string>;

/** What every call on one group answers with. */
type KnownGroup = {
  /** The service's own number of the group, never given twice in an environment. */
  teamId: number;
  userGroupId: string;
  name: string;
  /** The group's credential: whoever shows it sees dashboards as this group. */
  token: string;
  /** For `ifMatch` of the next update. */
  etag: string;
};

/** A group as `ensure` answers with it. */
export type EnsuredGroup = KnownGroup & { properties: JsonObject | null };

/** A group as `update` answers with it. */
export type UpdatedGroup = EnsuredGroup & { apiEnvironmentTag: EnvironmentTag };

/** A group as `rotateToken` answers with it: with the new token. */
export type RotatedGroup = KnownGroup & { apiEnvironmentTag: EnvironmentTag };

/** A group as its viewers see it: never with the token. */
export type ViewedGroup = {
  teamId: number;
  userGroupId: string;
  name: string;
  mapping: Mapping | null;
  properties: JsonObject | null;
  apiEnvironmentTag: EnvironmentTag;
};

/** A group in a list: never with the token. Times are ISO 8601 in UTC. */
export type ListedGroup = ViewedGroup & { createdAt: string; updatedAt: string };

/** The groups as the calls answer with them, read from the wire's names. */

const named = (group: Answer) => ({
  teamId: group.number("team_id"),
  userGroupId: group.text("provided_id"),
  name: group.text("name"),
});

function known({ body, headers, unexpected }: Answered): KnownGroup {
  const group = body.object("user_group");
  const etag = headers.get("ETag");
  if (etag === null) throw unexpected("has no ETag");
  // Whoever compresses an answer on its way makes its ETag a weak one, which no If-Match takes. It names the group's state,
  // whatever the answer is packed in, so it is as strong as it was.
  return { ...named(group), token: group.text("token"), etag: etag.replace(/^W\//, "") };
}

const properties = ({ body }: Answered) => ({ properties: body.object("user_group").jsonOrNull("properties") });

const environment = ({ body }: Answered) => ({
  apiEnvironmentTag: body.object("user_group").environment("api_environment_tag"),
});

export const ensuredGroup = (answered: Answered): EnsuredGroup => ({ ...known(answered), ...properties(answered) });

export const updatedGroup = (answered: Answered): UpdatedGroup => ({
  ...ensuredGroup(answered),
  ...environment(answered),
});

export const rotatedGroup = (answered: Answered): RotatedGroup => ({ ...known(answered), ...environment(answered) });

export const viewedGroup = (group: Answer): ViewedGroup => ({
  ...named(group),
  mapping: group.textsOrNull("mapping"),
  properties: group.jsonOrNull("properties"),
  apiEnvironmentTag: group.environment("api_environment_tag"),
});

export const listedGroup = (group: Answer): ListedGroup => ({
  ...viewedGroup(group),
  createdAt: group.text("created_at"),
  updatedAt: group.text("updated_at"),
});
