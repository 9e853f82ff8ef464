import {
  LEASE_SECONDS_MAX,
  LEASE_SPACING_SECONDS,
  LEASE_TOKENS_MAX,
  LEASE_VIEWS_SECONDS,
} from "../../../common/limits.ts";

/** The nonces of tokens that a call has ended, and for which KV may hold a lease. */
export type EndedLeases = { endedLeases: ArrayBuffer[] };

/** The times of one token in milliseconds since 1970: its last view that accepted a stale answer, its last request for a lease. */
type Times = { viewedAt: number; requestedAt: number | undefined };

/**
 * Decides which answers the Worker writes to KV as leases. It keeps its notes in memory: without them a token gets its
 * lease one view later, or keeps one until it expires.
 */
export class LeaseRequests {
  /** By nonce, in hex. The token that was viewed longest ago comes first. */
  readonly #tokens = new Map<string, Times>();

  /**
   * Whether to write a lease after a view that accepts a stale answer, whose time is kept: from the second such view within a
   * minute on, so that a single view costs no write, and not again for some seconds, so that a crowd causes one write.
   */
  shouldWriteLease(nonce: Uint8Array, now: number): boolean {
    const name = nonce.toHex();
    const { viewedAt, requestedAt } = this.#tokens.get(name) ?? {};
    const isSecondView = viewedAt !== undefined && now - viewedAt <= LEASE_VIEWS_SECONDS * 1000;
    const isDue = requestedAt === undefined || now - requestedAt >= LEASE_SPACING_SECONDS * 1000;
    const isRequested = isSecondView && isDue;
    this.#tokens.delete(name);
    if (this.#tokens.size === LEASE_TOKENS_MAX) this.#tokens.delete(this.#tokens.keys().next().value ?? "");
    this.#tokens.set(name, { viewedAt: now, requestedAt: isRequested ? now : requestedAt });
    return isRequested;
  }

  /** Whether KV may hold a lease of this token that some viewer could still get. */
  mayExist(nonce: ArrayBuffer, now: number): boolean {
    const requestedAt = this.#tokens.get(new Uint8Array(nonce).toHex())?.requestedAt;
    return requestedAt !== undefined && now - requestedAt <= LEASE_SECONDS_MAX * 1000;
  }
}
