import type { Fetch } from "../transport/connection.ts";
import type { Bytes, Jwt } from "./verified-session.ts";

/** The service publishes a new key 15 minutes before it signs, for verifiers that cache the keys for 5. */
const KEPT_MS = 300_000;
/** Sessions with unknown key ids cause at most one request in this time. */
const REFRESH_MS_MIN = 30_000;
const FETCH_MS_MAX = 5_000;
/** After a failure, sessions cause no request for this time. */
const BACKOFF_MS = 5_000;

const ES256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Whether the owner of a key has signed a text. */
type Verify = (signature: Bytes, signed: string) => Promise<boolean>;
type Keys = { byId: Map<string, Verify>; fetchedAt: number };

/** Thrown when the public keys cannot be fetched. */
export class KeysUnavailable extends Error {}

/**
 * The service's public keys, fetched when a session first needs them, and again when they are old. Sessions whose key is known are verified
 * without a request until then.
 */
export class PublicKeys {
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

  async #find(kid: string): Promise<Verify | undefined> {
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
async function toVerify(jwk: unknown): Promise<[string, Verify]> {
  const { kid, kty, crv, x, y } = Object(jwk);
  const key = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, ES256, false, ["verify"]);
  return [kid, (signature, signed) => crypto.subtle.verify(ES256, key, signature, new TextEncoder().encode(signed))];
}
