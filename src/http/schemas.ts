import * as z from "zod";
import { isWorkspace, WORKSPACE } from "../domain/credential.ts";
import {
  GRACE_SECONDS_MAX,
  KEY_SECONDS_MAX,
  LIST_GROUPS_DEFAULT,
  LIST_GROUPS_MAX,
  MAPPING_ENTRIES_MAX,
  PROPERTIES_BYTES_MAX,
  PROPERTIES_DEPTH_MAX,
  TEXT_UNITS_MAX,
} from "../domain/limits.ts";
import { cursorOf, readCursor } from "./cursor.ts";

/**
 * The bodies and queries that the calls take, by their published names. Unknown fields are refused, and nothing is trimmed or
 * coerced. Each `meta` tells the OpenAPI document what zod cannot: a sentence, and the bounds that are checked by hand.
 */

const utf8 = new TextEncoder();

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown) => typeof value === "string" && value.length >= 1 && value.length <= TEXT_UNITS_MAX;

const text = `a string of 1 to ${TEXT_UNITS_MAX} characters`;

const Label = z
  .string({ error: `Give ${text}.` })
  .refine(isText, { error: `Give ${text}.` })
  .refine((value) => !/\p{Cc}/u.test(value), { error: "Leave out control characters, such as line breaks and tabs." })
  .meta({ minLength: 1, maxLength: TEXT_UNITS_MAX, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" });

const ProvidedId = Label.meta({ description: "Your own id of the user group, unique in its environment." });

const Credential = z
  .string({ error: "Give a user group token, a string." })
  .min(1, { error: "Give a user group token." })
  .meta({ description: "The user group's current token, as GET or the last rotation showed it." });

// Checked by hand rather than with z.record, which drops a key named __proto__.
const Mapping = z
  .unknown()
  .transform((value, context) => {
    if (!isObject(value)) {
      context.addIssue("Give an object from schema ids to data source ids, or null.");
      return z.NEVER;
    }
    const entries = Object.entries(value);
    if (entries.length > MAPPING_ENTRIES_MAX) context.addIssue(`Give at most ${MAPPING_ENTRIES_MAX} entries.`);
    for (const [key, dataSource] of entries.slice(0, MAPPING_ENTRIES_MAX)) {
      if (!isText(key)) context.addIssue({ code: "custom", path: [key], message: `Let the key be ${text}.` });
      if (!isText(dataSource)) context.addIssue({ code: "custom", path: [key], message: `Give ${text}.` });
    }
    return JSON.stringify(value);
  })
  .meta({
    type: "object",
    maxProperties: MAPPING_ENTRIES_MAX,
    propertyNames: { minLength: 1, maxLength: TEXT_UNITS_MAX },
    additionalProperties: { type: "string", minLength: 1, maxLength: TEXT_UNITS_MAX },
  });

const Properties = z
  .unknown()
  .transform((value, context) => {
    if (!isObject(value)) {
      context.addIssue("Give an object of properties, or null.");
      return z.NEVER;
    }
    if (depthOf(value) > PROPERTIES_DEPTH_MAX) {
      context.addIssue(`Nest at most ${PROPERTIES_DEPTH_MAX} levels.`);
      return z.NEVER;
    }
    const json = JSON.stringify(value);
    const bytes = utf8.encode(json).length;
    if (bytes > PROPERTIES_BYTES_MAX)
      context.addIssue(`The properties are ${bytes} bytes of JSON; ${PROPERTIES_BYTES_MAX} is the most.`);
    return json;
  })
  .meta({ type: "object" });

/** How many objects and lists stand inside one another, counted no further than the first too many. */
function depthOf(value: unknown, above = 0): number {
  if (typeof value !== "object" || value === null) return above;
  if (above === PROPERTIES_DEPTH_MAX) return above + 1;
  return Math.max(above + 1, ...Object.values(value).map((inner) => depthOf(inner, above + 1)));
}

const seconds = (least: number, most: number) =>
  z
    .int({ error: "Give a whole number of seconds." })
    .refine((value) => value >= least && value <= most, { error: `Give ${least} to ${most} seconds.` })
    .meta({ minimum: least, maximum: most });

const Grace = (old: string) =>
  seconds(0, GRACE_SECONDS_MAX)
    .default(0)
    .meta({ description: `How long the old ${old} stays good.` });

const GroupFields = {
  name: Label.optional().meta({ description: "The group's name. A new group without one takes its id for a name." }),
  mapping: Mapping.nullish().meta({
    description: "From the ids of your schemas to data sources. Replaced whole; null clears it.",
  }),
  properties: Properties.nullish().meta({
    description: `Any JSON object, of ${PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most. Replaced whole; null clears it.`,
  }),
};

/** GET /api/user */
export const EnsureBody = z.strictObject({ user_group_id: ProvidedId, ...GroupFields });

/** PUT /api/user */
export const UpdateBody = z.strictObject({
  user_group_id: ProvidedId,
  new_user_group_id: Label.optional().meta({ description: "Renames the group, which keeps its token." }),
  ...GroupFields,
});

/** POST /api/user */
export const RotateBody = z.strictObject({
  current_token: Credential,
  grace_seconds: Grace("token"),
});

/** DELETE /api/user */
export const RemoveBody = z.strictObject({
  current_token: Credential,
  user_group_id: Label.optional().meta({ description: "A guard: the id that the group must have." }),
  data_source_provided_id: z
    .string({ error: "Give the id of a data source, a string." })
    .optional()
    .meta({ description: "A guard: a data source that the group's mapping must lead to." }),
});

const Cursor = z.string().transform((value, context) => {
  const cursor = readCursor(value);
  if (cursor) return cursor;
  context.addIssue("Give the next_cursor of the page before this one, as it came.");
  return z.NEVER;
});

const limitMessage = `Give a whole number from 1 to ${LIST_GROUPS_MAX}.`;

/** GET /api/user_groups */
export const ListQuery = z
  .strictObject({
    cursor: Cursor.optional().meta({ description: "The next_cursor of the page before; without it, the first page." }),
    limit: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, { error: limitMessage })
      .transform(Number)
      .refine((limit) => limit <= LIST_GROUPS_MAX, { error: limitMessage })
      .default(LIST_GROUPS_DEFAULT)
      .meta({
        type: "integer",
        minimum: 1,
        maximum: LIST_GROUPS_MAX,
        default: LIST_GROUPS_DEFAULT,
        pattern: undefined,
        description: "At most so many groups a page.",
      }),
    user_group_id_prefix: Label.default("").meta({
      description: "Only ids that start with it, character by character.",
    }),
    // Groups have their times in milliseconds; what Date.parse cuts off behind them lets no group slip through.
    updated_since: z.iso
      .datetime({ offset: true, error: "Give a time such as 2026-03-01T10:30:00Z or, encoded, …T11:30:00%2B01:00." })
      .transform(Date.parse)
      .default(0)
      .meta({ description: "Only groups made or changed at this time or later." }),
  })
  .transform(({ cursor, limit, user_group_id_prefix: providedIdPrefix, updated_since: updatedSince }, context) => {
    const filter = { providedIdPrefix, updatedSince };
    if (cursor && cursorOf(cursor.after, filter) !== cursorOf(cursor.after, cursor.filter))
      context.addIssue({
        code: "custom",
        path: ["cursor"],
        message: "Give the same filters on every page of one list.",
      });
    return { after: cursor?.after ?? 0, limit, filter };
  });

const Workspace = z
  .string({ error: "Give the workspace's slug." })
  .refine(isWorkspace, { error: "Give a slug: 1 to 40 lower-case letters, digits and hyphens, no hyphen first." })
  .meta({ pattern: WORKSPACE.source, description: "The integrating application, by its slug." });

/** The query by which the operator names an environment. */
export const EnvironmentQuery = z
  .strictObject({
    workspace: Workspace,
    environment: z
      .enum(["Customer", "Testing", "untagged"], { error: "Give Customer, Testing or untagged." })
      .meta({ description: "The environment; untagged is the one without a tag." }),
  })
  .transform(({ workspace, environment }) => ({ workspace, tag: environment === "untagged" ? null : environment }));

/** POST /api/keys/{id}/roll */
export const RollKeyBody = z.strictObject({ grace_seconds: Grace("key") });

/** POST /api/viewer/query */
export const QueryBody = z.strictObject({
  sql: z
    .string({ error: "Give the SQL template, a string." })
    .meta({ description: "An SQL template with {{variables}}, and clauses in [[ ]] that may go." }),
  placeholders: z
    .enum(["?", "$1"], { error: 'Give "?" or "$1".' })
    .default("?")
    .meta({ description: "How placeholders are written: ? each, or $1, $2 and so on." }),
});

/** POST /api/keys */
export const IssueKeyBody = z.strictObject({
  workspace: Workspace,
  environment: z
    .enum(["Customer", "Testing"], { error: 'Give "Customer", "Testing" or null.' })
    .nullable()
    .meta({ description: "The environment in which the key acts; null is the one without a tag." }),
  name: Label.meta({ description: "What the key is called in lists." }),
  access: z
    .enum(["read", "write"], { error: 'Give "read" or "write".' })
    .default("write")
    .meta({ description: "With read, a key sees groups and neither creates nor changes any." }),
  expires_in_seconds: seconds(1, KEY_SECONDS_MAX)
    .optional()
    .meta({ description: "When the key ends by itself; without it, never." }),
});
