import * as z from "zod/mini";
import { WORKSPACE } from "../../../../common/environment.ts";
import { CHANGED_FIELDS_MAX, NUMBER_MAX } from "../../../../common/limits.ts";
import { normalizeEmail } from "../../../domain/credentials/operators.ts";
import { grantOf, SCOPES } from "../../../domain/credentials/rights.ts";
import type { EventDetails } from "../../../records.ts";
import { Label } from "../fields.ts";

/**
 * A field of a record in a line: the schema that reads it, and the function that writes it as JSON. Writing by the schema would take five
 * times as long, and viewers wait meanwhile.
 */
export type Codec<Value> = { schema: z.ZodMiniType<Value>; encode: (value: Value) => string };

/** A value as JSON has it, unless `encode` writes it otherwise. */
export const plain = <Value>(
  schema: z.ZodMiniType<Value>,
  encode: (value: Value) => string = JSON.stringify,
): Codec<Value> => ({ schema, encode });

export const nullable = <Value>({ schema, encode }: Codec<Value>): Codec<Value | null> => ({
  schema: z.nullable(schema),
  encode: (value) => (value === null ? "null" : encode(value)),
});

/** The number of a group, a key or an event, or a revision: counters go on above it. */
export const number = (): Codec<number> => plain(z.int().check(z.gte(1), z.lte(NUMBER_MAX)));

/** A time in milliseconds since 1970. */
export const time = (): Codec<number> => {
  const text = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));
  const parsed = z.pipe(z.pipe(text, z.transform(Date.parse)), z.int());
  return plain(parsed, (milliseconds) => `"${new Date(milliseconds).toISOString()}"`);
};

/** Exactly `length` bytes. */
export const bytes = (length: number): Codec<ArrayBuffer> => {
  const text = z.string().check(z.regex(/^[\w-]*$/), z.length(Math.ceil((length * 4) / 3)));
  const parsed = z.pipe(
    text,
    z.transform((value) => Uint8Array.fromBase64(value, { alphabet: "base64url" }).buffer),
  );
  return plain(parsed, (value) => `"${new Uint8Array(value).toBase64({ alphabet: "base64url", omitPadding: true })}"`);
};

/** The rights of an API key, as `toRights` writes them. */
export const apiKeyRights = (): Codec<string> =>
  plain(
    z.string().check(
      z.refine((rights) => grantOf(rights).access !== null || rights.split(" ").every(isScope), {
        error: "Give read, write, or scopes with blanks between them.",
      }),
    ),
  );

const isScope = (word: string): boolean => SCOPES.some((scope) => scope === word);

/** The address of an operator. A line of a release without addresses lacks it. */
export const email = (): Codec<string | null | undefined> => {
  const address = z.string().check(z.refine((text) => normalizeEmail(text) === text));
  return plain<string | null | undefined>(z._default(z.nullable(address), null));
};

/** The members that name an environment. */
export const place = () => ({
  workspace: z.string().check(z.regex(WORKSPACE)),
  environment: z.nullable(z.enum(["Customer", "Testing"])),
});

/** What an event says besides its group. The object stays as it is, because its fields have the order of the event. */
export const details = (): Codec<EventDetails> => {
  const id = number().schema;
  const label = Label();
  const named = z.strictObject({ id, name: label });
  const schema = z.strictObject({
    changed: z.exactOptional(z.array(label).check(z.maxLength(CHANGED_FIELDS_MAX))),
    previous_provided_id: z.exactOptional(label),
    session_id: z.exactOptional(label),
    viewer_id: z.exactOptional(label),
    reason: z.exactOptional(label),
    api_key: z.exactOptional(named),
    operator: z.exactOptional(named),
    successor_id: z.exactOptional(id),
    environment: z.exactOptional(z.strictObject(place())),
    unsigned: z.exactOptional(z.literal(true)),
  } satisfies Record<keyof EventDetails, z.ZodMiniType>);
  return plain(
    z.custom<EventDetails>().check(({ value, issues }) => {
      const { error } = schema.safeParse(value);
      for (const { path, message } of error?.issues ?? []) issues.push({ code: "custom", path, message, input: value });
    }),
  );
};
