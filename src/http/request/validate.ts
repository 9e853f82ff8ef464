import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type * as z from "zod/mini";
import type { FailureOf, Issue } from "../../domain/failure.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import { ISSUES_MAX, ISSUES_UNITS_MAX } from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { refuse } from "../response/failures.ts";
import { checkCaller } from "./check-caller.ts";

/** Parses `value` by the schema. A failure has the `known` issues first, then those of the schema. */
export function validate<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  known: Issue[] = [],
): Result<z.output<Schema>, FailureOf<"invalid_body">> {
  const parsed = schema.safeParse(value);
  const issues = [...known, ...(parsed.error?.issues.flatMap((issue) => issuesOf(issue, value)) ?? [])];
  if (!parsed.success || issues.length > 0) return fail({ code: "invalid_body", issues: bounded(issues) });
  return ok(parsed.data);
}

/**
 * Parses the query by `schema`, for `c.req.valid("query")`, without the environment that an operator names. The caller is
 * checked before a query is refused, as for a body.
 */
export const validQuery = <Schema extends z.ZodMiniType>(schema: () => Schema) =>
  createMiddleware<AppEnv, string, { in: { query: z.input<Schema> }; out: { query: z.output<Schema> } }>(
    async (c, next) => {
      const namesEnvironment = c.get("access")?.names !== undefined;
      const { fields, issues } = readQuery(
        c,
        (name) => !namesEnvironment || (name !== "workspace" && name !== "environment"),
      );
      const query = validate(schema(), fields, issues);
      if (!query.ok) return refuse(c, (await checkCaller(c)) ?? query.failure);
      c.req.addValidatedData("query", query.value as object);
      return next();
    },
  );

/**
 * The fields of the query whose names are wanted. What Hono would drop or alter silently is an issue: a field given twice,
 * and bytes that are no UTF-8.
 */
export function readQuery(
  c: Context<AppEnv>,
  isWanted: (name: string) => boolean,
): { fields: Record<string, string>; issues: Issue[] } {
  const text = new URL(c.req.url).search.slice(1);
  const fields = new Map<string, string>();
  const issues: Issue[] = [];
  for (const part of text.split("&").filter((each) => each !== "")) {
    const [rawName = "", ...rest] = part.split("=");
    const rawValue = rest.join("=");
    const name = decode(rawName) ?? rawName;
    if (!isWanted(name)) continue;
    const value = decode(rawValue);
    if (value === undefined || decode(rawName) === undefined)
      issues.push({ path: [name], message: "Percent-encode this field as UTF-8." });
    if (fields.has(name)) issues.push({ path: [name], message: "This field is given twice; give it once." });
    else fields.set(name, value ?? rawValue);
  }
  return { fields: Object.fromEntries(fields), issues };
}

/** Decodes percent-encoded text; `undefined` if it is not UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** As many issues as one answer may hold: each contains its path, whose keys can be long. */
function bounded(issues: Issue[]): Issue[] {
  let units = 0;
  return issues.slice(0, ISSUES_MAX).filter((issue, index) => {
    units += JSON.stringify(issue).length;
    return index === 0 || units <= ISSUES_UNITS_MAX;
  });
}

/** Zod reports all unknown fields of an object in one issue; here each one gets its own. A missing field is called so. */
function issuesOf(issue: z.core.$ZodIssue, value: unknown): Issue[] {
  const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
  return issue.code === "unrecognized_keys"
    ? issue.keys.map((key) => ({
        path: [...path, key],
        message: "This call takes no such field. Check its spelling, or leave it out.",
      }))
    : [{ path, message: isMissing(value, path) ? `This field is missing. ${issue.message}` : issue.message }];
}

/** Whether `value` has no field at the path, but the object that it belongs to. */
function isMissing(value: unknown, path: Issue["path"]): boolean {
  if (typeof value !== "object" || value === null) return false;
  const [name, ...rest] = path;
  if (name === undefined) return false;
  return Object.hasOwn(value, name) ? isMissing(Reflect.get(value, name), rest) : rest.length === 0;
}
