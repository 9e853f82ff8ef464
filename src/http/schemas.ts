import * as z from "zod/mini";
import { WORKSPACE } from "../domain/environment.ts";
import type { UserGroupDraft } from "../domain/user-group.ts";
import {
  GRACE_SECONDS_MAX,
  KEY_SECONDS_MAX,
  LIST_GROUPS_DEFAULT,
  LIST_GROUPS_MAX,
  MAPPING_ENTRIES_MAX,
  PROPERTIES_BYTES_MAX,
  PROPERTIES_DEPTH_MAX,
  SQL_TEMPLATE_BYTES_MAX,
  TEXT_UNITS_MAX,
} from "../limits.ts";
import { parseCursor } from "./cursor.ts";

/**
 * The bodies and queries that the calls take, by their published names. Unknown fields are refused, and nothing is trimmed or
 * coerced. What is registered tells the OpenAPI document what zod cannot: a sentence, and the bounds that are checked by
 * hand. The schemas are those of zod/mini, which takes half the time to start, and each is made when it is first asked for:
 * no request needs all of them, and a viewer's GET none.
 */

const once = <Schema>(make: () => Schema): (() => Schema) => {
  let made: Schema | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

const utf8 = new TextEncoder();

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown) => typeof value === "string" && value.length >= 1 && value.length <= TEXT_UNITS_MAX;

const text = `a string of 1 to ${TEXT_UNITS_MAX} characters`;

type Told = Parameters<typeof z.globalRegistry.add>[1];
type Payload = z.core.ParsePayload;

/** Notes what the OpenAPI document tells of a schema. */
const told = <Schema extends z.ZodMiniType>(schema: Schema, meta: Told): Schema => {
  z.globalRegistry.add(schema, meta);
  return schema;
};

const refuseValue = (payload: Payload, message: string, path: string[] = []): void => {
  payload.issues.push({ code: "custom", message, path, input: payload.value });
};

const label = (meta: Told = {}) =>
  told(
    z.string({ error: `Give ${text}.` }).check(
      z.refine(isText, { error: `Give ${text}.` }),
      z.refine((value) => !/\p{Cc}/u.test(value), {
        error: "Leave out control characters, such as line breaks and tabs.",
      }),
    ),
    { minLength: 1, maxLength: TEXT_UNITS_MAX, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$", ...meta },
  );

const Label = once(() => label());

const ProvidedId = once(() => label({ description: "Your own id of the user group, unique in its environment." }));

const TOKEN_MESSAGE =
  "Give the current token of the user group. POST rotates it and DELETE deletes its group; GET creates a group.";

const Credential = once(() =>
  told(z.string({ error: TOKEN_MESSAGE }).check(z.minLength(1, { error: TOKEN_MESSAGE })), {
    description: "The user group's current token, as GET or the last rotation showed it.",
  }),
);

// Checked by hand rather than with z.record, which drops a key named __proto__.
const Mapping = once(() =>
  told(
    z.pipe(
      z.unknown(),
      z.transform((value: unknown, payload: Payload) => {
        if (!isObject(value)) {
          refuseValue(payload, "Give an object from schema ids to data source ids, or null.");
          return z.NEVER;
        }
        const entries = Object.entries(value);
        if (entries.length > MAPPING_ENTRIES_MAX) refuseValue(payload, `Give at most ${MAPPING_ENTRIES_MAX} entries.`);
        for (const [key, dataSource] of entries.slice(0, MAPPING_ENTRIES_MAX)) {
          if (!isText(key)) refuseValue(payload, `Let the key be ${text}.`, [key]);
          if (!isText(dataSource)) refuseValue(payload, `Give ${text}.`, [key]);
        }
        return JSON.stringify(value);
      }),
    ),
    {
      type: "object",
      maxProperties: MAPPING_ENTRIES_MAX,
      propertyNames: { minLength: 1, maxLength: TEXT_UNITS_MAX },
      additionalProperties: { type: "string", minLength: 1, maxLength: TEXT_UNITS_MAX },
    },
  ),
);

const Properties = once(() =>
  told(
    z.pipe(
      z.unknown(),
      z.transform((value: unknown, payload: Payload) => {
        if (!isObject(value)) {
          refuseValue(payload, "Give an object of properties, or null.");
          return z.NEVER;
        }
        if (nestsDeeper(value, PROPERTIES_DEPTH_MAX)) {
          refuseValue(payload, `Nest at most ${PROPERTIES_DEPTH_MAX} levels.`);
          return z.NEVER;
        }
        const json = JSON.stringify(value);
        const bytes = utf8.encode(json).length;
        if (bytes > PROPERTIES_BYTES_MAX)
          refuseValue(payload, `The properties are ${bytes} bytes of JSON; ${PROPERTIES_BYTES_MAX} is the most.`);
        return json;
      }),
    ),
    { type: "object" },
  ),
);

/** Whether more than `levels` objects and lists stand inside one another. It looks no deeper than that. */
const nestsDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1)));

const seconds = (least: number, most: number, meta: Told = {}) =>
  told(
    z
      .int({ error: "Give a whole number of seconds." })
      .check(z.refine((value) => value >= least && value <= most, { error: `Give ${least} to ${most} seconds.` })),
    { minimum: least, maximum: most, ...meta },
  );

const Grace = (old: string) =>
  told(z._default(seconds(0, GRACE_SECONDS_MAX), 0), { description: `How long the old ${old} stays good.` });

const GroupFields = once(
  () =>
    ({
      name: told(z.optional(Label()), {
        description: "The group's name. A new group without one takes its id for a name.",
      }),
      mapping: told(z.nullish(Mapping()), {
        description: "From the ids of your schemas to data sources. Replaced whole; null clears it.",
      }),
      properties: told(z.nullish(Properties()), {
        description: `Any JSON object, of ${PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most. Replaced whole; null clears it.`,
      }),
    }) satisfies Record<Exclude<keyof UserGroupDraft, "providedId">, z.ZodMiniType>,
);

/** GET /api/user */
export const EnsureBody = once(() => z.strictObject({ user_group_id: ProvidedId(), ...GroupFields() }));

/** PUT /api/user */
export const UpdateBody = once(() =>
  z.strictObject({
    user_group_id: ProvidedId(),
    new_user_group_id: told(z.optional(Label()), { description: "Renames the group, which keeps its token." }),
    ...GroupFields(),
  }),
);

/** POST /api/user */
export const RotateBody = once(() => z.strictObject({ current_token: Credential(), grace_seconds: Grace("token") }));

/** DELETE /api/user */
export const RemoveBody = once(() =>
  z.strictObject({
    current_token: Credential(),
    user_group_id: told(z.optional(Label()), { description: "A guard: the id that the group must have." }),
    data_source_provided_id: told(z.optional(z.string({ error: "Give the id of a data source, a string." })), {
      description: "A guard: a data source that the group's mapping must lead to.",
    }),
  }),
);

const ListCursor = once(() =>
  z.pipe(
    z.string(),
    z.transform((value: string, payload: Payload) => {
      const cursor = parseCursor(value);
      if (cursor) return cursor;
      refuseValue(payload, "Give the next_cursor of the page before this one, as it came.");
      return z.NEVER;
    }),
  ),
);

const limitMessage = `Give a whole number from 1 to ${LIST_GROUPS_MAX}.`;

const Limit = once(() =>
  z
    .pipe(z.string().check(z.regex(/^[1-9]\d{0,3}$/, { error: limitMessage })), z.transform(Number))
    .check(z.refine((limit) => limit <= LIST_GROUPS_MAX, { error: limitMessage })),
);

/** GET /api/user_groups */
export const ListQuery = once(() =>
  z.pipe(
    z.strictObject({
      cursor: told(z.optional(ListCursor()), {
        description: "The next_cursor of the page before; without it, the first page.",
      }),
      limit: told(z._default(Limit(), LIST_GROUPS_DEFAULT), {
        type: "integer",
        minimum: 1,
        maximum: LIST_GROUPS_MAX,
        default: LIST_GROUPS_DEFAULT,
        pattern: undefined,
        description: "The most groups on one page.",
      }),
      user_group_id_prefix: told(z.optional(Label()), {
        description:
          "Only ids that start with this text, compared character by character. The list is then in the order of ids.",
      }),
    }),
    z.transform(({ cursor, limit, user_group_id_prefix: prefix }, payload: Payload) => {
      if (cursor && cursor.prefix !== prefix)
        refuseValue(payload, "Give the same user_group_id_prefix on every page of one list.", ["cursor"]);
      return { start: cursor?.start, prefix, limit };
    }),
  ),
);

const Workspace = once(() =>
  told(
    z.string({ error: "Give the workspace's slug." }).check(
      z.regex(WORKSPACE, {
        error: "Give a slug: 1 to 40 lower-case letters, digits and hyphens, no hyphen first.",
      }),
    ),
    { description: "The integrating application, by its slug." },
  ),
);

/** The query by which the operator names an environment. */
export const EnvironmentQuery = once(() =>
  z.pipe(
    z.strictObject({
      workspace: Workspace(),
      environment: told(z.enum(["Customer", "Testing", "untagged"], { error: "Give Customer, Testing or untagged." }), {
        description: "The environment; untagged is the one without a tag.",
      }),
    }),
    z.transform(({ workspace, environment }) => ({ workspace, tag: environment === "untagged" ? null : environment })),
  ),
);

/** POST /api/keys/{id}/roll */
export const RollKeyBody = once(() => z.strictObject({ grace_seconds: Grace("key") }));

/** POST /api/viewer/query */
export const QueryBody = once(() =>
  z.strictObject({
    sql: told(
      z.string({ error: "Give the SQL template, a string." }).check(
        z.refine((sql) => utf8.encode(sql).length <= SQL_TEMPLATE_BYTES_MAX, {
          error: `Give at most ${SQL_TEMPLATE_BYTES_MAX} bytes. Shorten the template, for example with a view in the database.`,
        }),
      ),
      {
        maxLength: SQL_TEMPLATE_BYTES_MAX,
        description: `An SQL template with {{variables}} and optional clauses in [[ ]], of at most ${SQL_TEMPLATE_BYTES_MAX} bytes in UTF-8.`,
      },
    ),
    placeholders: told(z._default(z.enum(["?", "$1"], { error: 'Give "?" or "$1".' }), "?"), {
      description: "How placeholders are written: ? each, or $1, $2 and so on.",
    }),
  }),
);

/** The name of an API key. Lists show it beside other names, so it must be visible and must not imitate another. */
const KeyName = once(() =>
  told(
    label().check(
      z.refine((name) => !/^\s+$/u.test(name), { error: "Give at least one character that is not a blank." }),
      z.refine((name) => !/[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u.test(name), {
        error:
          "Leave out characters that are not visible: zero-width characters, marks of the text's direction, line separators and characters of private use.",
      }),
    ),
    {
      minLength: 1,
      maxLength: TEXT_UNITS_MAX,
      pattern: "^(?!\\s+$)[^\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}]*$",
      description: "What the key is called in lists: visible characters, and not blanks alone.",
    },
  ),
);

/** POST /api/keys */
export const IssueKeyBody = once(() =>
  z.strictObject({
    workspace: Workspace(),
    environment: told(z.nullable(z.enum(["Customer", "Testing"], { error: 'Give "Customer", "Testing" or null.' })), {
      description: "The environment in which the key acts; null is the one without a tag.",
    }),
    name: KeyName(),
    access: told(z._default(z.enum(["read", "write"], { error: 'Give "read" or "write".' }), "write"), {
      description: "With read, a key sees groups and neither creates nor changes any.",
    }),
    expires_in_seconds: told(z.optional(seconds(1, KEY_SECONDS_MAX)), {
      description: "When the key ends by itself; without it, never.",
    }),
  }),
);
