import { createMiddleware } from "hono/factory";
import type { z } from "zod";
import type { FailureOf, Issue } from "../domain/failure.ts";
import { ISSUES_MAX } from "../domain/limits.ts";
import { fail, ok, type Result } from "../domain/result.ts";
import type { AppEnv } from "./app-env.ts";
import { refuse } from "./refusals.ts";

/** `value` as the schema reads it, or all that is wrong with it, behind what is `known` to be wrong already. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  known: Issue[] = [],
): Result<z.output<Schema>, FailureOf<"invalid_body">> {
  const parsed = schema.safeParse(value);
  const issues = [...known, ...(parsed.error?.issues.flatMap(issuesOf) ?? [])];
  if (!parsed.success || issues.length > 0) return fail({ code: "invalid_body", issues: issues.slice(0, ISSUES_MAX) });
  return ok(parsed.data);
}

/** Reads the query as `schema`, for `c.req.valid("query")`. */
export const validQuery = <Schema extends z.ZodType>(schema: Schema) =>
  createMiddleware<AppEnv, string, { in: { query: z.input<Schema> }; out: { query: z.output<Schema> } }>(
    async (c, next) => {
      const query = validate(schema, c.req.query());
      if (!query.ok) return refuse(c, query.failure);
      c.req.addValidatedData("query", query.value as object);
      return next();
    },
  );

/** Zod reports all unknown fields of an object at once; here each is an issue at its own place. */
function issuesOf(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
  return issue.code === "unrecognized_keys"
    ? issue.keys.map((key) => ({
        path: [...path, key],
        message: "This call takes no such field. Check its spelling, or leave it out.",
      }))
    : [{ path, message: issue.message }];
}
