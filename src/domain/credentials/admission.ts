import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredKey } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import { type Author, authorOf, type Cause, causeOf, type Operator } from "./caller.ts";
import type { KeyFailure } from "./keys.ts";
import { grantOf, type Scope } from "./rights.ts";

/** A caller that may make its call: who it is in events, the API key by its number, and what else the key may do. */
export type Admitted = { author: Author; keyId: number | null; may: (scope: Scope) => boolean };

/** Why a caller may not make a call of an environment. */
export type CallerFailure = KeyFailure | FailureOf<"insufficient_access" | "environment_not_found">;

/** Admits an operator, whose role the registry has checked. Each role that reaches a group may read events, and none may read tokens. */
export const admittedOperator = (operator: Operator): Admitted => ({
  author: authorOf(operator),
  keyId: null,
  may: (scope) => scope === "events:read",
});

/** Admits a valid API key that has `scope`, if one is needed. */
export function admitKey(
  { id, name, rights }: StoredKey,
  cause: Cause,
  scope: Scope | undefined,
): Result<Admitted, FailureOf<"insufficient_access">> {
  const { scopes } = grantOf(rights);
  if (scope && !scopes.includes(scope)) return fail({ code: "insufficient_access", required_scope: scope });
  const author: Author = { actor: { kind: "api_key", id, name }, ...causeOf(cause) };
  return ok({ author, keyId: id, may: (other) => scopes.includes(other) });
}
