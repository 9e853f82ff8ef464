import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredKey } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import {
  type Author,
  authorOf,
  BOOTSTRAP,
  type Cause,
  causeOf,
  type Operator,
  type PresentedConsoleSession,
  type PresentedOperator,
} from "./caller.ts";
import type { ConsoleSessions } from "./console-sessions.ts";
import type { KeyFailure, Keys } from "./keys.ts";
import { allowsRole, grantOf, type LadderRole, roleOf, type Scope } from "./rights.ts";

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

export type AdmitFailure = KeyFailure | FailureOf<"insufficient_access">;

type Known = { operators: Keys; consoleSessions: ConsoleSessions };

/** Which role a call needs. With `isForBackups`, the role `backup` may make it too, by its key: it has no sessions of the console. */
export type NeededRole = { minimum: LadderRole; isForBackups: boolean };

/** The operator who presents a key or a session of the console, if it is valid and has the needed role. */
export function admitPresented(
  { key, ...cause }: PresentedOperator,
  { minimum, isForBackups }: NeededRole,
  known: Known,
): Result<Operator, AdmitFailure> {
  if (key === "bootstrap") return ok({ ...BOOTSTRAP, ...cause });
  const found = findKey(key, known);
  if (!found.ok) return found;
  if (found.value === "bootstrap") return ok({ ...BOOTSTRAP, ...cause });
  const { id, name, rights, expiresAt } = found.value;
  const role = roleOf(rights);
  const isBackup = isForBackups && role === "backup" && "nonceHash" in key;
  return isBackup || allowsRole(role, minimum)
    ? ok({ kind: "operator", id, name, role, expiresAt, ...cause })
    : fail({ code: "insufficient_access", required_role: minimum });
}

function findKey(
  key: Exclude<PresentedOperator["key"], "bootstrap">,
  known: Known,
): Result<StoredKey | "bootstrap", KeyFailure> {
  if ("sessionHash" in key) return keyOfSession(key, known);
  if ("nonceHash" in key) return known.operators.authenticate(key);
  const operator = known.operators.findValidByEmail(key.email);
  return operator ? ok(operator) : fail({ code: "unauthenticated" });
}

/** The key by which the operator of a session has signed in, if both are valid. */
function keyOfSession(
  presented: PresentedConsoleSession,
  { operators, consoleSessions }: Known,
): Result<StoredKey | "bootstrap", KeyFailure> {
  const session = consoleSessions.authenticate(presented);
  if (!session.ok) return session;
  const { operatorId } = session.value;
  return operatorId === null ? ok("bootstrap") : operators.authenticateSession(operatorId);
}
