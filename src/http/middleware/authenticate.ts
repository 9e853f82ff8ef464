import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { verifyCredential } from "../../domain/credential.ts";
import { verifySession } from "../../domain/viewer-session.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../limits.ts";
import type { AppEnv, Credential } from "../app-env.ts";
import { clientAddress } from "../client-address.ts";
import { refuse } from "../failures.ts";

/** The kinds of credentials that browsers must not have. */
const SECRETS_OF_SERVERS: Credential["kind"][] = ["api_key", "operator_key", "bootstrap"];

/**
 * Reads the request's credential on every route. Refuses the secrets of servers when a browser sends them: browsers send
 * `Origin` or `Sec-Fetch-Site` (Fetch standard, sections 3.1 and 3.8) and no script can leave them out; the `fetch` of Node,
 * Deno and Bun sends neither.
 *
 * Refused credentials are counted by client address: those that this service did not sign, and keys that their Durable Object
 * does not know. A token that was valid once is not a guess; its own limit counts it. From a browser they are counted before they
 * are compared with the operator's token, because there the answer would tell a right guess from a wrong one.
 */
export const readCredential = createMiddleware<AppEnv>(async (c, next) => {
  const presented = presentedCredential(c);
  const isBrowser = c.req.header("Origin") !== undefined || c.req.header("Sec-Fetch-Site") !== undefined;
  const signed = await signedCredential(c, presented);
  if (!signed && presented.text !== "" && isBrowser && !(await countRefused(c)))
    return refuse(c, { code: "rate_limited" });

  const credential = signed ?? (await unsignedCredential(c, presented));
  c.set("credential", credential);
  if (credential.kind === "api_key") {
    c.set("keyId", credential.id);
    c.set("environment", credential.environment);
  }
  if (isBrowser && SECRETS_OF_SERVERS.includes(credential.kind)) return refuse(c, { code: "secret_key_in_browser" });
  if (isBrowser && credential.kind === "token" && !allowsBrowserTokens(c.env))
    return refuse(c, { code: "token_in_browser" });

  await next();

  const isRefused = credential.kind === "unknown" || c.get("failureCode") === "unauthenticated";
  if (isRefused && !(isBrowser && credential.kind === "unknown") && !(await countRefused(c))) {
    // Hono adds the headers of the response that is replaced, such as the Cache-Control and ETag of a file, unless there is none.
    c.res = undefined;
    c.res = refuse(c, { code: "rate_limited" });
  }
});

/** A session is taken after both schemes, any other credential after `Token` alone. */
async function signedCredential(c: Context<AppEnv>, { scheme, text }: Presented): Promise<Credential | undefined> {
  const session = await verifySession(c.get("ring"), text, Date.now());
  if (session) return { kind: "viewer_session", session };
  return scheme === "token" ? verifyCredential(c.get("ring"), text) : undefined;
}

/** Compares hashes, so that the time it takes depends neither on the content nor on the length. */
async function unsignedCredential(c: Context<AppEnv>, { scheme, text }: Presented): Promise<Credential> {
  if (text === "") return { kind: "none" };
  const operatorToken = scheme === "token" ? usableOperatorToken(c.env) : undefined;
  const digest = (each: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(each));
  const isOperator =
    operatorToken !== undefined && crypto.subtle.timingSafeEqual(await digest(operatorToken), await digest(text));
  return { kind: isOperator ? "bootstrap" : "unknown" };
}

/** Whether browsers may send group tokens. A misspelt value refuses them, which is the safe reading. */
const allowsBrowserTokens = ({ BROWSER_TOKENS }: Env): boolean => (BROWSER_TOKENS ?? "allow") === "allow";

/** OPERATOR_TOKEN, unless it is missing or short. */
export const usableOperatorToken = ({ OPERATOR_TOKEN }: Env): string | undefined =>
  (OPERATOR_TOKEN ?? "").length >= OPERATOR_TOKEN_UNITS_MIN ? OPERATOR_TOKEN : undefined;

/** Counts a refused credential. Returns whether its address is still within the limit. */
async function countRefused(c: Context<AppEnv>): Promise<boolean> {
  const key = clientAddress(c.req.header("CF-Connecting-IP"));
  return (await c.env.REFUSED_CREDENTIAL_LIMIT.limit({ key })).success;
}

/** The scheme of a credential in lower case (RFC 9110, section 11.1), and its text; both are empty without one. */
type Presented = { scheme: string; text: string };

function presentedCredential(c: Context<AppEnv>): Presented {
  const [, scheme = "", text = ""] = /^(token|bearer) +(\S+)$/i.exec(c.req.header("Authorization") ?? "") ?? [];
  return { scheme: scheme.toLowerCase(), text };
}
