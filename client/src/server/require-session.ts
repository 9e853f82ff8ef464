import { type Fetch, isProtected, refuseUndefined } from "../transport/connection.ts";
import type { UserGroupServiceError } from "../transport/user-group-service-error.ts";
import type { UserGroupClient } from "../user-group-client.ts";
import { type Deferrable, deferred, refuseEmpty } from "./options.ts";
import { checkedOrigins, isFrom } from "./origins.ts";
import { failureOf, maySucceedLater, refusal } from "./refusal.ts";
import {
  type Bytes,
  type Expected,
  type Jwt,
  parseJwt,
  problemOf,
  toVerifiedSession,
  type VerifiedSession,
} from "./verified-session.ts";

const VIEW_MS_MAX = 8_000;

/** Whose sessions your API takes, and how it verifies them. */
export type RequireSessionOptions = {
  /** The environment, as `<workspace>/Customer`, `/Testing` or `/untagged`: in another one, the same number is another customer. */
  audience: string;
  /** Where people see your pages, such as `https://app.example.com`; 1 to 10. Pages of other sites are refused. */
  origins: readonly string[];
} & (
  | {
      /**
       * The address of the service's public keys, such as `https://groups.example.com/.well-known/jwks.json`. Sessions are verified
       * without a call of the service, and one that was revoked is accepted until it expires.
       */
      jwks: string | URL;
      /** The service's `PUBLIC_URL`, if it is not the origin of `jwks`. */
      issuer?: string | undefined;
      /** With `true`, `jwks` may be `http://` of another machine. Anybody who can change the answer on the way can then forge sessions. */
      allowHttp?: boolean | undefined;
      /** The global `fetch` by default. */
      fetch?: Fetch | undefined;
      client?: undefined;
    }
  | {
      /** Asks the service about each session, so that its end and a suspension are in force at once. Any API key will do. */
      client: Pick<UserGroupClient, "asViewer">;
      jwks?: undefined;
    }
);

/** Finds the person or customer of a session in your own records. With `undefined` or `null`, the answer is 404. */
export type FindUser<User> = (session: VerifiedSession) => User | null | undefined | Promise<User | null | undefined>;

/** Returns the session that a request presents, or the answer that refuses the request. */
export type SessionCheck<Session extends VerifiedSession = VerifiedSession> = (
  request: Request,
) => Promise<Session | Response>;

/** A verified session, with what `user` finds if the options have it. */
type Verified<User> = [User] extends [never] ? VerifiedSession : VerifiedSession & { user: User };

/**
 * Checks the viewer session that a page presents to your own API: its signature, issuer, environment, expiry and origins. If
 * the check returns a `Response`, return that: it refuses the request.
 *
 * It verifies ES256 with Web Crypto and needs no package: there is one algorithm, one kind of key and one issuer.
 *
 * @example
 * import { UserGroupClient } from "user-group-service/client";
 * import { requireSession } from "user-group-service/server";
 *
 * const url = "http://localhost:8787";
 * const client = new UserGroupClient({ url, apiKey: process.env.API_KEY ?? "" });
 * await client.ensure({ userGroupId: "required", name: "Required" });
 *
 * const check = requireSession({
 *   jwks: `${url}/.well-known/jwks.json`,
 *   audience: "demo/Testing",
 *   origins: ["https://app.example.com"],
 * });
 *
 * const orders = async (request: Request) => {
 *   const session = await check(request);
 *   if (session instanceof Response) return session;
 *   return Response.json({ customer: session.userGroupId, person: session.viewerId });
 * };
 *
 * const { token } = await client.mintSession({ userGroupId: "required", viewerId: "jane" });
 * const present = (text: string) => ({ headers: { Authorization: `Bearer ${text}` } });
 * const response = await orders(new Request("https://api.example.com/orders", present(token)));
 * console.info(response.status, await response.text());
 * // 200 {"customer":"required","person":"jane"}
 * console.info((await orders(new Request("https://api.example.com/orders", present("eyJ.forged.x")))).status);
 * // 401
 */
export function requireSession<User = never>(
  options: Deferrable<RequireSessionOptions & { user?: FindUser<User> }>,
): SessionCheck<Verified<User>>;
export function requireSession(given: Deferrable<RequireSessionOptions & { user?: FindUser<unknown> }>): SessionCheck {
  if (typeof given === "function") return deferred(() => requireSession(given()));
  const options = given;
  refuseEmpty("audience", options.audience);
  if (!options.client) refuseEmpty("jwks", options.jwks);
  else if (options.jwks !== undefined) throw new TypeError("Give either jwks or client.");
  const origins = checkedOrigins(options.origins);
  if (!/^[a-z0-9][a-z0-9-]*\/(Customer|Testing|untagged)$/.test(options.audience))
    throw new TypeError("Give audience as <workspace>/<environment>, such as acme/Customer.");
  refuseUndefined(options, ["user"]);
  const verify = options.client === undefined ? offline(options) : online(options);
  return async (request) => {
    if (!isFrom(request, origins)) return refusal("origin_not_allowed");
    const [, token] = /^(?:Bearer|Token) +(\S+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
    const jwt = parseJwt(token ?? "");
    if (token === undefined || jwt === undefined) return refusal("unauthenticated");

    const expected = { audience: options.audience, origin: request.headers.get("Origin") };
    const verified = await verify({ token, jwt, expected });
    if (verified instanceof Response || options.user === undefined) return verified;
    const user = await options.user(verified);
    return user === undefined || user === null ? refusal("user_group_not_found") : { ...verified, user };
  };
}

/** A session whose signature is not verified yet. */
type Presented = { token: string; jwt: Jwt; expected: Expected };
type Verify = (presented: Presented) => Promise<VerifiedSession | Response>;

/** Verifies with the public keys alone. */
function offline(options: RequireSessionOptions & { client?: undefined }): Verify {
  const url = URL.canParse(String(options.jwks)) ? new URL(options.jwks) : undefined;
  if (!url || !isProtected(url, options.allowHttp))
    throw new TypeError("Give jwks as https://…/.well-known/jwks.json, or set allowHttp.");
  const { issuer = url.origin } = options;
  const keys = new PublicKeys(url.href, options.fetch ?? ((address, init) => fetch(address, init)));
  return async ({ token, jwt, expected }) => {
    try {
      if (!(await keys.hasSigned(jwt)))
        return refusal("unauthenticated", { message: "No key of this service has signed this." });
    } catch (error) {
      if (!(error instanceof KeysUnavailable)) throw error;
      return refusal("service_unavailable");
    }
    return problemOf(jwt.claims, { ...expected, issuer }) ?? toVerifiedSession(jwt.claims, token);
  };
}

/** Asks the service, which verifies the signature: the claims are not to be trusted before its answer. */
function online({ client }: RequireSessionOptions & { jwks?: undefined }): Verify {
  return async ({ token, jwt, expected }) => {
    const problem = problemOf(jwt.claims, expected);
    if (problem) return problem;
    try {
      const signal = AbortSignal.timeout(VIEW_MS_MAX);
      // Without a maximal age, a session may answer its viewer itself for a while, although it has ended.
      const { variables } = await client.asViewer({ session: token }).view({ maxAgeSeconds: 0 }, { signal });
      return { ...toVerifiedSession(jwt.claims, token), variables };
    } catch (error) {
      return refusalOf(failureOf(error));
    }
  };
}

/** The refusal of the service, in the kit's words. */
function refusalOf(failure: UserGroupServiceError): Response {
  const { code, status } = failure;
  if (code === "credential_expired" || code === "credential_revoked" || code === "user_group_suspended")
    return refusal(code);
  if (status === 401) return refusal("unauthenticated");
  console.error(`A session could not be verified: ${code}: ${failure.message}`);
  return refusal("service_unavailable", maySucceedLater(failure) ? {} : { status: 500 });
}

/** The service publishes a new key 15 minutes before it signs, for verifiers that cache the keys for 5. */
const KEPT_MS = 300_000;
/** Sessions with unknown key ids cause at most one request in this time. */
const REFRESH_MS_MIN = 30_000;
const FETCH_MS_MAX = 5_000;
/** After a failure, sessions cause no request for this time. */
const BACKOFF_MS = 5_000;

const ES256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Whether the owner of a key has signed a text. */
type HasSigned = (signature: Bytes, signed: string) => Promise<boolean>;
type Keys = { byId: Map<string, HasSigned>; fetchedAt: number };

/** Thrown when the public keys cannot be fetched. */
class KeysUnavailable extends Error {}

/**
 * The service's public keys, fetched when a session first needs them, and again when they are old. Sessions whose key is known are verified
 * without a request until then.
 */
class PublicKeys {
  readonly #url: string;
  readonly #fetch: Fetch;
  #keys: Keys | undefined;
  #fetching: Promise<Keys> | undefined;
  #failure: { error: KeysUnavailable; retryAt: number } | undefined;

  constructor(url: string, fetch: Fetch) {
    this.#url = url;
    this.#fetch = fetch;
  }

  /** Whether a key of the service has signed the session. Rejects with `KeysUnavailable`. */
  async hasSigned({ header, signature, signed }: Jwt): Promise<boolean> {
    // Only this algorithm: a header that chooses another one is an attack. `crit` names extensions, and sessions have none.
    if (header.alg !== "ES256" || header.typ !== "JWT" || "crit" in header || typeof header.kid !== "string")
      return false;
    const verify = await this.#find(header.kid);
    return (await verify?.(signature, signed)) ?? false;
  }

  async #find(kid: string): Promise<HasSigned | undefined> {
    const ageMs = this.#keys === undefined ? Number.POSITIVE_INFINITY : performance.now() - this.#keys.fetchedAt;
    const isOld = ageMs > KEPT_MS || (ageMs > REFRESH_MS_MIN && !this.#keys?.byId.has(kid));
    const { byId } = isOld || !this.#keys ? await this.#refresh() : this.#keys;
    return byId.get(kid);
  }

  async #refresh(): Promise<Keys> {
    if (this.#failure && performance.now() < this.#failure.retryAt) throw this.#failure.error;
    this.#fetching ??= this.#request().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #request(): Promise<Keys> {
    const fetchedAt = performance.now();
    try {
      const fetch = this.#fetch;
      // A redirect could lead to somebody else's keys.
      const response = await fetch(this.#url, { redirect: "manual", signal: AbortSignal.timeout(FETCH_MS_MAX) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const keys: unknown[] = Object(await response.json()).keys;
      this.#keys = { byId: new Map(await Promise.all(keys.filter(isUsable).map(toVerify))), fetchedAt };
      return this.#keys;
    } catch (error) {
      const failure = new KeysUnavailable(`The public keys of ${this.#url} cannot be fetched: ${error}`);
      this.#failure = { error: failure, retryAt: performance.now() + BACKOFF_MS };
      // One line for each request, and not for each session that waits for it.
      console.error(failure.message);
      throw failure;
    }
  }
}

/** Whether a key can have signed a session. Others in the set are ignored (RFC 7517, section 5): a later release may add some. */
const isUsable = (jwk: unknown): boolean => Object(jwk).kty === "EC" && Object(jwk).crv === ES256.namedCurve;

/** A key of the set (RFC 7517), by its id. */
async function toVerify(jwk: unknown): Promise<[string, HasSigned]> {
  const { kid, kty, crv, x, y } = Object(jwk);
  const key = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, ES256, false, ["verify"]);
  return [kid, (signature, signed) => crypto.subtle.verify(ES256, key, signature, new TextEncoder().encode(signed))];
}
