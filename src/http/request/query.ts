import { createMiddleware } from "hono/factory";
import * as z from "zod/mini";
import { attempt } from "../../../common/attempt.ts";
import type { Environment } from "../../../common/environment.ts";
import type { Issue } from "../../../common/issue.ts";
import { ok, type Result } from "../../../common/result.ts";
import type { FailureOf } from "../../domain/failure.ts";
import type { CallContext, CallEnv, RequestContext } from "../app-env.ts";
import { lazy, transformed, Workspace } from "../resources/fields.ts";
import { refuseRequest } from "../response/failures.ts";
import { validate } from "./body/validate.ts";

/** The fields of a query by which an operator names an environment. */
export const EnvironmentQuery = lazy(() =>
  transformed(
    z.strictObject({
      workspace: Workspace(),
      environment: z.enum(["Customer", "Testing", "untagged"], "Give Customer, Testing or untagged."),
    }),
    ({ workspace, environment }) => ({ workspace, tag: environment === "untagged" ? null : environment }),
  ),
);

const isEnvironmentField = (name: string): boolean => name === "workspace" || name === "environment";

/** The environment that the query names, if the call is about one. */
export function namedEnvironment(c: CallContext): Result<Environment | undefined, FailureOf<"invalid_body">> {
  const { environmentQuery } = c.get("access");
  if (!environmentQuery || (environmentQuery === "optional" && environmentFieldsOf(c).length === 0))
    return ok(undefined);
  return requiredEnvironment(c);
}

/** The environment that the query names, of a call that is always about one. */
export function requiredEnvironment(c: CallContext): Result<Environment, FailureOf<"invalid_body">> {
  const { fields, issues } = readQuery(c.req.url, isEnvironmentField);
  return validate(EnvironmentQuery(), fields, issues);
}

/** The names of the query's fields that name an environment. */
export const environmentFieldsOf = (c: RequestContext): string[] =>
  Object.keys(readQuery(c.req.url, isEnvironmentField).fields);

/** Parses the query by `schema`, for `c.req.valid("query")`, without the environment that an operator names. */
export const validQuery = <Schema extends z.ZodMiniType>(schema: () => Schema) => {
  const withoutFields = lazy(() => validate(schema(), {}));
  return createMiddleware<CallEnv, string, { in: { query: z.input<Schema> }; out: { query: z.output<Schema> } }>(
    async (c, next) => {
      const query = c.req.url.includes("?") ? parseQuery(c, schema()) : withoutFields();
      if (!query.ok) return refuseRequest(c, query.failure);
      c.req.addValidatedData("query", query.value as object);
      return next();
    },
  );
};

const NoQuery = lazy(() => z.strictObject({}));

/** Refuses the fields of a query of a call that takes none, so that a field in the wrong place is not silently ignored. */
export const checkNoQuery = (c: CallContext): Result<object, FailureOf<"invalid_body">> =>
  c.req.url.includes("?") ? parseQuery(c, NoQuery()) : ok({});

function parseQuery<Schema extends z.ZodMiniType>(
  c: CallContext,
  schema: Schema,
): Result<z.output<Schema>, FailureOf<"invalid_body">> {
  const takesEnvironment = c.get("access").environmentQuery !== undefined;
  const { fields, issues } = readQuery(c.req.url, (name) => !takesEnvironment || !isEnvironmentField(name));
  return validate(schema, fields, issues);
}

/**
 * The fields of the query whose names are wanted. What Hono would drop or alter silently is an issue: a field given twice,
 * and bytes that are no UTF-8.
 */
export function readQuery(
  url: string,
  isWanted: (name: string) => boolean = () => true,
): { fields: Record<string, string>; issues: Issue[] } {
  if (!url.includes("?")) return { fields: {}, issues: [] };
  const text = new URL(url).search.slice(1);
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
const decode = (text: string): string | undefined => attempt(() => decodeURIComponent(text.replaceAll("+", " ")));

/** Parses a positive integer in its only spelling; returns 0, an id never used, otherwise. */
export const pathNumber = (text = ""): number => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0);
