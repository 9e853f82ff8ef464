import * as z from "zod/mini";
import type { BackupItem, RecordKind, Records } from "../../../domain/backup/backup.ts";
import { directoryName, type Environment, parseDirectoryName, WORKSPACE } from "../../../domain/environment.ts";
import { isObject } from "../../../domain/json.ts";
import { EVENT_TYPES, LOCATIONS } from "../../../records.ts";
import { lazy } from "../fields.ts";

/** The lines of a backup. `lineOf` writes them, and one schema for each kind reads them. */

/** The version of the format. A service refuses the files of a later one. */
export const FORMAT = 1;

const timeCodec = () =>
  z.codec(z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)), z.int(), {
    decode: (text) => Date.parse(text),
    encode: (milliseconds) => new Date(milliseconds).toISOString(),
  });

const bytesCodec = () =>
  z.codec(z.string().check(z.regex(/^[\w-]*$/)), z.instanceof(ArrayBuffer), {
    decode: (text) => Uint8Array.fromBase64(text, { alphabet: "base64url" }).buffer,
    encode: (bytes) => new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true }),
  });

/** An object, which is stored as text. */
const jsonCodec = () =>
  z.codec(z.custom<Record<string, unknown>>(isObject), z.string(), {
    decode: (value) => JSON.stringify(value),
    encode: (text) => JSON.parse(text),
  });

const tag = () => z.nullable(z.enum(["Customer", "Testing"]));
const workspace = () => z.string().check(z.regex(WORKSPACE));

/** The fields of a record that names an environment: `workspace` and `environment` replace the name of its directory. */
const placed = <Fields extends z.core.$ZodShape>(fields: Fields) => ({
  workspace: workspace(),
  environment: tag(),
  ...fields,
});

const SCHEMAS = lazy(() => {
  const id = z.int().check(z.gte(1));
  const text = z.string();
  const time = timeCodec();
  const bytes = bytesCodec();
  const json = jsonCodec();
  const key = {
    id,
    name: text,
    rights: text,
    nonce_hash: bytes,
    created_at: time,
    expires_at: z.nullable(time),
    last_used_at: z.nullable(time),
    revoked_at: z.nullable(time),
  };
  return {
    user_group: z.strictObject({
      kind: z.literal("user_group"),
      team_id: id,
      provided_id: text,
      name: text,
      mapping: z.nullable(json),
      properties: z.nullable(json),
      nonce: bytes,
      generation: bytes,
      grace_nonce: z.nullable(bytes),
      grace_generation: z.nullable(bytes),
      grace_ends_at: z.nullable(time),
      suspended_at: z.nullable(time),
      suspended_reason: z.nullable(text),
      last_viewed_on: z.nullable(text.check(z.regex(/^\d{4}-\d\d-\d\d$/))),
      revision: id,
      created_at: time,
      updated_at: time,
      deleted_at: z.nullable(time),
    }),
    api_key: z.strictObject({ kind: z.literal("api_key"), ...key }),
    operator: z.strictObject({ kind: z.literal("operator"), ...key }),
    event: z.strictObject({
      kind: z.literal("event"),
      id,
      at: time,
      type: z.enum(EVENT_TYPES),
      actor: z.strictObject({ kind: z.enum(["api_key", "operator", "system"]), id: z.nullable(id), name: text }),
      request_id: text,
      team_id: z.nullable(id),
      provided_id: z.nullable(text),
      details: z.custom<Records["event"]["details"]>(isObject),
    }),
    ended_session: z.strictObject({ kind: z.literal("ended_session"), id, name: text, ended_at: time }),
    environment: z.strictObject({
      kind: z.literal("environment"),
      ...placed({ id, location: z.nullable(z.enum(LOCATIONS)), created_at: time }),
    }),
    tombstone: z.strictObject({ kind: z.literal("tombstone"), ...placed({ id, team_id: id, created_at: time }) }),
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
    const what = path.length === 0 ? `This line of the kind ${kind}` : `The field ${path.join(".")}`;
    throw new Error(`${what} is not valid: ${message}`);
  }
  const { kind: _, ...fields } = parsed.data as Record<string, unknown>;
  const named = DIRECTORY_FIELDS[kind];
  if (named === undefined) return { kind, record: renamed(fields, toCamelCase) } as BackupItem;
  const { workspace: slug, environment, ...rest } = fields as { workspace: string; environment: Environment["tag"] };
  const name = directoryName({ workspace: slug, tag: environment });
  return { kind, record: { ...renamed(rest, toCamelCase), [named]: name } } as BackupItem;
}
