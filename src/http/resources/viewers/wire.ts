import * as z from "zod/mini";
import {
  QUERY_VALUES_BYTES_MAX,
  QUERY_VALUES_ITEMS_MAX,
  QUERY_VALUES_MAX,
  SQL_TEMPLATE_BYTES_MAX,
} from "../../../../common/limits.ts";
import { utf8 } from "../../../domain/bytes.ts";
import { isObject } from "../../../domain/json.ts";
import { PLACEHOLDER_STYLES } from "../../../domain/sql/tokens.ts";
import { type QueryValue, VALUE_NAME } from "../../../domain/sql/variables.ts";
import { Audience, lazy, type Payload, refuseValue, transformed } from "../fields.ts";

/** GET /api/viewer */
export const ViewerQuery = lazy(() => z.strictObject({ audience: z.optional(Audience()) }));

/** GET /api/viewer/check */
export const CheckQuery = lazy(() => z.strictObject({ audience: Audience() }));

/** POST /api/viewer/query */
export const QueryBody = lazy(() =>
  z.strictObject({
    sql: z
      .string("Give the SQL template, a string.")
      .check(
        z.refine(
          (sql) => utf8.encode(sql).length <= SQL_TEMPLATE_BYTES_MAX,
          `Give at most ${SQL_TEMPLATE_BYTES_MAX} bytes. Shorten the template, for example with a view in the database.`,
        ),
      ),
    audience: z.optional(Audience()),
    values: z.optional(transformed(z.unknown(), readValues)),
    placeholders: z._default(z.enum(PLACEHOLDER_STYLES, 'Give "?", "$1", "%s", "@p1" or "{p1:String}".'), "?"),
  }),
);

export const SCALAR_TYPES = ["string", "number", "boolean"];

const NAME_RULE = "Name each value with a small letter, and then at most 39 small letters, digits and underscores.";
const VALUE_RULE = `Give a string, a number, a boolean, null, or a list of at most ${QUERY_VALUES_ITEMS_MAX} strings, numbers or booleans of one type.`;

/** Reads the values of a page for a template: by their names without `value.`. */
function readValues(given: unknown, payload: Payload): Record<string, QueryValue> {
  if (!isObject(given)) return refuseValue(payload, 'Give an object, such as {"from": "2026-10-01"}.');
  const entries = Object.entries(given);
  if (entries.length > QUERY_VALUES_MAX) return refuseValue(payload, `Give at most ${QUERY_VALUES_MAX} values.`);
  const bytes = utf8.encode(JSON.stringify(given)).length;
  if (bytes > QUERY_VALUES_BYTES_MAX)
    refuseValue(payload, `The values are ${bytes} bytes of JSON; ${QUERY_VALUES_BYTES_MAX} is the most.`);
  const values: Record<string, QueryValue> = {};
  for (const [name, value] of entries) {
    if (!VALUE_NAME.test(name)) refuseValue(payload, NAME_RULE, [name]);
    else if (isQueryValue(value)) values[name] = value;
    else refuseValue(payload, VALUE_RULE, [name]);
  }
  return values;
}

const isQueryValue = (value: unknown): value is QueryValue =>
  value === null || isScalar(value) || (Array.isArray(value) && isListOfOneType(value));

/** JSON has no other numbers than finite ones, but 1e999 is parsed as infinity. */
const isScalar = (value: unknown): boolean =>
  typeof value === "number" ? Number.isFinite(value) : SCALAR_TYPES.includes(typeof value);

const isListOfOneType = (items: unknown[]): boolean =>
  items.length <= QUERY_VALUES_ITEMS_MAX && items.every((item) => isScalar(item) && typeof item === typeof items[0]);
