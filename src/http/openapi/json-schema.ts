import * as z from "zod";

type JsonSchema = z.core.JSONSchema.BaseSchema;

const COMPONENTS = "#/components/schemas/";

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
  const { $schema: _, $defs: named, ...own } = JSON.parse(generated.replaceAll('"#/$defs/', `"${COMPONENTS}`));
  return { own, named };
}

/** Replaces the keyword `default` by a sentence: generators of clients treat a field with the keyword as always present. */
function describeDefault({ jsonSchema: schema }: { jsonSchema: JsonSchema }): void {
  if (schema.default === undefined) return;
  schema.description = `${schema.description} The default is ${schema.default}.`;
  delete schema.default;
}
