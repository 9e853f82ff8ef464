import type * as z from "zod/mini";
import { parseExact } from "../../../../common/exact-json.ts";
import type { Issue } from "../../../../common/issue.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import type { PresentedKey } from "../../../domain/credentials/caller.ts";
import { verifyCredential } from "../../../domain/credentials/credential.ts";
import type { Failure, FailureOf } from "../../../domain/failure.ts";
import { isObject } from "../../../domain/json.ts";
import { registryOf } from "../../durable-objects.ts";
import { countRefused, isOperatorToken } from "../../request/authenticate.ts";
import { validate } from "../../request/body/validate.ts";
import { readQuery } from "../../request/query.ts";
import { FAILURES } from "../../response/failures.ts";
import type { ConsoleCall, FormCall, SignedInCall } from "../console-env.ts";

/** The query of a page: its fields as they came, and their values, unless there are issues. */
export type PageQuery<Value> = { fields: Record<string, string>; value: Value | undefined; issues: Issue[] };

/** What is wrong with a query that no page of the console has made. */
export const FIRST_PAGE = "Open the first page again.";

type Options = {
  defaults?: Record<string, string>;
  own?: readonly string[];
  fixed?: Record<string, string>;
};

/**
 * Parses the query of a page by the schema of the API's call, and refuses what that refuses. Empty fields count as missing, because a browser sends those of a filter
 * too. `defaults` are the values of missing fields, `own` are fields that the page reads itself, and `fixed` are values that no query
 * changes.
 */
export function readPageQuery<Schema extends z.ZodMiniType>(
  c: ConsoleCall,
  schema: Schema,
  { defaults = {}, own = [], fixed = {} }: Options = {},
): PageQuery<z.output<Schema>> {
  const query = readQuery(c.req.url);
  const given = Object.entries(query.fields).filter(([name, value]) => value !== "" && !own.includes(name));
  const fields = { ...Object.fromEntries(given), ...fixed };
  const parsed = validate(schema, { ...defaults, ...fields }, query.issues);
  return { fields, value: parsed.ok ? parsed.value : undefined, issues: schemaIssues(parsed) };
}

/**
 * Validates the fields of a form with these names by `schema`. An empty field counts as missing. `others` are values, not texts. A form
 * that asks for the operator's own key fails without it, so no page makes its change then.
 */
export function parseForm<Schema extends z.ZodMiniType>(
  c: SignedInCall,
  schema: Schema,
  names: string[],
  others: Record<string, unknown> = {},
): Result<z.output<Schema>, FailureOf<"invalid_body">> {
  const form = c.get("form");
  const texts = names.map((name) => [name, form.get(name) ?? ""]).filter(([, text]) => text !== "");
  const parsed = validate(schema, { ...Object.fromEntries(texts), ...others });
  const keyIssues = c.get("ownKeyIssues") ?? [];
  return keyIssues.length === 0
    ? parsed
    : fail({ code: "invalid_body", issues: [...schemaIssues(parsed), ...keyIssues] });
}

/** What the field `name` of a form takes: its value in the form that was sent, or `initial`, and what is wrong with it. */
export const fieldsOf =
  (form: URLSearchParams, issues: Issue[]) =>
  (name: string, initial = "") => ({ name, value: form.get(name) ?? initial, issues });

/** The issues of a form that its schema refuses; none otherwise. */
export const schemaIssues = (parsed: Result<unknown, FailureOf<"invalid_body">>): Issue[] =>
  parsed.ok ? [] : parsed.failure.issues;

/** A whole number in a field; another text stays a text, which a schema of numbers refuses. */
export function numberIn(c: SignedInCall, name: string): number | string | undefined {
  const text = (c.get("form").get(name) ?? "").trim();
  if (text === "") return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** What is wrong with the text that an operator types to confirm a change. */
export const confirmationIssues = (c: SignedInCall, expected: string): Issue[] =>
  (c.get("form").get("confirmation") ?? "").trim() === expected
    ? []
    : [{ path: ["confirmation"], message: `Type ${expected}, if you mean this.` }];

/** What is wrong with the operator's key that a form asks for once more. It is limited as every guess of a credential. */
export async function operatorKeyIssues(c: FormCall): Promise<Issue[]> {
  const key = await presentedKey(c, (c.get("form").get("operator_key") ?? "").trim());
  const path = ["operator_key"];
  if (key === "rate_limited") return [{ path, message: FAILURES.rate_limited.message }];
  const requestId = c.get("requestId");
  // Not by `registryFor`, because the key may belong to another person than the operator of this request.
  const admitted = key && (await registryOf(c.env).admit({ key, requestId }, "viewer", undefined));
  const isOwn = admitted?.ok && admitted.value.id === c.get("operator").id;
  return isOwn ? [] : [{ path, message: "This is not the key with which you have signed in. Give that key." }];
}

/** The issues of a form whose change was refused. `fields` names the field to which some failures belong. */
export function issuesOf(failure: Failure, fields: Partial<Record<Failure["code"], string>> = {}): Issue[] {
  if (failure.code === "invalid_body") return failure.issues;
  const field = fields[failure.code];
  return [{ path: field === undefined ? [] : [field], message: FAILURES[failure.code].message }];
}

/** A text of several lines without the carriage returns that browsers send (HTML, section 4.10.21.7). */
export const linesOf = (text: string): string => text.replaceAll("\r\n", "\n");

/** Parses the JSON object in a field; `null` for an empty one. Refuses what JSON.parse would change silently, as in a body. */
export function jsonIn(text: string, name: string): Result<object | null, Issue[]> {
  if (text.trim() === "") return ok(null);
  const { value, issues } = parseExact(text);
  if (issues.length > 0)
    return fail(issues.map(({ path, message }) => ({ path: [name], message: [...path, message].join(": ") })));
  if (isObject(value)) return ok(value);
  return fail([{ path: [name], message: 'Give a JSON object, such as {"region": "eu"}, or nothing.' }]);
}

/**
 * The operator key in a form; `undefined` for any other text. A text that this service did not sign is counted by client address
 * before it is compared with the bootstrap token, because otherwise the answer would distinguish a right guess from a wrong one.
 */
export async function presentedKey(
  c: ConsoleCall,
  text: string,
): Promise<PresentedKey | "bootstrap" | "rate_limited" | undefined> {
  const signed = await verifyCredential(c.get("ring"), text);
  if (signed && signed.kind !== "operator_key") return undefined;
  // As a call of the API counts the key, because even a revoked one costs an RPC.
  if (signed && !(await c.env.OPERATOR_LIMIT.limit({ key: signed.fingerprint })).success) return "rate_limited";
  if (signed) return { id: signed.id, nonceHash: signed.nonceHash };
  if (!(await countRefused(c))) return "rate_limited";
  return (await isOperatorToken(c.env, text)) ? "bootstrap" : undefined;
}
