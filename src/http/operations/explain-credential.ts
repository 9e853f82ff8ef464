import { directoryName, type Environment } from "../../../common/environment.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { Operator } from "../../domain/credentials/caller.ts";
import { sameBytes, type VerifiedClaimOf, verifyCredential } from "../../domain/credentials/credential.ts";
import type { FoundKey } from "../../domain/credentials/keys.ts";
import { type PresentedViewer, type Reason, reasonOf, reasonsOfKey } from "../../domain/credentials/reasons.ts";
import type { SessionClaims } from "../../domain/credentials/verified-sessions.ts";
import { allowsOrigin, readSession } from "../../domain/credentials/viewer-session.ts";
import type { Failure, FailureOf } from "../../domain/failure.ts";
import type { OperatorContext } from "../app-env.ts";
import { directoryOf } from "../durable-objects.ts";
import { registryFor } from "../request/admit-caller.ts";
import { presentedSession } from "../request/admit-viewer.ts";
import { allowsBrowserTokens } from "../request/authenticate.ts";

/** What an operator asks about: a credential, the environment that it should be of, and the origin of the page that presents it. */
export type Question = { text: string; audience?: string | undefined; origin?: string | undefined };

/** The kinds of credentials as answers name them; "unknown" of a text that this service has not signed. */
export const EXPLAINED_KINDS = ["api_key", "operator", "user_group_token", "viewer_session", "unknown"] as const;

/** A credential, and all reasons why it is refused now. `number` is that of the key, the operator or the group. */
export type Explanation = {
  kind: (typeof EXPLAINED_KINDS)[number];
  number: number | null;
  environment: Environment | undefined;
  reasons: Reason[];
  /** The stored key, if there is one. */
  key?: FoundKey | undefined;
  session?: SessionClaims;
};

/** Whether a text is OPERATOR_TOKEN. Each call counts as a guess, and guesses are limited. */
type AskIfOperatorToken = (c: OperatorContext, text: string) => Promise<Result<boolean, FailureOf<"rate_limited">>>;

/**
 * Explains why a credential is refused, for an operator with the role `viewer` or a higher one. It does not count as a call with the
 * credential: it notes no view and no use of a key, and stores nothing. It looks up nothing about a text that this service has not signed.
 */
export async function explainCredential(
  c: OperatorContext,
  question: Question,
  askIfToken: AskIfOperatorToken,
): Promise<Result<Explanation, Failure>> {
  const ring = c.get("ring");
  const now = Date.now();
  const session = await readSession(ring, question.text, now);
  if (session) return explainSession(c, question, session.claims, now);
  const claim = await verifyCredential(ring, question.text);
  if (!claim) return explainUnsigned(c, question.text, askIfToken);
  if (claim.kind === "token") return explainToken(c, question, claim);
  return explainKey(c, question, claim, now);
}

async function explainUnsigned(
  c: OperatorContext,
  text: string,
  askIfToken: AskIfOperatorToken,
): Promise<Result<Explanation, Failure>> {
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", undefined);
  if (!admitted.ok) return admitted;
  const isBootstrap = await askIfToken(c, text);
  if (!isBootstrap.ok) return isBootstrap;
  const none = { number: null, environment: undefined };
  if (isBootstrap.value) return ok({ ...none, kind: "operator", reasons: [] });
  return ok({ ...none, kind: "unknown", reasons: [reasonOf("unsigned")] });
}

async function explainKey(
  c: OperatorContext,
  question: Question,
  claim: VerifiedClaimOf<"api_key" | "operator_key">,
  now: number,
): Promise<Result<Explanation, Failure>> {
  const environment = claim.kind === "api_key" ? claim.environment : undefined;
  const keys = await findKeysOf(c, environment, [claim.id]);
  if (!keys.ok) return keys;
  const key = keys.value?.find((found) => sameBytes(found.key.nonceHash, claim.nonceHash));
  const reasons = [
    ...(question.origin === undefined ? [] : [reasonOf("secret_in_browser")]),
    ...(key ? reasonsOfKey(key, now) : [reasonOf(keys.value ? "key_unknown" : "environment_unknown")]),
    ...audienceReasons(environment, question),
  ];
  const kind = claim.kind === "api_key" ? "api_key" : "operator";
  return ok({ kind, number: claim.id, environment, reasons, key });
}

/**
 * The API keys of an environment with these numbers; without an environment, the operators. `undefined` where the environment does not
 * exist.
 */
export async function findKeysOf(
  c: OperatorContext,
  environment: Environment | undefined,
  ids: number[],
): Promise<Result<FoundKey[] | undefined, Failure>> {
  if (!environment) {
    const found = await registryFor(c).findOperators(c.get("presentedOperator"), ids);
    return found.ok ? ok(found.value.found) : found;
  }
  const find = (operator: Operator) => directoryOf(c.env, environment).findKeys(operator, ids);
  return inEnvironment(c, environment, find, undefined);
}

async function explainToken(
  c: OperatorContext,
  question: Question,
  { id, nonce, environment }: VerifiedClaimOf<"token">,
): Promise<Result<Explanation, Failure>> {
  const found = await viewerReasons(c, environment, { kind: "token", id, nonce });
  if (!found.ok) return found;
  const isRefusedInBrowser = question.origin !== undefined && !allowsBrowserTokens(c.env);
  const reasons = [
    ...(isRefusedInBrowser ? [reasonOf("token_in_browser")] : []),
    ...found.value,
    ...audienceReasons(environment, question),
  ];
  return ok({ kind: "user_group_token", number: id, environment, reasons });
}

async function explainSession(
  c: OperatorContext,
  question: Question,
  session: SessionClaims,
  now: number,
): Promise<Result<Explanation, Failure>> {
  const { environment, teamId, origins } = session;
  const found = await viewerReasons(c, environment, { kind: "session", ...presentedSession(session) });
  if (!found.ok) return found;
  const expiresAt = session.expiresAtSeconds * 1000;
  const reasons = [
    ...(expiresAt <= now ? [reasonOf("session_expired", expiresAt)] : []),
    ...(allowsOrigin(origins, question.origin) ? [] : [reasonOf("other_origin")]),
    ...found.value,
    ...audienceReasons(environment, question),
  ];
  return ok({ kind: "viewer_session", number: teamId, environment, reasons, session });
}

const viewerReasons = (c: OperatorContext, environment: Environment, viewer: PresentedViewer) =>
  inEnvironment(c, environment, (operator) => directoryOf(c.env, environment).explainViewer(operator, viewer), [
    reasonOf("group_unknown"),
  ]);

/** Asks the directory of an environment; `otherwise` where the environment does not exist. */
async function inEnvironment<Value, Otherwise>(
  c: OperatorContext,
  environment: Environment,
  ask: (operator: Operator) => Promise<Result<Value, Failure>>,
  otherwise: Otherwise,
): Promise<Result<Value | Otherwise, Failure>> {
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", environment);
  const found = admitted.ok ? await ask(admitted.value) : admitted;
  if (found.ok) return found;
  return found.failure.code === "environment_not_found" ? ok(otherwise) : fail(found.failure);
}

const audienceReasons = (environment: Environment | undefined, { audience }: Question): Reason[] =>
  environment === undefined || audience === undefined || directoryName(environment) === audience
    ? []
    : [reasonOf("other_environment")];
