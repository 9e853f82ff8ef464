import { createMiddleware } from "hono/factory";
import type * as z from "zod/mini";
import type { FailureOf, Issue } from "../domain/failure.ts";
import { ISSUES_MAX, ISSUES_UNITS_MAX } from "../domain/limits.ts";
import { fail, ok, type Result } from "../domain/result.ts";
import type { Access } from "../domain/user-group.ts";
import type { AppEnv } from "./app-env.ts";
import { vet } from "./authenticate.ts";
import { refuse } from "./refusals.ts";

/** `value` as the schema reads it, or all that is wrong with it, behind what is `known` to be wrong already. */
export function validate<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  known: Issue[] = [],
): Result<z.output<Schema>, FailureOf<"invalid_body">> {
  const parsed = schema.safeParse(value);
  const issues = [...known, ...(parsed.error?.issues.flatMap(issuesOf) ?? [])];
  if (!parsed.success || issues.length > 0) return fail({ code: "invalid_body", issues: bounded(issues) });
  return ok(parsed.data);
}

/** Reads the query as `schema`, for `c.req.valid("query")`. What `access` is for, `jsonBody` tells. */
export const validQuery = <Schema extends z.ZodMiniType>(schema: () => Schema, { access }: { access?: Access } = {}) =>
  createMiddleware<AppEnv, string, { in: { query: z.input<Schema> }; out: { query: z.output<Schema> } }>(
    async (c, next) => {
      const { fields, issues } = readQuery(new URL(c.req.url).search.slice(1));
      const query = validate(schema(), fields, issues);
      if (!query.ok) return refuse(c, (await vet(c, access)) ?? query.failure);
      c.req.addValidatedData("query", query.value as object);
      return next();
    },
  );

/** The fields of a query, with what Hono's own reading changes in silence as issues: all but the first of one name, and broken bytes. */
function readQuery(text: string): { fields: Record<string, string>; issues: Issue[] } {
  const fields = new Map<string, string>();
  const issues: Issue[] = [];
  for (const part of text.split("&").filter((each) => each !== "")) {
    const [rawName = "", ...rest] = part.split("=");
    const rawValue = rest.join("=");
    const name = decode(rawName) ?? rawName;
    const value = decode(rawValue);
    if (value === undefined || decode(rawName) === undefined)
      issues.push({ path: [name], message: "Percent-encode this field as UTF-8." });
    if (fields.has(name)) issues.push({ path: [name], message: "This field is given twice; give it once." });
    else fields.set(name, value ?? rawValue);
  }
  return { fields: Object.fromEntries(fields), issues };
}

/** What percent-encoded text says, if it is UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** As many of the issues as one answer tells: each repeats its path, whose keys may be long. */
function bounded(issues: Issue[]): Issue[] {
  let units = 0;
  return issues.slice(0, ISSUES_MAX).filter((issue, index) => {
    units += JSON.stringify(issue).length;
    return index === 0 || units <= ISSUES_UNITS_MAX;
  });
}

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
