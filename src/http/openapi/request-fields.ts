import * as z from "zod/mini";
import { WORKSPACE } from "../../../common/environment.ts";
import { EVENTS_DEFAULT, LIST_ITEMS_DEFAULT, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { Audience, Expiry, KeyName, ProvidedId, Reason, Workspace } from "../resources/fields.ts";

/** The fields of a body or a query by their names. What a transform makes of them does not count. */
function fieldsOf({ _zod: { def } }: z.core.$ZodType): Record<string, z.core.$ZodType> {
  return def.type === "pipe" ? fieldsOf((def as z.core.$ZodPipeDef).in) : (def as z.core.$ZodObjectDef).shape;
}

/** What the document says of a field: a description, or that and what the schema does not say. */
type About = string | Parameters<typeof z.globalRegistry.add>[1];

/** Adds to what the document says of a schema. */
export function describe(field: z.core.$ZodType, about: About): void {
  const more = typeof about === "string" ? { description: about } : about;
  z.globalRegistry.add(field, { ...z.globalRegistry.get(field), ...more });
}

/** The schema of a body or a query, and what the document says of its fields. The Worker itself has none of these texts. */
export function describeFields<Schema extends z.core.$ZodType>(
  schema: Schema,
  descriptions: Partial<Record<keyof z.input<Schema>, About>>,
): Schema {
  const fields = fieldsOf(schema);
  for (const [name, about] of Object.entries<About | undefined>(descriptions)) {
    const field = fields[name];
    if (field && about !== undefined) describe(field, about);
  }
  return schema;
}

/** What the document says of `limit`: a number, which a query has as text. */
const limit = (what: string, initial: number) => ({
  type: "integer",
  minimum: 1,
  maximum: LIST_ITEMS_MAX,
  pattern: undefined,
  description: `The most ${what} on one page. The default is ${initial}.`,
});

/** The descriptions of the fields by which the query of a list asks for a page. */
export const pageOf = (what: "groups" | "environments" | "keys" | "operators") => ({
  cursor: "The next_cursor of the page before; without it, the first page.",
  limit: limit(what, LIST_ITEMS_DEFAULT),
});

/** The description of `limit` in the queries of feeds. */
export const EVENTS_LIMIT = limit("events", EVENTS_DEFAULT);

/** The description of `grace_seconds`. */
export const graceOf = (credential: "key" | "token") => `For how many seconds the old ${credential} stays valid.`;

// The fields that say the same in each body and query.
describe(ProvidedId(), "Your own id of the user group, unique in its environment.");
describe(Reason(), "Why, for the people who read the events.");
describe(Workspace(), "The integrating application, by its slug.");
describe(Audience(), {
  pattern: `${WORKSPACE.source.slice(0, -1)}/(Customer|Testing|untagged)$`,
  description:
    "The environment to which the credential must belong, as <workspace>/<environment>. Servers that take a credential from a request " +
    "name theirs: in another environment, the same user_group_id is another customer.",
});
describe(
  KeyName(),
  "The name of the key in lists: at least one visible character, and no invisible ones, such as marks of the text's direction.",
);
describe(Expiry(), "When the key ends by itself; without it, never.");
