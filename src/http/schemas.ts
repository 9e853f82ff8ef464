import * as z from "zod/mini";
import { BOOTSTRAP_NAME } from "../domain/credentials/caller.ts";
import { type Grant, ROLES, SCOPES } from "../domain/credentials/rights.ts";
import { normalizeOrigin } from "../domain/credentials/viewer-session.ts";
import { WORKSPACE } from "../domain/environment.ts";
import type { UserGroupDraft } from "../domain/user-groups/user-group.ts";
import {
  EVENTS_DEFAULT,
  EVENTS_MAX,
  GRACE_SECONDS_MAX,
  KEY_SECONDS_MAX,
  LIST_GROUPS_DEFAULT,
  LIST_GROUPS_MAX,
  MAPPING_ENTRIES_MAX,
  PROPERTIES_BYTES_MAX,
  PROPERTIES_DEPTH_MAX,
  SESSION_ORIGINS_MAX,
  SESSION_SECONDS_DEFAULT,
  SESSION_SECONDS_MAX,
  SESSION_SECONDS_MIN,
  SQL_TEMPLATE_BYTES_MAX,
  TEXT_UNITS_MAX,
} from "../limits.ts";
import { EVENT_TYPES, GROUP_STATES, LOCATIONS } from "../records.ts";
import { parseCursor } from "./resources/cursor.ts";

/**
 * The schemas of bodies and queries, by their published names. Unknown fields are refused, and nothing is trimmed or coerced.
 * The registered metadata gives the OpenAPI document what zod does not know: descriptions, and bounds that are checked by
 * hand. The schemas are those of zod/mini, which starts in half the time, and each is built when it is first needed.
 */

/** Builds a value when it is first needed, and keeps it. */
const lazy = <Schema>(make: () => Schema): (() => Schema) => {
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

type Meta = Parameters<typeof z.globalRegistry.add>[1];
type Payload = z.core.ParsePayload;

/** Registers what the OpenAPI document says about a schema. */
const withMeta = <Schema extends z.ZodMiniType>(schema: Schema, meta: Meta): Schema => {
  z.globalRegistry.add(schema, meta);
  return schema;
};

const refuseValue = (payload: Payload, message: string, path: string[] = []): void => {
  payload.issues.push({ code: "custom", message, path, input: payload.value });
};

const label = (meta: Meta = {}) =>
  withMeta(
    z.string({ error: `Give ${text}.` }).check(
      z.refine(isText, { error: `Give ${text}.` }),
      z.refine((value) => !/\p{Cc}/u.test(value), {
        error: "Leave out control characters, such as line breaks and tabs.",
      }),
    ),
    { minLength: 1, maxLength: TEXT_UNITS_MAX, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$", ...meta },
  );

const Label = lazy(() => label());

const ProvidedId = lazy(() => label({ description: "Your own id of the user group, unique in its environment." }));

const TOKEN_MESSAGE =
  "Give the current token of the user group. POST rotates it and DELETE deletes its group; GET creates a group.";

const Credential = lazy(() =>
  withMeta(z.string({ error: TOKEN_MESSAGE }).check(z.minLength(1, { error: TOKEN_MESSAGE })), {
    description: "The user group's current token, from GET or from the last rotation.",
  }),
);

// Checked by hand rather than with z.record, which drops a key named __proto__.
const Mapping = lazy(() =>
  withMeta(
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

const Properties = lazy(() =>
  withMeta(
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
    { type: "object", additionalProperties: true },
  ),
);

/** Whether objects and lists are nested deeper than `levels`. It looks no deeper than that. */
const nestsDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1)));

const seconds = (least: number, most: number, meta: Meta = {}) =>
  withMeta(
    z
      .int({ error: "Give a whole number of seconds." })
      .check(z.refine((value) => value >= least && value <= most, { error: `Give ${least} to ${most} seconds.` })),
    { minimum: least, maximum: most, ...meta },
  );

const Grace = (old: string) =>
  withMeta(z._default(seconds(0, GRACE_SECONDS_MAX), 0), {
    description: `For how many seconds the old ${old} stays valid.`,
  });

const GroupFields = lazy(
  () =>
    ({
      name: withMeta(z.optional(Label()), {
        description: "The group's name. A new group without one takes its id for a name.",
      }),
      mapping: withMeta(z.nullish(Mapping()), {
        description: "From the ids of your schemas to data sources. Replaced whole; null clears it.",
      }),
      properties: withMeta(z.nullish(Properties()), {
        description: `Any JSON object, of ${PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most. Replaced whole; null clears it.`,
      }),
    }) satisfies Record<Exclude<keyof UserGroupDraft, "providedId">, z.ZodMiniType>,
);

/** GET /api/user, POST /api/user_groups */
export const EnsureBody = lazy(() => z.strictObject({ user_group_id: ProvidedId(), ...GroupFields() }));

const Changes = lazy(() => ({
  new_user_group_id: withMeta(z.optional(Label()), {
    description: "Renames the group, which keeps its token. The id decides whose data the token shows.",
  }),
  ...GroupFields(),
  suspended: withMeta(z.optional(z.boolean({ error: "Give true or false." })), {
    description: "With true, the group's viewers are refused until a false; nothing else changes.",
  }),
}));

/** PUT /api/user */
export const UpdateBody = lazy(() => z.strictObject({ user_group_id: ProvidedId(), ...Changes() }));

/** PUT /api/user_groups/{team_id} */
export const UpdateByNumberBody = lazy(() => z.strictObject(Changes()));

/** POST /api/user_groups/{team_id}/rotate */
export const RotateByNumberBody = lazy(() => z.strictObject({ grace_seconds: Grace("token") }));

/** POST /api/user_groups/{team_id}/restore */
export const RestoreBody = lazy(() =>
  z.strictObject({
    new_user_group_id: withMeta(z.optional(Label()), {
      description: "The id that the restored group gets, if another group has its own now.",
    }),
    rotate_token: withMeta(z._default(z.boolean({ error: "Give true or false." }), false), {
      description: "With true, the group gets a new token, and the old one stays revoked.",
    }),
  }),
);

/** A query without fields. */
export const NoQuery = lazy(() => z.strictObject({}));

/** POST /api/user */
export const RotateBody = lazy(() => z.strictObject({ current_token: Credential(), grace_seconds: Grace("token") }));

/** DELETE /api/user */
export const RemoveBody = lazy(() =>
  z.strictObject({
    current_token: Credential(),
    user_group_id: withMeta(z.optional(Label()), { description: "A guard: the id that the group must have." }),
    data_source_provided_id: withMeta(z.optional(z.string({ error: "Give the id of a data source, a string." })), {
      description: "A guard: a data source that the group's mapping must lead to.",
    }),
  }),
);

const ListCursor = lazy(() =>
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

const Limit = lazy(() =>
  z
    .pipe(z.string().check(z.regex(/^[1-9]\d{0,3}$/, { error: limitMessage })), z.transform(Number))
    .check(z.refine((limit) => limit <= LIST_GROUPS_MAX, { error: limitMessage })),
);

/** The fields by which the query of a list asks for a page. */
const pageFields = (what: "groups" | "environments" | "keys" | "operators") => ({
  cursor: withMeta(z.optional(ListCursor()), {
    description: "The next_cursor of the page before; without it, the first page.",
  }),
  limit: withMeta(z._default(Limit(), LIST_GROUPS_DEFAULT), {
    type: "integer",
    minimum: 1,
    maximum: LIST_GROUPS_MAX,
    pattern: undefined,
    description: `The most ${what} on one page. The default is ${LIST_GROUPS_DEFAULT}.`,
  }),
});

const STATE_MESSAGE = "Give active, suspended or deleted.";

/** GET /api/user_groups */
export const ListQuery = lazy(() =>
  z.pipe(
    z.strictObject({
      ...pageFields("groups"),
      user_group_id: withMeta(z.optional(Label()), {
        description: "Only the group with exactly this id. Not together with a prefix, a cursor or state=deleted.",
      }),
      user_group_id_prefix: withMeta(z.optional(Label()), {
        description:
          "Only ids that start with this text, compared character by character. The list is then in the order of ids.",
      }),
      state: withMeta(z.optional(z.enum(GROUP_STATES, { error: STATE_MESSAGE })), {
        description:
          "Only groups in this state. Deleted groups are listed only with state=deleted, and not together with a prefix.",
      }),
    }),
    z.transform(
      ({ cursor, limit, state, user_group_id: providedId, user_group_id_prefix: prefix }, payload: Payload) => {
        const isOfDeleted = state === "deleted";
        if (providedId !== undefined)
          refuseBeside(payload, { cursor, user_group_id_prefix: prefix, state: isOfDeleted });
        else if (cursor && cursor.prefix !== prefix)
          refuseValue(payload, "Give the same user_group_id_prefix on every page of one list.", ["cursor"]);
        else if (isOfDeleted && prefix !== undefined)
          refuseValue(payload, "Deleted groups are listed by number. Leave the prefix out.", ["user_group_id_prefix"]);
        return { start: cursor?.start, providedId, prefix, state, limit };
      },
    ),
  ),
);

/** Refuses each field that is given beside a user_group_id. */
function refuseBeside(payload: Payload, fields: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(fields))
    if (value) refuseValue(payload, "Leave this field out where you give a user_group_id.", [name]);
}

/** The query of a list in the order of numbers, without filters. */
const numberedQuery = (what: "environments" | "keys" | "operators") =>
  z.pipe(
    z.strictObject(pageFields(what)),
    z.transform(({ cursor, limit }, payload: Payload) => {
      if (typeof cursor?.start !== "string") return { start: cursor?.start ?? 0, limit };
      refuseValue(payload, "Give the next_cursor of a page of this list, as it came.", ["cursor"]);
      return z.NEVER;
    }),
  );

/** GET /api/environments */
export const EnvironmentsQuery = lazy(() => numberedQuery("environments"));

/** GET /api/keys */
export const KeysQuery = lazy(() => numberedQuery("keys"));

/** GET /api/operators */
export const OperatorsQuery = lazy(() => numberedQuery("operators"));

/** GET /api/user_groups/{team_id} */
export const ShowQuery = lazy(() =>
  z.strictObject({
    state: withMeta(z.optional(z.enum(["deleted"], { error: "Give deleted, or leave the field out." })), {
      description: "With deleted, the group is looked for among the deleted ones.",
    }),
  }),
);

/** GET /api/events */
export const EventsQuery = lazy(() =>
  z.strictObject({
    cursor: withMeta(z.optional(z.string()), {
      description:
        "The next_cursor of the page before, or `latest` for the cursor after the newest event; without it, the oldest event.",
    }),
    limit: withMeta(z._default(Limit(), EVENTS_DEFAULT), {
      type: "integer",
      minimum: 1,
      maximum: EVENTS_MAX,
      pattern: undefined,
      description: `The most events on one page. The default is ${EVENTS_DEFAULT}.`,
    }),
    type: withMeta(z.optional(z.enum(EVENT_TYPES, { error: "Give a type of event, such as user_group.updated." })), {
      description: "Only events of this type.",
    }),
    user_group_id: withMeta(z.optional(Label()), { description: "Only events of the group with this id." }),
  }),
);

const Workspace = lazy(() =>
  withMeta(
    z.string({ error: "Give the workspace's slug." }).check(
      z.regex(WORKSPACE, {
        error: "Give a slug: 1 to 40 lower-case letters, digits and hyphens, no hyphen first.",
      }),
    ),
    { description: "The integrating application, by its slug." },
  ),
);

/** The fields of a query by which an operator names an environment. */
export const EnvironmentQuery = lazy(() =>
  z.pipe(
    z.strictObject({
      workspace: Workspace(),
      environment: withMeta(
        z.enum(["Customer", "Testing", "untagged"], { error: "Give Customer, Testing or untagged." }),
        {
          description: "The environment; untagged is the one without a tag.",
        },
      ),
    }),
    z.transform(({ workspace, environment }) => ({ workspace, tag: environment === "untagged" ? null : environment })),
  ),
);

/** POST /api/keys/{id}/roll */
export const RollKeyBody = lazy(() => z.strictObject({ grace_seconds: Grace("key") }));

/** POST /api/operators/{id}/roll */
export const RollOperatorBody = lazy(() => z.strictObject({ grace_seconds: Grace("key") }));

const Origin = lazy(() =>
  z.pipe(
    z.string({ error: "Give an origin, a string such as https://app.example.com." }),
    z.transform((text: string, payload: Payload) => {
      const origin = normalizeOrigin(text);
      if (origin.ok) return origin.value;
      refuseValue(payload, origin.failure);
      return z.NEVER;
    }),
  ),
);

const originsMessage = `Give a list of 1 to ${SESSION_ORIGINS_MAX} origins, or leave the field out.`;

/** POST /api/viewer_sessions */
export const SessionBody = lazy(() =>
  z.strictObject({
    user_group_id: ProvidedId(),
    expires_in_seconds: withMeta(
      z._default(seconds(SESSION_SECONDS_MIN, SESSION_SECONDS_MAX), SESSION_SECONDS_DEFAULT),
      { description: "For how many seconds the session is valid. It never outlives the API key that mints it." },
    ),
    origins: withMeta(
      z.optional(
        z
          .array(Origin(), { error: originsMessage })
          .check(
            z.minLength(1, { error: originsMessage }),
            z.maxLength(SESSION_ORIGINS_MAX, { error: originsMessage }),
          ),
      ),
      { description: "The origins of the pages that may present the session; without it, any." },
    ),
    viewer_id: withMeta(z.optional(Label()), {
      description: "Your own id of the person who looks at the page. Dashboards and SQL templates get it as viewer_id.",
    }),
    include_variables: withMeta(z._default(z.boolean({ error: "Give true or false." }), false), {
      description: "Whether the session contains the variables, for verifiers that do not call the service.",
    }),
  }),
);

/** POST /api/viewer/query */
export const QueryBody = lazy(() =>
  z.strictObject({
    sql: withMeta(
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
    placeholders: withMeta(z._default(z.enum(["?", "$1"], { error: 'Give "?" or "$1".' }), "?"), {
      description: "How placeholders are written: ? each, or $1, $2 and so on.",
    }),
  }),
);

/** Leaves out what a list does not show: blanks, the blank of Braille, and what fonts ignore (Unicode, UAX 44). */
const visiblePart = (name: string): string => name.replaceAll(/[\u2800\p{Default_Ignorable_Code_Point}]/gu, "").trim();

/** The name of a key. Lists show it beside other names, so it must be visible and must not imitate another. */
const KeyName = lazy(() =>
  withMeta(
    label().check(
      // An empty name has its issue already.
      z.refine((name) => name === "" || visiblePart(name) !== "", { error: "Give at least one visible character." }),
      z.refine((name) => !/[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u.test(name), {
        error:
          "Leave out characters that are not visible: zero-width characters, marks of the text's direction, line separators and characters of private use.",
      }),
    ),
    {
      minLength: 1,
      maxLength: TEXT_UNITS_MAX,
      pattern: "^(?=.*[^\\s\\u2800\\p{Default_Ignorable_Code_Point}])[^\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}]*$",
      description:
        "What the key is called in lists: at least one visible character, and no marks of the text's direction.",
    },
  ),
);

const Expiry = lazy(() =>
  withMeta(z.optional(seconds(1, KEY_SECONDS_MAX)), {
    description: "When the key ends by itself; without it, never.",
  }),
);

const scopesMessage = `Give a list of one scope or more, each once: ${SCOPES.join(", ")}.`;

const Scopes = lazy(() =>
  withMeta(
    z.array(z.enum(SCOPES, { error: scopesMessage }), { error: scopesMessage }).check(
      z.minLength(1, { error: scopesMessage }),
      z.refine((scopes) => new Set(scopes).size === scopes.length, { error: scopesMessage }),
    ),
    { uniqueItems: true },
  ),
);

/** POST /api/keys */
export const IssueKeyBody = lazy(() =>
  z.pipe(
    z.strictObject({
      workspace: Workspace(),
      environment: withMeta(
        z.nullable(z.enum(["Customer", "Testing"], { error: 'Give "Customer", "Testing" or null.' })),
        {
          description: "The environment in which the key acts; null is the one without a tag.",
        },
      ),
      name: KeyName(),
      access: withMeta(z.optional(z.enum(["read", "write"], { error: 'Give "read" or "write".' })), {
        description:
          "All scopes (write, the default), or groups:read and events:read (read). Not together with scopes.",
      }),
      scopes: withMeta(z.optional(Scopes()), { description: "The scopes of the key. Not together with access." }),
      expires_in_seconds: Expiry(),
      location: withMeta(z.optional(z.enum(LOCATIONS, { error: `Give one of ${LOCATIONS.join(", ")}.` })), {
        description:
          "Where to place a new environment, near its integrator: a location hint of Durable Objects. Only with the first key.",
      }),
    }),
    z.transform(({ access, scopes, ...fields }, payload: Payload) => {
      if (access && scopes) refuseValue(payload, "Give either access or scopes.", ["scopes"]);
      const grant: Grant = scopes ? { scopes } : { access: access ?? "write" };
      return { ...fields, grant };
    }),
  ),
);

/** POST /api/operators */
export const IssueOperatorBody = lazy(() =>
  z.strictObject({
    name: KeyName().check(
      z.refine((name) => visiblePart(name).toLowerCase() !== BOOTSTRAP_NAME, {
        error: `Give another name: ${BOOTSTRAP_NAME} is the name of OPERATOR_TOKEN.`,
      }),
    ),
    role: withMeta(z.enum(ROLES, { error: 'Give "viewer", "support" or "admin".' }), {
      description:
        "A viewer reads everything but tokens; support also updates groups, but does not rename them, and rotates tokens, without seeing them; an admin does everything.",
    }),
    expires_in_seconds: Expiry(),
  }),
);
