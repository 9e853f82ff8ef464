import * as z from "zod";
import { describeLength } from "../resources/fields.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

const COMPONENTS = "#/components/schemas/";

/** A reference to the schema of this name among the document's components. */
export const schemaRef = (name: string) => ({ $ref: COMPONENTS + name });

/** The JSON Schema of what a client sends (`input`) or gets (`output`). A schema with an `id` in it becomes a reference. */
export const jsonSchema = (schema: z.core.$ZodType, io: "input" | "output"): JsonSchema => generate(schema, io).own;

/** The components for a schema: the schema itself under `name`, and those with an `id` in it under theirs. */
export function components(name: string, schema: z.core.$ZodType, io: "input" | "output"): Record<string, JsonSchema> {
  const { own, named } = generate(schema, io);
  return { [name]: own, ...named };
}

function generate(schema: z.core.$ZodType, io: "input" | "output") {
  const generated = JSON.stringify(z.toJSONSchema(schema, { io, override: describeDefault }));
  // OpenAPI 3.1 implies the dialect that $schema names.
  const text = generated.replaceAll('"#/$defs/', `"${COMPONENTS}`);
  const { $schema: _, $defs: named, ...own } = JSON.parse(text, (_key, value) => withUnit(value));
  return { own, named };
}

/** Adds the unit of a text's length, because JSON Schema counts code points, and the service UTF-16 code units. */
function withUnit(schema: JsonSchema): JsonSchema {
  if (schema?.minLength !== 1 || schema.maxLength === undefined) return schema;
  const sentences = [schema.description, `It has ${describeLength(schema.maxLength)}.`];
  return { ...schema, description: sentences.filter((sentence) => sentence !== undefined).join(" ") };
}

/** Replaces the keyword `default` by a sentence: generators of clients treat a field with the keyword as always present. */
function describeDefault({ jsonSchema: schema }: { jsonSchema: JsonSchema }): void {
  if (schema.default === undefined) return;
  schema.description = `${schema.description} The default is ${schema.default}.`;
  delete schema.default;
}
