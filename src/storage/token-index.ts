import type { GroupSnapshot, Lease } from "../records.ts";

/** How long an edge location may answer from its own copy. KV accepts no less than 30 seconds (KV, "Read key-value pairs"). */
const EDGE_CACHE_SECONDS = 30;

/**
 * The leases in Workers KV: answers of the directory that viewers may get again while they are young enough. The key is the
 * SHA-256 of a token's nonce, and the value what its viewer may know, so no credential can be computed from either.
 */
export class TokenIndex {
  readonly #kv: KVNamespace;

  constructor(kv: KVNamespace) {
    this.#kv = kv;
  }

  /** The lease of a token, of any age; `undefined` for no entry, or one that cannot be read. */
  async find(nonce: BufferSource): Promise<Lease | undefined> {
    const text = await this.#kv.get(await keyOf(nonce), { type: "text", cacheTtl: EDGE_CACHE_SECONDS });
    return text === null ? undefined : parseLease(text);
  }

  /** Writes the lease of a token. KV deletes it after `expiresInSeconds`, 60 at least. */
  async put(nonce: BufferSource, lease: Lease, expiresInSeconds: number): Promise<void> {
    await this.#kv.put(await keyOf(nonce), JSON.stringify(lease), { expirationTtl: expiresInSeconds });
  }

  /** Deletes the lease of a token, if there is one. */
  async delete(nonce: BufferSource): Promise<void> {
    await this.#kv.delete(await keyOf(nonce));
  }
}

/**
 * The token index, or `undefined` in a deployment without KV, such as one box. Nothing else reads the binding, because the
 * generated `Env` promises one.
 */
export const tokenIndexOf = ({ TOKEN_INDEX }: Partial<Pick<Env, "TOKEN_INDEX">>): TokenIndex | undefined =>
  TOKEN_INDEX && new TokenIndex(TOKEN_INDEX);

async function keyOf(nonce: BufferSource): Promise<string> {
  return `token:${new Uint8Array(await crypto.subtle.digest("SHA-256", nonce)).toHex()}`;
}

function parseLease(text: string): Lease | undefined {
  try {
    const { readAt, group } = JSON.parse(text);
    return typeof readAt === "number" && isSnapshot(group) ? { readAt, group } : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON text of an object, or `null`. Throws for text that is no JSON, and for the text `null`. */
const isObjectTextOrNull = (value: unknown): boolean =>
  value === null || (typeof value === "string" && Object.getPrototypeOf(JSON.parse(value)) === Object.prototype);

const CHECKS: Record<keyof GroupSnapshot, (value: unknown) => boolean> = {
  teamId: (value) => typeof value === "number",
  providedId: (value) => typeof value === "string",
  name: (value) => typeof value === "string",
  mapping: isObjectTextOrNull,
  properties: isObjectTextOrNull,
  validUntil: (value) => value === null || typeof value === "number",
};

const isSnapshot = (group: object): boolean =>
  Object.entries(CHECKS).every(([field, isValid]) => isValid(Reflect.get(group, field)));
