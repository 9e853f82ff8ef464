import * as z from "zod";

/** The fields that several answers have, for the OpenAPI document alone: the Worker does not import this. */

/** A schema, and what the document says of it: a description, and examples. */
export const field = <Schema extends z.ZodType>(schema: Schema, description: string, ...examples: unknown[]): Schema =>
  schema.meta({ description, ...(examples.length > 0 && { examples }) });

/** The same for a field that is not always there. */
export const optional = <Schema extends z.ZodType>(...of: Parameters<typeof field<Schema>>) =>
  z.exactOptional(field(...of));

export const Success = field(z.literal(1), "1 for a success; a refusal has 0.");

export const Tag = field(
  z.enum(["Customer", "Testing"]).nullable(),
  "The environment of the API key that created the group.",
  "Testing",
);

export const Workspace = field(z.string(), "The integrating application, by its slug.", "acme");

/** The name of an environment, as the claim `aud` of a session has it. */
export const Audience = field(
  z.string(),
  "The environment of the credential, as <workspace>/<environment>: the claim aud of a session.",
  "acme/Customer",
);

/** A number that the service gives, such as an id, from 1 on. */
export const number = (description: string, example = 1) => field(z.int().min(1), description, example);

/** A number in a path, within the bounds of `pathNumber`. */
export const numberInPath = (description: string) => field(z.int().min(1).max(999_999_999_999_999), description);

/** The `id` in a path. */
export const byId = (description: string) => ({
  path: { schema: z.strictObject({ id: numberInPath(description) }), example: { id: 1 } },
});

/** A schema among the document's components, by its name. */
export const component = <Shape extends z.core.$ZodLooseShape>(id: string, description: string, shape: Shape) =>
  z.strictObject(shape).meta({ id, description });

/** The JSON of a success. `name` is that of its schema among the components. */
export const content = (name: string, fields: z.core.$ZodLooseShape) => ({
  name,
  schema: z.strictObject({ success: Success, ...fields }),
});

/** The answer to a list. */
export const page = (name: string, fields: z.core.$ZodLooseShape) => ({
  description: "One page, and the cursor of the next.",
  content: content(name, fields),
});

/** The answer to a list whose last page has no cursor. */
export const pageOrLast = (name: string, fields: z.core.$ZodLooseShape) =>
  page(name, { ...fields, next_cursor: NextCursor });

/** It has the form of a real token, and no service has signed it. */
export const EXAMPLE_TOKEN = "ugt_testing_AQJrMQRhY21lAAAAAAAAAAGbCIoNXZIVs6cFX4dKfd6FJ4rnnbn1ZAnbJ2Nx6XxVlA";

/** A time in ISO 8601. */
export const time = (description: string) =>
  z.string().meta({ format: "date-time", description, examples: ["2026-11-21T11:07:16.301Z"] });

/** A time in ISO 8601, or `null`. */
export const timeOrNull = (description: string) =>
  field(z.string().meta({ format: "date-time" }).nullable(), description, null);

/** The times of an API key or of an operator, as `timesOf` encodes them. */
export const KeyTimes = {
  created_at: time("When it was issued."),
  expires_at: timeOrNull("When it expires, or null."),
  last_used_at: timeOrNull("When it was last used, to within an hour, or null."),
  revoked_at: timeOrNull("When it was revoked, or, within the grace of a roll, when it will be; or null."),
};

/** The JSON of a call that returns nothing. */
export const DONE = content("Done", {});

/** `next_cursor` of a page. */
export const NextCursor = field(z.string().nullable(), "The cursor of the next page, or null on the last one.", null);
