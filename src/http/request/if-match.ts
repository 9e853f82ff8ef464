import type { Context } from "hono";
import type { FailureOf } from "../../domain/failure.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import { type IfMatch, parseIfMatch } from "../../domain/user-groups/entity-tag.ts";
import type { AppEnv } from "../app-env.ts";

/** Parses the header `If-Match`; `undefined` without it. */
export function ifMatchOf(c: Context<AppEnv>): Result<IfMatch | undefined, FailureOf<"invalid_body">> {
  const header = c.req.header("If-Match");
  if (header === undefined) return ok(undefined);
  const ifMatch = parseIfMatch(header);
  if (ifMatch) return ok(ifMatch);
  const message = 'Send the ETag as it came, with its quotes, such as "1.2", or *.';
  return fail({ code: "invalid_body", issues: [{ path: ["If-Match"], message }] });
}
