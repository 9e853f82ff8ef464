import type { GroupSnapshot } from "./records.ts";

/** How long an edge location may answer from its own copy. KV takes no less than 30 seconds. */
const EDGE_CACHE_SECONDS = 30;
/** KV refuses to expire an entry in less than 60 seconds, by its own clock and when the write arrives. */
const EXPIRATION_SECONDS_MIN = 90;

/**
 * The copy in Workers KV of which token shows which group. It speeds up viewers that allow a stale answer, and judges
 * nothing. A key is the hash of a nonce, a value what its viewer may know: no credential can be computed from either.
 */
export class TokenIndex {
  readonly #kv: KVNamespace;

  constructor(kv: KVNamespace) {
    this.#kv = kv;
  }

  /** What the index knows of a token, possibly outdated; `undefined` for no entry, or one that cannot be read. */
  async find(nonce: BufferSource): Promise<GroupSnapshot | undefined> {
    const value = await this.#kv.get(await keyOf(nonce), { type: "text", cacheTtl: EDGE_CACHE_SECONDS });
    return value === null ? undefined : readSnapshot(value);
  }

  /** Shows `snapshot` to whoever has the token of this nonce. One of a grace expires with it. */
  async put(nonce: BufferSource, snapshot: GroupSnapshot, now: number): Promise<void> {
    const { validUntil } = snapshot;
    const expiration =
      validUntil === null
        ? {}
        : { expiration: Math.ceil(Math.max(validUntil / 1000, now / 1000 + EXPIRATION_SECONDS_MIN)) };
    await this.#kv.put(await keyOf(nonce), JSON.stringify(snapshot), expiration);
  }

  /** Takes the entry out, if there is one. */
  async delete(nonce: BufferSource): Promise<void> {
    await this.#kv.delete(await keyOf(nonce));
  }
}

async function keyOf(nonce: BufferSource): Promise<string> {
  return `token:${new Uint8Array(await crypto.subtle.digest("SHA-256", nonce)).toHex()}`;
}

function readSnapshot(value: string): GroupSnapshot | undefined {
  try {
    const { teamId, providedId, name, mapping, properties, validUntil } = JSON.parse(value);
    const isTextOrNull = (field: unknown) => field === null || typeof field === "string";
    const isReadable =
      typeof teamId === "number" &&
      typeof providedId === "string" &&
      typeof name === "string" &&
      isTextOrNull(mapping) &&
      isTextOrNull(properties) &&
      (validUntil === null || typeof validUntil === "number");
    return isReadable ? { teamId, providedId, name, mapping, properties, validUntil } : undefined;
  } catch {
    return undefined;
  }
}
