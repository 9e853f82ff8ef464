import * as z from "zod/mini";
import { CONTENT, CONTENT_FIELDS, type ContentField, type StoredValue } from "../../../../common/content.ts";
import { directoryName, type Environment, parseDirectoryName, WORKSPACE } from "../../../../common/environment.ts";
import {
  CHANGED_FIELDS_MAX,
  ENDED_NAME_UNITS_MAX,
  NONCE_BYTES,
  NUMBER_MAX,
  SHA256_BYTES,
} from "../../../../common/limits.ts";
import type { BackupItem, RecordKind, Records } from "../../../domain/backup/backup.ts";
import { fromBase64url, toBase64url } from "../../../domain/bytes.ts";
import { normalizeEmail } from "../../../domain/credentials/operators.ts";
import { grantOf, ROLES, SCOPES } from "../../../domain/credentials/rights.ts";
import { DAY_FORMAT } from "../../../domain/days.ts";
import { jsonOfStored } from "../../../domain/user-groups/published-content.ts";
import { EVENT_TYPES, type EventDetails, LOCATIONS } from "../../../records.ts";
import { columnOf } from "../../../storage/table.ts";
import { KeyName, Label, lazy, transformed } from "../fields.ts";
import { OperatorName } from "../operators/wire.ts";
import { valueSchema } from "../user-groups/wire.ts";

/**
 * The lines of a backup: a table of the fields of each kind of record, with the codec of each. It writes the lines and reads them, within
 * the bounds of the calls that make such rows: a larger row could be neither listed nor backed up again.
 */

/** The version of the format. A service refuses the files of a later one. The pages of format 1 were not signed. */
export const FORMAT = 2;

/** A path may contain a key of a mapping, of any length. */
const PATH_UNITS_SHOWN = 100;
/** A message may name fields that the line should not have. */
const MESSAGE_UNITS_SHOWN = 500;

/**
 * A field of a record in a line: the schema that reads it, and the function that writes it as JSON. Writing by the schema would take five
 * times as long, and viewers wait meanwhile.
 */
type Codec<Value> = { schema: z.ZodMiniType<Value>; encode: (value: Value) => string };

/** A value as JSON has it, unless `encode` writes it otherwise. */
const plain = <Value>(
  schema: z.ZodMiniType<Value>,
  encode: (value: Value) => string = JSON.stringify,
): Codec<Value> => ({ schema, encode });

const nullable = <Value>({ schema, encode }: Codec<Value>): Codec<Value | null> => ({
  schema: z.nullable(schema),
  encode: (value) => (value === null ? "null" : encode(value)),
});

/** The number of a group, a key or an event, or a revision: counters go on above it. */
const number = (): Codec<number> => plain(z.int().check(z.gte(1), z.lte(NUMBER_MAX)));

/** A time in milliseconds since 1970. */
const time = (): Codec<number> => {
  const text = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));
  const parsed = z.pipe(transformed(text, Date.parse), z.int());
  return plain(parsed, (milliseconds) => `"${new Date(milliseconds).toISOString()}"`);
};

/** Exactly `length` bytes. */
const bytes = (length: number): Codec<ArrayBuffer> => {
  const text = z.string().check(z.regex(RegExp(`^[\\w-]{${Math.ceil((length * 4) / 3)}}$`)));
  const parsed = transformed(text, (value) => fromBase64url(value).buffer);
  return plain(parsed, (value) => `"${toBase64url(new Uint8Array(value))}"`);
};

/** The rights of an API key, as `toRights` writes them. */
const apiKeyRights = (): Codec<string> =>
  plain(
    z
      .string()
      .check(
        z.refine(
          (rights) => grantOf(rights).access !== null || rights.split(" ").every(isScope),
          "Give read, write, or scopes with blanks between them.",
        ),
      ),
  );

const isScope = (word: string): boolean => SCOPES.some((scope) => scope === word);

/** The address of an operator. A line of a release without addresses lacks it. */
const email = (): Codec<string | null | undefined> => {
  const address = z.string().check(z.refine((text) => normalizeEmail(text) === text));
  return plain<string | null | undefined>(z._default(z.nullable(address), null));
};

/** The members that name an environment. */
const place = () => ({
  workspace: z.string().check(z.regex(WORKSPACE)),
  environment: z.nullable(z.enum(["Customer", "Testing"])),
});

/** What an event says besides its group. The object stays as it is, because its fields have the order of the event. */
const details = (): Codec<EventDetails> => {
  const id = number().schema;
  const label = Label();
  const named = z.strictObject({ id, name: label });
  const schema = z.strictObject({
    changed: z.optional(z.array(label).check(z.maxLength(CHANGED_FIELDS_MAX))),
    previous_provided_id: z.optional(label),
    session_id: z.optional(label),
    viewer_id: z.optional(label),
    reason: z.optional(label),
    api_key: z.optional(named),
    operator: z.optional(named),
    successor_id: z.optional(id),
    environment: z.optional(z.strictObject(place())),
    unsigned: z.optional(z.literal(true)),
  } satisfies Record<keyof EventDetails, z.ZodMiniType>);
  return plain(
    z.custom<EventDetails>().check(({ value, issues }) => {
      const { error } = schema.safeParse(value);
      for (const { path, message } of error?.issues ?? []) issues.push({ code: "custom", path, message, input: value });
    }),
  );
};

/** The content of each group of release 1.0.0. A field that was added since may be missing in a line, and is `null` then. */
const IN_EVERY_LINE: readonly string[] = ["provided_id", "name", "mapping", "properties"];

function contentCodec(field: ContentField): Codec<string | null> {
  const { column, isNullable } = CONTENT[field];
  const schema = isNullable ? z.nullable(valueSchema(field)) : valueSchema(field);
  const isRequired = IN_EVERY_LINE.includes(column);
  return plain<string | null>(isRequired ? schema : z._default(schema, null), (value) => jsonOfStored(field, value));
}

/** The codec of each field. Of the name of a directory, a line has the workspace and the environment. */
type Fields<Kind extends RecordKind> = {
  [Field in keyof Records[Kind]]-?: Codec<Records[Kind][Field]> | "directory";
};

/** The fields of each kind in the order of its lines. A kind that is missing does not compile, nor one without a field of its record. */
const FIELDS = lazy((): { [Kind in RecordKind]: Fields<Kind> } => {
  const id = number();
  const at = time();
  const nonce = bytes(NONCE_BYTES);
  const label = plain(Label());
  const content = Object.fromEntries(CONTENT_FIELDS.map((field) => [field, contentCodec(field)])) as {
    [Field in ContentField]: Codec<StoredValue<Field>>;
  };
  const key = (name: Codec<string>, rights: Codec<string>): Fields<"api_key"> => ({
    id,
    name,
    rights,
    nonceHash: bytes(SHA256_BYTES),
    createdAt: at,
    expiresAt: nullable(at),
    lastUsedAt: nullable(at),
    revokedAt: nullable(at),
  });
  return {
    user_group: {
      teamId: id,
      ...content,
      suspendedAt: nullable(at),
      suspendedReason: nullable(label),
      lastViewedOn: nullable(plain(z.string().check(z.regex(DAY_FORMAT)))),
      revision: id,
      createdAt: at,
      updatedAt: at,
      deletedAt: nullable(at),
      nonce,
      generation: nonce,
      graceNonce: nullable(nonce),
      graceGeneration: nullable(nonce),
      graceEndsAt: nullable(at),
    },
    api_key: key(plain(KeyName()), apiKeyRights()),
    operator: { ...key(plain(OperatorName()), plain<string>(z.enum(ROLES))), email: email() },
    event: {
      id,
      at,
      type: plain(z.enum(EVENT_TYPES)),
      actor: plain(
        z.strictObject({ kind: z.enum(["api_key", "operator", "system"]), id: z.nullable(id.schema), name: Label() }),
      ),
      requestId: label,
      teamId: nullable(id),
      providedId: nullable(label),
      details: details(),
    },
    ended_session: {
      id,
      name: plain(z.string().check(z.minLength(1), z.maxLength(ENDED_NAME_UNITS_MAX))),
      endedAt: at,
    },
    environment: { id, name: "directory", location: nullable(plain(z.enum(LOCATIONS))), createdAt: at },
    tombstone: { id, environment: "directory", teamId: id, createdAt: at },
  };
});

/** A field with the name of its member. A field without a codec is the name of a directory. */
type Member = { field: string; name: string; codec?: Codec<unknown> };
type LineFormat = { members: Member[]; schema: z.ZodMiniType<Record<string, unknown>> };

const FORMATS = lazy(
  () =>
    new Map<string, LineFormat>(
      Object.entries(FIELDS()).map(([kind, fields]) => {
        const members: Member[] = Object.entries(fields).map(([field, codec]) => ({
          field,
          name: columnOf(field),
          ...(typeof codec !== "string" && { codec }),
        }));
        const shapes = members.map(({ name, codec }) => (codec ? { [name]: codec.schema } : place()));
        return [kind, { members, schema: z.strictObject(Object.assign({ kind: z.literal(kind) }, ...shapes)) }];
      }),
    ),
);

/** Encodes a record as a line of JSON. */
export function lineOf({ kind, record }: Extract<BackupItem, { kind: RecordKind }>): string {
  const values = record as Record<string, unknown>;
  let line = `{"kind":"${kind}"`;
  for (const { field, name, codec } of FORMATS().get(kind)?.members ?? [])
    line += codec ? `,"${name}":${codec.encode(values[field])}` : `,${placeOf(String(values[field]))}`;
  return `${line}}`;
}

function placeOf(directory: string): string {
  const { workspace, tag } = parseDirectoryName(directory);
  return `"workspace":"${workspace}","environment":${JSON.stringify(tag)}`;
}

/** Parses the record of a line. Throws for an unknown kind and for an invalid field, with a message for the operator. */
export function itemOf(line: Record<string, unknown>): BackupItem {
  const { kind } = line;
  const format = typeof kind === "string" ? FORMATS().get(kind) : undefined;
  if (!format) throw new Error(`There is no line of the kind ${JSON.stringify(kind)?.slice(0, 40)}.`);
  const parsed = format.schema.safeParse(line);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
    const what =
      path.length === 0 ? `This line of the kind ${kind}` : `The field ${path.join(".").slice(0, PATH_UNITS_SHOWN)}`;
    throw new Error(`${what} is not valid: ${message.slice(0, MESSAGE_UNITS_SHOWN)}`);
  }
  const values = parsed.data;
  const directory = () =>
    directoryName({ workspace: String(values.workspace), tag: values.environment as Environment["tag"] });
  const fields = format.members.map(({ field, name, codec }) => [field, codec ? values[name] : directory()]);
  return { kind, record: Object.fromEntries(fields) } as BackupItem;
}
