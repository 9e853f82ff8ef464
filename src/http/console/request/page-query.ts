import type * as z from "zod/mini";
import type { Issue } from "../../../../common/issue.ts";
import type { RequestContext } from "../../app-env.ts";
import { validate } from "../../request/body/validate.ts";
import { readQuery } from "../../request/query.ts";
import type { ConsoleEnv } from "../console-env.ts";

/** The query of a page: its fields as they came, and their values, unless there are issues. */
export type PageQuery<Value> = { fields: Record<string, string>; value: Value | undefined; issues: Issue[] };

/**
 * Parses the query of a page by the schema of the API's call, and refuses what that refuses. Empty fields count as missing, because a browser sends those of a filter
 * too. `defaults` are the values of missing fields, and `own` are fields that the page reads itself.
 */
export function readPageQuery<Schema extends z.ZodMiniType>(
  c: RequestContext<ConsoleEnv>,
  schema: Schema,
  { defaults = {}, own = [] }: { defaults?: Record<string, string>; own?: readonly string[] } = {},
): PageQuery<z.output<Schema>> {
  const query = readQuery(c.req.url);
  const fields = Object.fromEntries(
    Object.entries(query.fields).filter(([name, value]) => value !== "" && !own.includes(name)),
  );
  const parsed = validate(schema, { ...defaults, ...fields }, query.issues);
  return parsed.ok
    ? { fields, value: parsed.value, issues: [] }
    : { fields, value: undefined, issues: parsed.failure.issues };
}
