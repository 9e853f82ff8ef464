import * as z from "zod/mini";
import { findEnvironment, WORKSPACE } from "../../../common/environment.ts";
import {
  GRACE_SECONDS_MAX,
  KEY_SECONDS_MAX,
  LIST_ITEMS_DEFAULT,
  LIST_ITEMS_MAX,
  PROPERTIES_DEPTH_MAX,
  TEXT_UNITS_MAX,
} from "../../../common/limits.ts";
import { normalizeOrigin } from "../../../common/origin.ts";
import { isObject } from "../../domain/json.ts";
import { sizeRefusal } from "../../domain/user-groups/user-group.ts";
import type { StoredKey } from "../../records.ts";
import { parseCursor } from "./cursor.ts";

/**
 * What the schemas of bodies and queries share. Unknown fields are refused, and nothing is trimmed or coerced. The registered
 * metadata gives the OpenAPI document what zod does not know: bounds that are checked by hand. What the document says of one field is
 * in its `openapi.ts`. The schemas are those of zod/mini, which starts in half the time, and each is built when it is first needed.
 */

/** Builds a value at its first use, and caches it. */
export const lazy = <Schema>(make: () => Schema): (() => Schema) => {
  let made: Schema | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

/** Whether a value is a string of 1 to `unitsMax` UTF-16 code units. */
export const isText = (value: unknown, unitsMax: number = TEXT_UNITS_MAX) =>
  typeof value === "string" && value.length >= 1 && value.length <= unitsMax;

/** The lengths that `isText` accepts, for messages and the OpenAPI document. */
export const describeLength = (unitsMax: number) => `1 to ${unitsMax} UTF-16 code units (most emoji count as 2)`;

/** What `isText` accepts, for messages. */
export const describeText = (unitsMax: number = TEXT_UNITS_MAX) => `a string of ${describeLength(unitsMax)}`;

type Meta = Parameters<typeof z.globalRegistry.add>[1];
export type Payload = z.core.ParsePayload;

/** Registers what the OpenAPI document says about a schema. */
export const withMeta = <Schema extends z.ZodMiniType>(schema: Schema, meta: Meta): Schema => {
  z.globalRegistry.add(schema, meta);
  return schema;
};

/**
 * Adds an issue to a value that a transform or a check refuses. `path` leads from the value to the field; without it, it is the value
 * itself. It returns what a transform returns of a value that it refuses.
 */
export const refuseValue = (payload: Payload, message: string, path: string[] = []) => {
  payload.issues.push({ code: "custom", message, path, input: payload.value });
  return z.NEVER;
};

/** A schema whose output is what `read` makes of that of another. To refuse a value, `read` calls `refuseValue`. */
export const transformed = <Given extends z.ZodMiniType, Value>(
  schema: Given,
  read: (given: z.output<Given>, payload: Payload) => Value,
) => z.pipe(schema, z.transform(read));

/** No control characters, in escapes that regular expressions of all languages read. */
const ONE_LINE = "^[^\\x00-\\x1f\\x7f-\\x9f]*$";

/** A text of one line: 1 to `unitsMax` UTF-16 code units, without control characters. */
export const label = (unitsMax: number = TEXT_UNITS_MAX) =>
  withMeta(
    z.string(`Give ${describeText(unitsMax)}.`).check(
      z.refine((value) => isText(value, unitsMax), `Give ${describeText(unitsMax)}.`),
      z.refine((value) => !/\p{Cc}/u.test(value), "Leave out control characters, such as line breaks and tabs."),
    ),
    { minLength: 1, maxLength: unitsMax, pattern: ONE_LINE },
  );

/** An id or a name of one line. */
export const Label = lazy(() => label());

/** The id of a user group in requests. */
export const ProvidedId = lazy(() => label());

/** Whether objects and lists are nested deeper than `levels`. It looks no deeper than that. */
const nestsDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1)));

/**
 * Any JSON object of at most `bytesMax` bytes and `PROPERTIES_DEPTH_MAX` levels, as JSON text. `what` names the field in messages, and
 * `isNullable` only words them: the schema itself takes no null.
 */
export const JsonObject = (bytesMax: number, what: string, isNullable = false) =>
  withMeta(
    transformed(z.unknown(), (value, payload) => {
      if (!isObject(value)) return refuseValue(payload, `Give an object${isNullable ? ", or null" : ""}.`);
      if (nestsDeeper(value, PROPERTIES_DEPTH_MAX))
        return refuseValue(payload, `Nest at most ${PROPERTIES_DEPTH_MAX} levels.`);
      const json = JSON.stringify(value);
      const message = sizeRefusal(what, json, bytesMax);
      if (message) refuseValue(payload, message);
      return json;
    }),
    { type: "object", additionalProperties: true },
  );

/** Why a call is made, for its event. */
export const Reason = lazy(() => z.optional(label()));

/** A whole number of seconds between these bounds, both included. */
export const seconds = (min: number, max: number) =>
  z
    .int("Give a whole number of seconds.")
    .check(z.gte(min, `Give ${min} to ${max} seconds.`), z.lte(max, `Give ${min} to ${max} seconds.`));

/** `grace_seconds` */
export const Grace = () => z._default(seconds(0, GRACE_SECONDS_MAX), 0);

const ListCursor = lazy(() =>
  transformed(z.string(), (value, payload) => {
    const cursor = parseCursor(value);
    if (cursor) return cursor;
    return refuseValue(payload, "Give the next_cursor of the page before this one, as it came.");
  }),
);

const limitMessage = `Give a whole number from 1 to ${LIST_ITEMS_MAX}.`;

const Limit = lazy(() =>
  transformed(z.string().check(z.regex(/^[1-9]\d{0,3}$/, limitMessage)), Number).check(
    z.refine((limit) => limit <= LIST_ITEMS_MAX, limitMessage),
  ),
);

/** `limit`, the most items on one page. `initial` is the default. */
export const limitField = (initial: number) => z._default(Limit(), initial);

/** The fields by which the query of a list asks for a page. */
export const pageFields = () => ({ cursor: z.optional(ListCursor()), limit: limitField(LIST_ITEMS_DEFAULT) });

/** The query of a list in the order of numbers, without filters. */
export const numberedQuery = () =>
  transformed(z.strictObject(pageFields()), ({ cursor, limit }, payload) => {
    if (typeof cursor?.start !== "string" && cursor?.search === undefined) return { start: cursor?.start ?? 0, limit };
    return refuseValue(payload, "Give the next_cursor of a page of this list, as it came.", ["cursor"]);
  });

/** The slug of a workspace, as `WORKSPACE` has it. */
export const Workspace = lazy(() =>
  z
    .string("Give the workspace's slug.")
    .check(z.regex(WORKSPACE, "Give a slug: 1 to 40 lower-case letters, digits and hyphens, no hyphen first.")),
);

const AUDIENCE_MESSAGE =
  "Give the environment as <workspace>/<environment>, such as acme/Customer, acme/Testing or acme/untagged.";

/** The environment that a caller expects a credential to be of. */
export const Audience = lazy(() =>
  z.string(AUDIENCE_MESSAGE).check(z.refine((name) => findEnvironment(name) !== undefined, AUDIENCE_MESSAGE)),
);

/** The part of a name that a list shows: without outer blanks, the blank of Braille, and what fonts ignore (Unicode, UAX 44). */
export const visiblePart = (name: string): string =>
  name.replaceAll(/[\u2800\p{Default_Ignorable_Code_Point}]/gu, "").trim();

/** The origin of pages, as browsers write it. */
export const Origin = lazy(() =>
  transformed(z.string("Give an origin, a string such as https://app.example.com."), (text, payload) => {
    const origin = normalizeOrigin(text);
    return origin.ok ? origin.value : refuseValue(payload, origin.failure);
  }),
);

/** The name of a key. Lists show it beside other names, so it must be visible and must not imitate another. */
export const KeyName = lazy(() =>
  label().check(
    // An empty name has its issue already.
    z.refine((name) => name === "" || visiblePart(name) !== "", "Give at least one visible character."),
    z.refine(
      (name) => !/[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u.test(name),
      "Leave out characters that are not visible: zero-width characters, marks of the text's direction, line separators and characters of private use.",
    ),
  ),
);

/** `expires_in_seconds` of a new key. */
export const Expiry = lazy(() => z.optional(seconds(1, KEY_SECONDS_MAX)));

/** POST /api/keys/{id}/roll and /api/operators/{id}/roll */
export const RollKeyBody = lazy(() => z.strictObject({ grace_seconds: Grace(), reason: Reason() }));

/** The body of calls that take only a reason. */
export const ReasonBody = lazy(() => z.strictObject({ reason: Reason() }));

/** A time in milliseconds since 1970 as ISO 8601 in UTC; `null` stays null. */
export const time = (milliseconds: number | null) =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();

/** The times of an API key or of an operator, as answers have them. */
export const timesOf = (key: StoredKey) => ({
  created_at: time(key.createdAt),
  expires_at: time(key.expiresAt),
  last_used_at: time(key.lastUsedAt),
  revoked_at: time(key.revokedAt),
});
