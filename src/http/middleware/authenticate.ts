import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { verifyCredential } from "../../domain/credential.ts";
import { directoryName } from "../../domain/environment.ts";
import type { Failure } from "../../domain/failure.ts";
import { log } from "../../domain/log.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../limits.ts";
import type { Access } from "../../records.ts";
import type { AppEnv, Credential } from "../app-env.ts";
import { clientAddress } from "../client-address.ts";
import { directoryOf } from "../directory.ts";
import { refuse } from "../failures.ts";

/**
 * Reads the request's credential on every route. Refuses the secrets of servers when a browser sends them: browsers send
 * `Origin` or `Sec-Fetch-Site` (Fetch standard, sections 3.1 and 3.8) and no script can leave them out; the `fetch` of Node,
 * Deno and Bun sends neither.
 *
 * Refused credentials are counted by client address: those that this service did not sign, and API keys that their directory
 * does not know. A token that was valid once is not a guess; its own limit counts it. From a browser they are counted before they
 * are compared with the operator's token, because there the answer would tell a right guess from a wrong one.
 */
export const readCredential = createMiddleware<AppEnv>(async (c, next) => {
  const text = presentedCredential(c);
  const isBrowser = c.req.header("Origin") !== undefined || c.req.header("Sec-Fetch-Site") !== undefined;
  const signed = await signedCredential(c, text);
  if (!signed && text !== "" && isBrowser && !(await countRefused(c))) return refuse(c, { code: "rate_limited" });

  const credential = signed ?? (await unsignedCredential(c, text));
  c.set("credential", credential);
  if (credential.kind === "api_key") {
    c.set("keyId", credential.claim.id);
    c.set("environment", credential.claim.environment);
  }
  if (isBrowser && (credential.kind === "api_key" || credential.kind === "operator_token"))
    return refuse(c, { code: "secret_key_in_browser" });

  await next();

  const isRefused = credential.kind === "unknown" || c.get("failureCode") === "unauthenticated";
  if (isRefused && !(isBrowser && credential.kind === "unknown") && !(await countRefused(c))) {
    // Hono adds the headers of the response that is replaced, such as the Cache-Control and ETag of a file, unless there is none.
    c.res = undefined;
    c.res = refuse(c, { code: "rate_limited" });
  }
});

async function signedCredential(c: Context<AppEnv>, text: string): Promise<Credential | undefined> {
  for (const kind of ["api_key", "token"] as const) {
    const claim = await verifyCredential(c.get("ring"), kind, text);
    if (claim) return { kind, claim };
  }
  return undefined;
}

/** Compares hashes, so that the time it takes depends neither on the content nor on the length. */
async function unsignedCredential(c: Context<AppEnv>, text: string): Promise<Credential> {
  if (text === "") return { kind: "none" };
  const operatorToken = usableOperatorToken(c.env);
  const digest = (each: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(each));
  const isOperator =
    operatorToken !== undefined && crypto.subtle.timingSafeEqual(await digest(operatorToken), await digest(text));
  return { kind: isOperator ? "operator_token" : "unknown" };
}

const usableOperatorToken = ({ OPERATOR_TOKEN }: Env): string | undefined =>
  (OPERATOR_TOKEN ?? "").length >= OPERATOR_TOKEN_UNITS_MIN ? OPERATOR_TOKEN : undefined;

/** Counts a refused credential. Returns whether its address is still within the limit. */
async function countRefused(c: Context<AppEnv>): Promise<boolean> {
  const key = clientAddress(c.req.header("CF-Connecting-IP"));
  return (await c.env.REFUSED_CREDENTIAL_LIMIT.limit({ key })).success;
}

/** Admits a caller with an API key that this service signed. The directory checks the rest within the call's own RPC. */
export const integratorOnly = createMiddleware<AppEnv>(async (c, next) => {
  c.set("takes", "an API key, ugk_…");
  const credential = c.get("credential");
  if (credential.kind !== "api_key") return refuse(c, { code: "unauthenticated" });
  const { environment, id, nonceHash, fingerprint } = credential.claim;

  // Counted by fingerprint and not by number: a key that is forged with a stolen signing key must not use up the limit of the real one.
  const { success } = await c.env.API_KEY_LIMIT.limit({ key: fingerprint });
  if (!success) return refuse(c, { code: "rate_limited" });

  c.set("caller", { id, nonceHash, requestId: c.get("requestId") });
  c.set("directory", directoryOf(c.env, directoryName(environment)));
  return next();
});

/** Limits calls that read much at once. Comes after `integratorOnly`. */
export const limitLists = createMiddleware<AppEnv>(async (c, next) => {
  const credential = c.get("credential");
  const key = credential.kind === "api_key" ? credential.claim.fingerprint : "";
  const { success } = await c.env.LIST_LIMIT.limit({ key });
  return success ? next() : refuse(c, { code: "rate_limited" });
});

/**
 * Checks the caller before a call is refused for its content, so that a caller without a valid key learns nothing about it.
 * Only the directory knows whether an integrator has `access`; other callers were checked before.
 */
export async function checkCaller(c: Context<AppEnv>, access: Access | undefined): Promise<Failure | undefined> {
  if (!access) return undefined;
  const checked = await c.get("directory").checkAccess(c.get("caller"), access);
  return checked.ok ? undefined : checked.failure;
}

/** Admits a caller with `OPERATOR_TOKEN`. A deployment whose token is missing or short has no operator. */
export const operatorOnly = createMiddleware<AppEnv>(async (c, next) => {
  if (usableOperatorToken(c.env) === undefined) {
    log.error({
      request_id: c.get("requestId"),
      message: `OPERATOR_TOKEN is shorter than ${OPERATOR_TOKEN_UNITS_MIN} characters, so nobody can manage API keys. Set it with: npx wrangler secret put OPERATOR_TOKEN`,
    });
    return refuse(c, { code: "service_not_configured" });
  }
  c.set("takes", "the operator's token, OPERATOR_TOKEN");
  if (c.get("credential").kind !== "operator_token") return refuse(c, { code: "unauthenticated" });

  c.set("operator", "bootstrap");
  const { success } = await c.env.OPERATOR_LIMIT.limit({ key: "bootstrap" });
  return success ? next() : refuse(c, { code: "rate_limited" });
});

/** The credential after the scheme `Token` (in any case, RFC 9110, section 11.1), or an empty string. */
const presentedCredential = (c: Context<AppEnv>): string =>
  /^token +(\S+)$/i.exec(c.req.header("Authorization") ?? "")?.[1] ?? "";
