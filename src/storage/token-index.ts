import { attempt } from "../../common/attempt.ts";
import { CONTENT, CONTENT_FIELDS, type ContentField } from "../../common/content.ts";
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
  return attempt(() => {
    const { readAt, group } = JSON.parse(text);
    return typeof readAt === "number" && isSnapshot(group) ? { readAt, group } : undefined;
  });
}

/** Whether KV has all that a viewer's answer needs: a lease of another release may lack a field. */
const isSnapshot = (group: Partial<Record<keyof GroupSnapshot, unknown>>): boolean =>
  typeof group.teamId === "number" &&
  (group.validUntil === null || typeof group.validUntil === "number") &&
  CONTENT_FIELDS.every((field) => isStored(field, group[field]));

/** Whether a value can be that of a field. Throws for text that is no JSON where it should be. */
function isStored(field: ContentField, value: unknown): boolean {
  const { kind, isNullable } = CONTENT[field];
  if (typeof value !== "string") return isNullable && value === null;
  return kind === "text" || Object.getPrototypeOf(JSON.parse(value)) === Object.prototype;
}
