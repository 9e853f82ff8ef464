import * as z from "zod";
import type { apiKeyBody, getBody, postBody, putBody, viewBody } from "../wire.ts";

/**
 * What the calls answer, for the OpenAPI document alone: the Worker does not import this. An answer of `wire.ts` that has
 * lost a field does not compile here, and one with a field too many fails every test that sees it.
 */

const Success = z.literal(1).meta({ description: "1 for a success; a refusal has 0." });

const Tag = z
  .enum(["Customer", "Testing"])
  .nullable()
  .meta({ description: "The environment of the API key that created the group.", examples: ["Testing"] });

const TeamId = z
  .int()
  .min(1)
  .meta({ description: "The service's own number of the group, never given twice.", examples: [1] });

const Token = z.string().meta({
  description: "The credential to embed in dashboards. It shows nothing but this group.",
  examples: ["ugt_testing_AQJrMQRkZW1v"],
});

const Name = z.string().meta({ description: "The group's name.", examples: ["Acme Inc."] });

const ProvidedId = z.string().meta({ description: "Your own id of the group.", examples: ["acme"] });

const Properties = z
  .record(z.string(), z.unknown())
  .nullable()
  .meta({ description: "The properties as you gave them, or null.", examples: [{ region: "eu", plans: ["pro"] }] });

const Mapping = z
  .record(z.string(), z.string())
  .nullable()
  .meta({ description: "From schema ids to data sources, or null.", examples: [{ sales: "warehouse-7" }] });

const Named = { team_id: TeamId, name: Name, provided_id: ProvidedId };
/** The token is absent where the key may not read it. */
const Common = { ...Named, token: z.exactOptional(Token) };

const GroupOnGet = z.strictObject({ ...Common, properties: Properties }) satisfies z.ZodType<
  ReturnType<typeof getBody>
>;

const GroupOnPut = z.strictObject({
  ...Common,
  properties: Properties,
  api_environment_tag: Tag,
}) satisfies z.ZodType<ReturnType<typeof putBody>>;

const GroupOnPost = z.strictObject({ ...Named, token: Token, api_environment_tag: Tag }) satisfies z.ZodType<
  ReturnType<typeof postBody>
>;

const SeenGroup = {
  team_id: TeamId,
  name: Name,
  provided_id: ProvidedId,
  properties: Properties,
  mapping: Mapping,
  api_environment_tag: Tag,
};

const GroupOnView = z.strictObject(SeenGroup) satisfies z.ZodType<ReturnType<typeof viewBody>>;

const time = (description: string) =>
  z.string().meta({ format: "date-time", description, examples: ["2026-11-21T11:07:16.301Z"] });

const timeOrNull = (description: string) =>
  z
    .string()
    .meta({ format: "date-time" })
    .nullable()
    .meta({ description, examples: [null] });

const ListedGroup = z.strictObject({
  ...SeenGroup,
  created_at: time("When the group was created."),
  updated_at: time("When the group last changed."),
});

const KeyFields = z.strictObject({
  id: z
    .int()
    .min(1)
    .meta({ description: "The key's number in its environment.", examples: [1] }),
  workspace: z.string().meta({ description: "The integrating application, by its slug.", examples: ["acme"] }),
  environment: Tag.meta({ description: "The environment in which the key acts." }),
  name: z.string().meta({ description: "What the key is called in lists.", examples: ["backend"] }),
  access: z.enum(["read", "write"]).meta({ description: "What the key may do.", examples: ["write"] }),
  created_at: time("When it was issued."),
  expires_at: timeOrNull("When it ends by itself, or null."),
  last_used_at: timeOrNull("When it was last used, to within an hour, or null."),
  revoked_at: timeOrNull("When it stopped being good, or, within the grace of a roll, when it will; or null."),
}) satisfies z.ZodType<ReturnType<typeof apiKeyBody>>;

const ApiKey = KeyFields.meta({ description: "What is known of the key, and never the key itself." });

const Key = z
  .string()
  .meta({ description: "The key itself, shown this once.", examples: ["ugk_testing_AQJrMQRkZW1v"] });

export const Done = z.strictObject({ success: Success });

export const Health = z.strictObject({
  success: Success,
  version: z.string().meta({ description: "The version of the service.", examples: ["1.0.0"] }),
});

export const Ensured = z.strictObject({
  success: Success,
  new_user_group: z.boolean().meta({ description: "Whether this very call has created the group.", examples: [true] }),
  user_group: GroupOnGet.meta({ description: "The group." }),
});

export const Updated = z.strictObject({ success: Success, user_group: GroupOnPut.meta({ description: "The group." }) });

export const Rotated = z.strictObject({
  success: Success,
  user_group: GroupOnPost.meta({ description: "The group." }),
});

export const Listed = z.strictObject({
  success: Success,
  user_groups: z.array(ListedGroup).meta({ description: "One page of groups, in the order of team_id." }),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: "The cursor of the next page, or null on the last one.", examples: [null] }),
});

export const IssuedKey = z.strictObject({ success: Success, api_key: ApiKey, key: Key });

export const ListedKeys = z.strictObject({
  success: Success,
  api_keys: z.array(KeyFields).meta({ description: "All keys of the environment, oldest first." }),
});

export const Viewed = z.strictObject({
  success: Success,
  user_group: GroupOnView.meta({ description: "The group." }),
  variables: z.record(z.string(), z.unknown()).meta({
    description: "What dashboards read: user_group_id, user_group_name, and user_group.<key> for each property.",
    examples: [{ user_group_id: "acme", user_group_name: "Acme Inc.", "user_group.region": "eu" }],
  }),
});

export const Bound = z.strictObject({
  success: Success,
  sql: z
    .string()
    .meta({ description: "The template's SQL, with placeholders for variables.", examples: ["region IN (?, ?)"] }),
  params: z
    .array(z.unknown())
    .meta({ description: "The values of the placeholders, in their order.", examples: [["eu", "us"]] }),
  dropped: z.array(z.string()).meta({
    description:
      "The missing variables for which clauses in [[ ]] were dropped, in the order of the template; empty when none was dropped.",
    examples: [["user_group.tier"]],
  }),
});
