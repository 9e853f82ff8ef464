import * as z from "zod/mini";
import { directoryName, type Environment, parseDirectoryName, WORKSPACE } from "../../../../common/environment.ts";
import {
  CHANGED_FIELDS_MAX,
  ENDED_NAME_UNITS_MAX,
  NONCE_BYTES,
  NUMBER_MAX,
  PROPERTIES_BYTES_MAX,
  SHA256_BYTES,
} from "../../../../common/limits.ts";
import type { BackupItem, RecordKind, Records } from "../../../domain/backup/backup.ts";
import { grantOf, ROLES, SCOPES } from "../../../domain/credentials/rights.ts";
import { EVENT_TYPES, type EventDetails, LOCATIONS } from "../../../records.ts";
import { JsonObject, KeyName, Label, lazy } from "../fields.ts";
import { OperatorName } from "../operators/schemas.ts";
import { Mapping } from "../user-groups/schemas.ts";

/**
 * The lines of a backup. `lineOf` writes them, and one schema for each kind reads them, within the bounds of the calls that make such
 * rows: a larger row could be neither listed nor backed up again.
 */

/** The version of the format. A service refuses the files of a later one. The pages of format 1 were not signed. */
export const FORMAT = 2;

const timeCodec = () =>
  z.codec(z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)), z.int(), {
    decode: (text) => Date.parse(text),
    encode: (milliseconds) => new Date(milliseconds).toISOString(),
  });

/** A path may contain a key of a mapping, of any length. */
const PATH_UNITS_SHOWN = 100;
/** A message may name fields that the line should not have. */
const MESSAGE_UNITS_SHOWN = 500;

/** Exactly `length` bytes. */
const bytesOf = (length: number) =>
  z.codec(z.string().check(z.regex(/^[\w-]*$/), z.length(Math.ceil((length * 4) / 3))), z.instanceof(ArrayBuffer), {
    decode: (text) => Uint8Array.fromBase64(text, { alphabet: "base64url" }).buffer,
    encode: (bytes) => new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true }),
  });

/** The rights of an API key, as `toRights` writes them. */
const apiKeyRights = () =>
  z.string().check(
    z.refine((rights) => grantOf(rights).access !== null || rights.split(" ").every(isScope), {
      error: "Give read, write, or scopes with blanks between them.",
    }),
  );

const isScope = (word: string): boolean => SCOPES.some((scope) => scope === word);

const tag = () => z.nullable(z.enum(["Customer", "Testing"]));
const workspace = () => z.string().check(z.regex(WORKSPACE));

/** The fields of a record that names an environment: `workspace` and `environment` replace the name of its directory. */
const placed = <Fields extends z.core.$ZodShape>(fields: Fields) => ({
  workspace: workspace(),
  environment: tag(),
  ...fields,
});

/** What an event says besides its group. The object stays as it is, because its fields have the order of the event. */
const detailsSchema = () => {
  const number = id();
  const label = Label();
  const named = z.strictObject({ id: number, name: label });
  const schema = z.strictObject({
    changed: z.exactOptional(z.array(label).check(z.maxLength(CHANGED_FIELDS_MAX))),
    previous_provided_id: z.exactOptional(label),
    session_id: z.exactOptional(label),
    viewer_id: z.exactOptional(label),
    reason: z.exactOptional(label),
    api_key: z.exactOptional(named),
    operator: z.exactOptional(named),
    successor_id: z.exactOptional(number),
    environment: z.exactOptional(z.strictObject(placed({}))),
    unsigned: z.exactOptional(z.literal(true)),
  } satisfies Record<keyof EventDetails, z.ZodMiniType>);
  return z.custom<EventDetails>().check(({ value, issues }) => {
    const { error } = schema.safeParse(value);
    for (const { path, message } of error?.issues ?? []) issues.push({ code: "custom", path, message, input: value });
  });
};

/** The number of a group, a key or an event, or a revision: counters go on above it. */
const id = () => z.int().check(z.gte(1), z.lte(NUMBER_MAX));

const SCHEMAS = lazy(() => {
  const number = id();
  const label = Label();
  const time = timeCodec();
  const nonce = bytesOf(NONCE_BYTES);
  const json = JsonObject(PROPERTIES_BYTES_MAX, "properties");
  const key = {
    id: number,
    name: KeyName(),
    nonce_hash: bytesOf(SHA256_BYTES),
    created_at: time,
    expires_at: z.nullable(time),
    last_used_at: z.nullable(time),
    revoked_at: z.nullable(time),
  };
  return {
    user_group: z.strictObject({
      kind: z.literal("user_group"),
      team_id: number,
      provided_id: label,
      name: label,
      mapping: z.nullable(Mapping()),
      properties: z.nullable(json),
      nonce,
      generation: nonce,
      grace_nonce: z.nullable(nonce),
      grace_generation: z.nullable(nonce),
      grace_ends_at: z.nullable(time),
      suspended_at: z.nullable(time),
      suspended_reason: z.nullable(label),
      last_viewed_on: z.nullable(z.string().check(z.regex(/^\d{4}-\d\d-\d\d$/))),
      revision: number,
      created_at: time,
      updated_at: time,
      deleted_at: z.nullable(time),
    }),
    api_key: z.strictObject({ kind: z.literal("api_key"), ...key, rights: apiKeyRights() }),
    operator: z.strictObject({ kind: z.literal("operator"), ...key, name: OperatorName(), rights: z.enum(ROLES) }),
    event: z.strictObject({
      kind: z.literal("event"),
      id: number,
      at: time,
      type: z.enum(EVENT_TYPES),
      actor: z.strictObject({
        kind: z.enum(["api_key", "operator", "system"]),
        id: z.nullable(number),
        name: label,
      }),
      request_id: label,
      team_id: z.nullable(number),
      provided_id: z.nullable(label),
      details: detailsSchema(),
    }),
    ended_session: z.strictObject({
      kind: z.literal("ended_session"),
      id: number,
      name: z.string().check(z.minLength(1), z.maxLength(ENDED_NAME_UNITS_MAX)),
      ended_at: time,
    }),
    environment: z.strictObject({
      kind: z.literal("environment"),
      ...placed({ id: number, location: z.nullable(z.enum(LOCATIONS)), created_at: time }),
    }),
    tombstone: z.strictObject({
      kind: z.literal("tombstone"),
      ...placed({ id: number, team_id: number, created_at: time }),
    }),
  };
});

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;
/** A line of a record: its fields in snake_case, with `workspace` and `environment` in place of the name of a directory. */
type Line<Kind extends RecordKind> = { kind: Kind } & {
  [Field in keyof Records[Kind] as Kind extends "environment" | "tombstone"
    ? Field extends "name" | "environment"
      ? never
      : SnakeCase<Field>
    : SnakeCase<Field>]: Records[Kind][Field];
} & (Kind extends "environment" | "tombstone" ? { workspace: string; environment: Environment["tag"] } : unknown);

/** The schema of a kind's lines. A kind without a schema, or a record with a field that its schema lacks, does not compile. */
const schemaOf = <Kind extends RecordKind>(kind: Kind) =>
  (SCHEMAS() satisfies { [K in RecordKind]: z.ZodMiniType<Line<K>> })[kind];

const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const toCamelCase = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const renamed = (fields: object, rename: (name: string) => string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [rename(name), value]));

/** The field of a record that contains the name of a directory. */
const DIRECTORY_FIELDS: Partial<Record<RecordKind, string>> = { environment: "name", tombstone: "environment" };

/** Caches the names of fields in lines: there are few fields, and many records. */
const NAMES = new Map<string, string>();
function nameOf(field: string): string {
  const known = NAMES.get(field);
  if (known !== undefined) return known;
  const name = toSnakeCase(field);
  NAMES.set(field, name);
  return name;
}

/** Encodes a record as a line of JSON, by hand: encoding by the schema takes five times as long, and viewers wait meanwhile. */
export function lineOf({ kind, record }: Extract<BackupItem, { kind: RecordKind }>): string {
  const named = DIRECTORY_FIELDS[kind];
  let line = `{"kind":"${kind}"`;
  for (const [field, value] of Object.entries(record)) {
    if (field === named) {
      const { workspace: slug, tag: environment } = parseDirectoryName(value);
      line += `,"workspace":"${slug}","environment":${JSON.stringify(environment)}`;
    } else line += `,"${nameOf(field)}":${jsonOf(field, value)}`;
  }
  return `${line}}`;
}

/** Encodes the value of a field. `mapping` and `properties` are copied, because they are stored as JSON text. */
function jsonOf(field: string, value: unknown): string {
  if (value instanceof ArrayBuffer)
    return `"${new Uint8Array(value).toBase64({ alphabet: "base64url", omitPadding: true })}"`;
  if (typeof value === "number" && (field === "at" || field.endsWith("At")))
    return `"${new Date(value).toISOString()}"`;
  if (typeof value === "string" && (field === "mapping" || field === "properties")) return value;
  return JSON.stringify(value);
}

/** Parses the record of a line. Throws for an unknown kind and for an invalid field, with a message for the operator. */
export function itemOf(line: Record<string, unknown>): BackupItem {
  const kind = Object.keys(SCHEMAS()).find((each) => each === line.kind) as RecordKind | undefined;
  if (!kind) throw new Error(`There is no line of the kind ${JSON.stringify(line.kind)?.slice(0, 40)}.`);
  const parsed = z.safeDecode(schemaOf(kind) as z.ZodMiniType, line);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
    const what =
      path.length === 0 ? `This line of the kind ${kind}` : `The field ${path.join(".").slice(0, PATH_UNITS_SHOWN)}`;
    throw new Error(`${what} is not valid: ${message.slice(0, MESSAGE_UNITS_SHOWN)}`);
  }
  const { kind: _, ...fields } = parsed.data as Record<string, unknown>;
  const named = DIRECTORY_FIELDS[kind];
  if (named === undefined) return { kind, record: renamed(fields, toCamelCase) } as BackupItem;
  const { workspace: slug, environment, ...rest } = fields as { workspace: string; environment: Environment["tag"] };
  const name = directoryName({ workspace: slug, tag: environment });
  return { kind, record: { ...renamed(rest, toCamelCase), [named]: name } } as BackupItem;
}
