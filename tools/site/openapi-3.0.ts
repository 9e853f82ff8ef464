/**
 * The OpenAPI document in the version 3.0 of the standard, for generators that read no 3.1: JSON Schema as 3.0.3 has it ("Schema Object").
 * It covers what this service's document uses.
 */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Schema = { [name: string]: Json };

/** Their values are objects by a name that anybody may choose, such as a field that is called `type`. */
const MAPS = new Set(["properties", "schemas", "responses", "headers", "content", "paths", "securitySchemes"]);
/** Their values are data. */
const DATA = new Set(["example", "default", "enum", "required", "security", "tags", "x-codeSamples"]);

/** Rewrites a document of version 3.1, whose text is not changed. */
export const asVersion30 = (document: object): object => ({
  ...(rewritten(document as Schema) as Schema),
  openapi: "3.0.3",
});

function rewritten(value: Json): Json {
  if (Array.isArray(value)) return value.map(rewritten);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]): [string, Json] => {
    if (DATA.has(name)) return [name, inner];
    return [name, MAPS.has(name) ? mapped(inner) : rewritten(inner)];
  });
  return schemaOf(Object.fromEntries(fields));
}

const mapped = (map: Json): Json =>
  Object.fromEntries(Object.entries(map as Schema).map(([name, value]) => [name, rewritten(value)]));

/** The fields of an object that only 3.1 knows, by their names in 3.0. */
function schemaOf({ const: only, examples, propertyNames: _, exclusiveMinimum, ...rest }: Schema): Schema {
  const schema: Schema = {
    ...rest,
    ...(only !== undefined && { enum: [only] }),
    ...(Array.isArray(examples) && examples[0] !== undefined && { example: examples[0] }),
    ...(exclusiveMinimum !== undefined && { minimum: exclusiveMinimum, exclusiveMinimum: true }),
  };
  return withReference(withNull(schema));
}

/** `null` is no type of 3.0, but a property of a schema that has a type. */
function withNull(schema: Schema): Schema {
  const { type, anyOf, ...rest } = schema;
  if (type === "null") return { ...rest, type: "string", nullable: true, enum: [null] };
  if (Array.isArray(type)) return { ...rest, ...either(type.map((each) => ({ type: each }))) };
  return Array.isArray(anyOf) ? { ...either(anyOf as Schema[]), ...rest } : schema;
}

/** A value that is one of these, of which some may be `null`. */
function either(all: Schema[]): Schema {
  const choices = all.filter(({ type, enum: only }) => type !== "null" && !(Array.isArray(only) && only[0] === null));
  const allowed = choices.length === all.length ? choices : choices.map(nullable);
  const [only, ...others] = allowed;
  return only && others.length === 0 ? only : { anyOf: allowed };
}

function nullable(schema: Schema): Schema {
  if ("$ref" in schema) return { type: "object", nullable: true, allOf: [schema] };
  return { ...schema, nullable: true, ...(Array.isArray(schema.enum) && { enum: [...schema.enum, null] }) };
}

/** What stands beside a reference counts only in 3.1. */
function withReference({ $ref, ...beside }: Schema): Schema {
  if ($ref === undefined) return beside;
  return Object.keys(beside).length === 0 ? { $ref } : { allOf: [{ $ref }], ...beside };
}
