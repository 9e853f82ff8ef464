import type * as z from "zod/mini";
import type { Issue } from "../../../../common/issue.ts";
import { ISSUES_MAX, ISSUES_UNITS_MAX } from "../../../../common/limits.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import type { FailureOf } from "../../../domain/failure.ts";

/** Parses `value` by the schema. A failure has the `known` issues first, then those of the schema. */
export function validate<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  known: Issue[] = [],
): Result<z.output<Schema>, FailureOf<"invalid_body">> {
  const parsed = schema.safeParse(value);
  const places = new Set(known.map(({ path }) => JSON.stringify(path)));
  const found = parsed.error?.issues.slice(0, ISSUES_MAX).flatMap((issue) => issuesOf(issue, value)) ?? [];
  // One issue for a field: a text with U+0000 is also one with a control character.
  const issues = [...known, ...found.filter(({ path }) => !places.has(JSON.stringify(path)))];
  if (!parsed.success || issues.length > 0) return fail({ code: "invalid_body", issues: bounded(issues) });
  return ok(parsed.data);
}

/** Limits the issues of one answer: each contains its path, whose keys can be long. */
export function bounded(issues: Issue[]): Issue[] {
  let units = 0;
  return issues.slice(0, ISSUES_MAX).filter((issue, index) => {
    units += JSON.stringify(issue).length;
    return index === 0 || units <= ISSUES_UNITS_MAX;
  });
}

/** Zod reports all unknown fields of an object in one issue; here each one gets its own. A missing field is reported as missing. */
function issuesOf(issue: z.core.$ZodIssue, value: unknown): Issue[] {
  const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
  return issue.code === "unrecognized_keys"
    ? issue.keys.slice(0, ISSUES_MAX).map((key) => ({
        path: [...path, key],
        message: "This call takes no such field. Check its spelling, or leave it out.",
      }))
    : [{ path, message: isMissing(value, path) ? `This field is missing. ${issue.message}` : issue.message }];
}

/** Whether `value` has the object that `path` leads to, but not its field. */
function isMissing(value: unknown, path: Issue["path"]): boolean {
  if (typeof value !== "object" || value === null) return false;
  const [name, ...rest] = path;
  if (name === undefined) return false;
  return Object.hasOwn(value, name) ? isMissing(Reflect.get(value, name), rest) : rest.length === 0;
}
