import type { Context, Next } from "hono";
import { createMiddleware } from "hono/factory";
import { type Claim, verifyCredential } from "../domain/credential.ts";
import type { Failure } from "../domain/failure.ts";
import { log } from "../domain/log.ts";
import type { Access } from "../domain/user-group.ts";
import type { AppEnv } from "./app-env.ts";
import { directoryName, directoryOf } from "./directory.ts";
import { refuse } from "./refusals.ts";

/**
 * Refuses the secrets of servers when a browser shows them, on every route. Browsers send `Origin` or `Sec-Fetch-Site`
 * (Fetch standard, sections 3.1 and 3.8) and no script can leave them out; the `fetch` of Node, Deno and Bun sends neither.
 */
export const noSecretsInBrowsers = createMiddleware<AppEnv>((c, next) => {
  const isBrowser = c.req.header("Origin") !== undefined || c.req.header("Sec-Fetch-Site") !== undefined;
  return isBrowser ? refuseSecrets(c, next) : next();
});

async function refuseSecrets(c: Context<AppEnv>, next: Next) {
  const claim = await verifyCredential(c.get("ring"), "api_key", shownCredential(c));
  if (!claim && !(await isOperator(c))) return next();
  if (claim) noteKey(c, claim);
  return refuse(c, { code: "secret_key_in_browser" });
}

/**
 * Slows down whoever tries credentials: those that are none are counted by client address, and too many of them answered
 * with 429. What was good once and is no more was not guessed; its own limit counts it.
 */
export async function limitGuesses(c: Context<AppEnv>): Promise<void> {
  const address = c.req.header("CF-Connecting-IP") ?? "unknown";
  const { success } = await c.env.REFUSED_CREDENTIAL_LIMIT.limit({ key: address });
  if (success) return;
  c.res = refuse(c, { code: "rate_limited" });
  c.res.headers.delete("WWW-Authenticate");
}

/** Lets pass whoever shows an API key that this service signed. The directory judges the rest within the call's own RPC. */
export const integratorOnly = createMiddleware<AppEnv>(async (c, next) => {
  const claim = await verifyCredential(c.get("ring"), "api_key", shownCredential(c));
  if (!claim) return refuse(c, { code: "unauthenticated" });
  noteKey(c, claim);

  const name = directoryName(claim.environment);
  const { success } = await c.env.API_KEY_LIMIT.limit({ key: `${name}/${claim.id}` });
  if (!success) return refuse(c, { code: "rate_limited" });

  c.set("caller", { id: claim.id, nonce: claim.nonce });
  c.set("directory", directoryOf(c.env, claim.environment));
  return next();
});

/**
 * What there is to refuse about the caller before a word is said about the request. Of an integrator, who needs `access`,
 * only the directory knows; whoever else comes this far was judged at the door.
 */
export async function vet(c: Context<AppEnv>, access: Access | undefined): Promise<Failure | undefined> {
  if (!access) return undefined;
  const vetted = await c.get("directory").checkAccess(c.get("caller"), access);
  return vetted.ok ? undefined : vetted.failure;
}

/** Lets pass whoever shows `OPERATOR_TOKEN`, and nobody while there is none. */
export const operatorOnly = createMiddleware<AppEnv>(async (c, next) => {
  if (!c.env.OPERATOR_TOKEN)
    log.warn({
      request_id: c.get("requestId"),
      message:
        "OPERATOR_TOKEN is not set, so nobody can manage API keys. Set it with: npx wrangler secret put OPERATOR_TOKEN",
    });
  return (await isOperator(c)) ? next() : refuse(c, { code: "unauthenticated" });
});

/** Notes whose key it is, for the log line too. */
function noteKey(c: Context<AppEnv>, claim: Claim): void {
  c.set("keyId", claim.id);
  c.set("environment", claim.environment);
}

/** What stands behind the scheme `Token` (in any case, as RFC 9110 has it), or an empty string. */
export const shownCredential = (c: Context<AppEnv>): string =>
  /^token +(\S+)$/i.exec(c.req.header("Authorization") ?? "")?.[1] ?? "";

/** Compares digests, so that neither content nor length shows in the time it takes. */
async function isOperator(c: Context<AppEnv>): Promise<boolean> {
  const { OPERATOR_TOKEN } = c.env;
  if (!OPERATOR_TOKEN) return false;
  const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return crypto.subtle.timingSafeEqual(await digest(OPERATOR_TOKEN), await digest(shownCredential(c)));
}
