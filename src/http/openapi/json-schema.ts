import * as z from "zod";

/** The JSON Schema of what a client sends (`input`) or gets (`output`), without the name of the dialect, which OpenAPI 3.1 implies. */
export const jsonSchema = (schema: z.core.$ZodType, io: "input" | "output") => ({
  ...z.toJSONSchema(schema, { io }),
  $schema: undefined,
});
