import { createMiddleware } from "hono/factory";
import { attempt } from "../../../common/attempt.ts";
import { AUTHORIZATION_WORDS_MAX, OPERATOR_TOKEN_UNITS_MIN } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import { readSetting, settingOr } from "../../../common/settings/settings.ts";
import { sha256, utf8 } from "../../domain/bytes.ts";
import { importRing, type SigningRing, verifyCredential } from "../../domain/credentials/credential.ts";
import { verifySession } from "../../domain/credentials/viewer-session.ts";
import type { FailureOf } from "../../domain/failure.ts";
import type { AppEnv, Credential, RequestContext } from "../app-env.ts";
import { refuse } from "../response/failures.ts";
import { clientAddress } from "./client-address.ts";

/** The kinds of credentials that browsers must not have. */
const SECRETS_OF_SERVERS: Credential["kind"][] = ["api_key", "operator_key", "bootstrap"];

/**
 * Reads the request's credential on every route. Refuses the secrets of servers when a browser sends them: browsers send
 * `Origin` or `Sec-Fetch-Site` (Fetch standard, sections 3.1 and 3.8) and no script can leave them out; the `fetch` of Node,
 * Deno and Bun sends neither. From a browser, every form of the header is examined, even one that the service does not accept: a
 * secret in any form has leaked to its visitors.
 *
 * Refused credentials are counted by client address: those that this service did not sign, and keys that their Durable Object
 * does not know. A token that was valid once is not a guess; its own limit counts it. From a browser they are counted before they
 * are compared with the operator's token, because otherwise the answer would distinguish a right guess from a wrong one.
 */
export const readCredential = createMiddleware<AppEnv>(async (c, next) => {
  const isBrowser = c.req.header("Origin") !== undefined || c.req.header("Sec-Fetch-Site") !== undefined;
  const header = c.req.header("Authorization") ?? "";
  const [, text = ""] = /^(?:token|bearer) +(\S+)$/i.exec(header) ?? [];
  const signed = await signedCredential(c, text);
  const isGuessOfBrowser = isBrowser && !signed && header !== "";
  if (isGuessOfBrowser && !(await countRefused(c))) return refuse(c, { code: "rate_limited" });

  const credential = signed ?? (await unsignedCredential(c, text));
  c.set("credential", credential);
  logCaller(c, credential);
  const failure = isBrowser ? await browserFailure(c, header, credential) : undefined;
  if (failure) return refuse(c, failure);

  await next();

  const isRefused = credential.kind === "unknown" || c.get("failureCode") === "unauthenticated";
  if (isRefused && !isGuessOfBrowser && !(await countRefused(c))) {
    // Hono adds the headers of the answer that is replaced, such as the Cache-Control and ETag of a file, unless there is none.
    c.res = undefined;
    c.res = refuse(c, { code: "rate_limited" });
  }
});

/** Sets what the log line has of a credential that this service has signed, whether the call then succeeds or not. */
function logCaller(c: RequestContext<AppEnv>, credential: Credential): void {
  if (credential.kind === "api_key") {
    c.set("keyId", credential.id);
    c.set("environment", credential.environment);
  }
  if (credential.kind === "operator_key") c.set("operatorId", credential.id);
  if (credential.kind === "token") {
    c.set("teamId", credential.id);
    c.set("environment", credential.environment);
  }
  if (credential.kind === "viewer_session") {
    const { id, teamId, environment } = credential.session.claims;
    c.set("sessionId", id);
    c.set("teamId", teamId);
    c.set("environment", environment);
  }
}

/** Why a browser may not send this header, if it may not. */
async function browserFailure(
  c: RequestContext<AppEnv>,
  header: string,
  credential: Credential,
): Promise<FailureOf<"secret_key_in_browser" | "token_in_browser"> | undefined> {
  if (isSecret(credential)) return { code: "secret_key_in_browser" };
  const isUnread = credential.kind === "none" || credential.kind === "unknown";
  if (isUnread && (await hasSecret(c, header))) return { code: "secret_key_in_browser" };
  return credential.kind === "token" && !allowsBrowserTokens(c.env) ? { code: "token_in_browser" } : undefined;
}

async function signedCredential(c: RequestContext<AppEnv>, text: string): Promise<Credential | undefined> {
  const session = await verifySession(c.get("ring"), text, Date.now());
  return session ? { kind: "viewer_session", session } : verifyCredential(c.get("ring"), text);
}

async function unsignedCredential(c: RequestContext<AppEnv>, text: string): Promise<Credential> {
  if (text === "") return { kind: "none" };
  return { kind: (await isOperatorToken(c.env, text)) ? "bootstrap" : "unknown" };
}

/** Compares hashes, so that the time it takes depends neither on the content nor on the length. */
export async function isOperatorToken(env: Env, text: string): Promise<boolean> {
  const operatorToken = usableOperatorToken(env);
  const digest = (each: string) => sha256(utf8.encode(each));
  return operatorToken !== undefined && crypto.subtle.timingSafeEqual(await digest(operatorToken), await digest(text));
}

const isSecret = ({ kind }: Credential): boolean => SECRETS_OF_SERVERS.includes(kind);

/** Whether a header of a form that the service does not take has a secret: as a word, or in Basic (RFC 7617). */
async function hasSecret(c: RequestContext<AppEnv>, header: string): Promise<boolean> {
  const words = header.split(/[\s,]+/, AUTHORIZATION_WORDS_MAX);
  const texts = [...words, ...words.flatMap((word) => decodeBase64(word).split(":", AUTHORIZATION_WORDS_MAX))];
  for (const text of texts.filter((each) => each !== ""))
    if (isSecret((await signedCredential(c, text)) ?? (await unsignedCredential(c, text)))) return true;
  return false;
}

const decodeBase64 = (word: string): string => attempt(() => atob(word)) ?? "";

/** Whether browsers may send group tokens. A value that cannot be read refuses them, which is the safe reading. */
export const allowsBrowserTokens = (env: Env): boolean => settingOr(env, "BROWSER_TOKENS", "refuse") === "allow";

/** OPERATOR_TOKEN, unless it is missing or short, or cannot be read. */
export const usableOperatorToken = (env: Env): string | undefined => settingOr(env, "OPERATOR_TOKEN", undefined);

/**
 * Whether a text that an operator asks about is OPERATOR_TOKEN. It is counted as a refused credential before, so that nobody guesses the
 * token by asking.
 */
export async function askIfOperatorToken(
  c: RequestContext<AppEnv>,
  text: string,
): Promise<Result<boolean, FailureOf<"rate_limited">>> {
  if (text.length < OPERATOR_TOKEN_UNITS_MIN) return ok(false);
  return (await countRefused(c)) ? ok(await isOperatorToken(c.env, text)) : fail({ code: "rate_limited" });
}

/** Counts a refused credential. Returns whether its address is still within the limit. */
export async function countRefused(c: RequestContext<AppEnv>): Promise<boolean> {
  return (await c.env.REFUSED_CREDENTIAL_LIMIT.limit({ key: clientAddress(c) })).success;
}

/**
 * The imported keys, once per isolate and value. This is the ring and not its promise: a promise belongs to the request that
 * made it, and could end with it.
 */
let last: { text: string | undefined; ring: Result<SigningRing, string> } | undefined;

/** The ring of `SIGNING_KEYS`. A failure is a sentence for the operator, which quotes no key. */
export async function ringOf(env: Env): Promise<Result<SigningRing, string>> {
  const { SIGNING_KEYS: text } = env;
  if (last && last.text === text) return last.ring;
  const keys = readSetting(env, "SIGNING_KEYS");
  const ring = keys.ok ? ok(await importRing(keys.value)) : keys;
  last = { text, ring };
  return ring;
}
