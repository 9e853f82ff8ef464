import type { Environment } from "../../../common/environment.ts";
import { VERIFIED_SESSIONS_SWEEP_SECONDS, VERIFIED_SESSIONS_UNITS_MAX } from "../../../common/limits.ts";
import type { SessionContent } from "../user-groups/published-content.ts";

/** The content of a session. Whole seconds since 1970, as JWTs have them. */
export type SessionClaims = {
  issuer: string;
  environment: Environment;
  providedId: string;
  teamId: number;
  /** Random bits that the directory makes and stores with each token: a signing key alone does not know them. */
  generation: Uint8Array<ArrayBuffer>;
  /** The number of the API key that minted the session. */
  keyId: number;
  /** A random UUID: the session's fingerprint. */
  id: string;
  /** The number of the newest event of the environment: an end with a higher one is later. */
  seq: number;
  issuedAtSeconds: number;
  expiresAtSeconds: number;
  /** The normalised origins of the pages that may present the session; without it, any. */
  origins?: string[];
  viewerId?: string;
  /** What only this viewer may see. */
  viewerProperties?: object;
  /** A copy for verifiers that do not call the service. The service itself reads the group. */
  variables?: Record<string, unknown>;
  /** What answers the viewer without the directory, for so many seconds from `issuedAtSeconds` on. */
  stale?: { seconds: number; group: SessionContent };
  /** What the integrator adds for other verifiers, under names of `isFreeClaim`. The service itself does not read it. */
  extraClaims?: object;
};

/** The claims of a session, and the id of the key that signed it. */
export type SignedClaims = { claims: SessionClaims; signingId: string };

/**
 * A cache of sessions by their exact text: those whose signature was verified, and those that were minted here. It answers nothing that a
 * verification would not: `exp` and `iat` are checked at each use, and the directory decides about ends.
 */
export class VerifiedSessions {
  readonly #sessions = new Map<string, SignedClaims>();
  #units = 0;
  #sweptAtSeconds = 0;

  find(text: string): SignedClaims | undefined {
    return this.#sessions.get(text);
  }

  /** Caches a session until it expires. Of too many, or too long ones, those that were cached first are removed. */
  keep(text: string, session: SignedClaims, nowSeconds: number): void {
    this.#sweep(nowSeconds);
    if (session.claims.expiresAtSeconds <= nowSeconds || this.#sessions.has(text)) return;
    this.#sessions.set(text, session);
    this.#units += text.length;
    for (const oldest of this.#sessions.keys()) {
      if (this.#units <= VERIFIED_SESSIONS_UNITS_MAX) break;
      this.remove(oldest);
    }
  }

  remove(text: string): void {
    if (this.#sessions.delete(text)) this.#units -= text.length;
  }

  /** Removes those that have expired, once in a while: lifetimes differ, so these are not the oldest. */
  #sweep(nowSeconds: number): void {
    if (Math.abs(nowSeconds - this.#sweptAtSeconds) < VERIFIED_SESSIONS_SWEEP_SECONDS) return;
    this.#sweptAtSeconds = nowSeconds;
    for (const [text, { claims }] of this.#sessions) if (claims.expiresAtSeconds <= nowSeconds) this.remove(text);
  }

  /** How many sessions are cached, and how many UTF-16 code units their texts have. */
  get size(): { sessions: number; units: number } {
    return { sessions: this.#sessions.size, units: this.#units };
  }
}
