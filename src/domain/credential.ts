import {
  MAC_BYTES,
  NONCE_BYTES,
  SIGNING_KEY_BYTES_MAX,
  SIGNING_KEY_BYTES_MIN,
  SIGNING_KEYS_MAX,
  VERIFIED_MAX,
} from "./limits.ts";
import { fail, ok, type Result } from "./result.ts";
import type { Environment, EnvironmentTag } from "./user-group.ts";

/**
 * Credentials: `ugk_<tag>_<payload>` is an API key, `ugt_<tag>_<payload>` the token of a user group. The payload is
 * base64url (RFC 4648, section 5, without padding) of
 *
 *     version 1 | length, signing key id | length, workspace | 8-byte number | 16-byte nonce | 16-byte MAC
 *
 * where the MAC is HMAC-SHA-256 (RFC 2104, cut to 128 bits) over the prefix and all bytes before it. The Worker has the
 * signing keys, the directory has the nonces, and it takes both to make a credential.
 */

/** Which kind of credential: an integrator's API key, or the token that a viewer shows. */
export type CredentialKind = "api_key" | "token";

/** What a credential says of itself. Whether it still holds is for the directory to judge. */
export type Claim = { environment: Environment; id: number; nonce: Uint8Array<ArrayBuffer> };

/** What a credential with a valid MAC says of itself, and a name for it that gives nothing of it away. */
export type VerifiedClaim = Claim & { fingerprint: string };

/** The signing keys by id; the first one signs, all of them verify. */
export type SigningRing = {
  signingId: string;
  keys: ReadonlyMap<string, CryptoKey>;
  /** What was verified lately by these keys: integrators and dashboards show the same few credentials again and again. */
  verified: Map<string, VerifiedClaim>;
};

/** A workspace's slug. */
export const WORKSPACE = /^[a-z0-9][a-z0-9-]{0,39}$/;

const VERSION = 1;
const PREFIXES = { api_key: "ugk", token: "ugt" } as const;
const TAG_WORDS = ["customer", "testing", "untagged"] as const;
const TAGS: Record<(typeof TAG_WORDS)[number], EnvironmentTag> = {
  customer: "Customer",
  testing: "Testing",
  untagged: null,
};
// The payload is of 45 to 115 bytes, by the lengths of the key id and the workspace.
const CREDENTIAL = /^ug[kt]_(customer|testing|untagged)_([\w-]{60,154})$/;
const SIGNING_KEY = /^([\w-]{1,32}):([A-Za-z0-9+/]+={0,2})$/;
const HMAC = { name: "HMAC", hash: "SHA-256" };
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

const utf8 = new TextEncoder();
const ascii = new TextDecoder();

/** Whether `text` is a workspace's slug: lower-case letters, digits and inner hyphens, 40 at most. */
export const isWorkspace = (text: string): boolean => WORKSPACE.test(text);

/** 128 random bits, the part of a credential that only the directory keeps. */
export const newNonce = (): ArrayBuffer => crypto.getRandomValues(new Uint8Array(NONCE_BYTES)).buffer;

/** Compares nonces in constant time. */
export const sameNonce = (one: ArrayBuffer, other: BufferSource): boolean =>
  one.byteLength === other.byteLength && crypto.subtle.timingSafeEqual(one, other);

/**
 * Reads `SIGNING_KEYS`: `id:base64,id:base64`, each key of 32 to 64 bytes. A failure is the sentence that tells the
 * operator what is wrong, and never quotes a key.
 */
export async function parseSigningKeys(text: string): Promise<Result<SigningRing, string>> {
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.length > SIGNING_KEYS_MAX)
    return fail(`it holds ${entries.length} keys; ${SIGNING_KEYS_MAX} is the most`);

  const keys = new Map<string, CryptoKey>();
  for (const [index, entry] of entries.entries()) {
    const [, id, base64] = SIGNING_KEY.exec(entry) ?? [];
    if (!id || !base64) return fail(`entry ${index + 1} is not of the form id:base64`);
    if (keys.has(id)) return fail(`the id of entry ${index + 1} is given twice`);
    const secret = decode(base64, "base64");
    if (!secret) return fail(`entry ${index + 1} is not valid base64`);
    if (secret.length < SIGNING_KEY_BYTES_MIN || secret.length > SIGNING_KEY_BYTES_MAX)
      return fail(
        `entry ${index + 1} has ${secret.length} bytes; give ${SIGNING_KEY_BYTES_MIN} to ${SIGNING_KEY_BYTES_MAX}`,
      );
    keys.set(id, await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]));
  }
  return ok({ signingId: [...keys.keys()][0] ?? "", keys, verified: new Map() });
}

/**
 * Makes the credential of `claim`, signed with the ring's first key, or with `signingId` while the ring has that one. The
 * same nonce and key give the same string.
 */
export async function mintCredential(
  ring: SigningRing,
  kind: CredentialKind,
  claim: Claim,
  signingId = ring.signingId,
): Promise<string> {
  const signer = ring.keys.has(signingId) ? signingId : ring.signingId;
  const { workspace, tag } = claim.environment;
  const prefix = `${PREFIXES[kind]}_${(tag ?? "untagged").toLowerCase()}_`;
  const signerId = utf8.encode(signer);
  const slug = utf8.encode(workspace);
  const number = new Uint8Array(8);
  new DataView(number.buffer).setBigUint64(0, BigInt(claim.id));
  const body = concat([VERSION, signerId.length], signerId, [slug.length], slug, number, claim.nonce);
  const mac = await macOf(ring, signer, prefix, body);
  if (!mac) throw new Error("The signing ring lacks its own first key.");
  return prefix + concat(body, mac.subarray(0, MAC_BYTES)).toBase64(BASE64URL);
}

/**
 * What the credential claims, or `undefined` for anything that this service never signed: another kind, another
 * spelling of the same bytes, a key that left the ring. It reads nothing but its arguments.
 */
export async function verifyCredential(
  ring: SigningRing,
  kind: CredentialKind,
  credential: string,
): Promise<VerifiedClaim | undefined> {
  if (!credential.startsWith(PREFIXES[kind])) return undefined;
  const known = ring.verified.get(credential);
  if (known) return known;
  const claim = await verify(ring, credential);
  if (!claim) return undefined;
  if (ring.verified.size === VERIFIED_MAX) ring.verified.clear();
  ring.verified.set(credential, claim);
  return claim;
}

async function verify(ring: SigningRing, credential: string): Promise<VerifiedClaim | undefined> {
  const [, word, payload] = CREDENTIAL.exec(credential) ?? [];
  const tagWord = TAG_WORDS.find((each) => each === word);
  if (!tagWord || !payload) return undefined;
  const bytes = decode(payload, "base64url");
  if (!bytes || bytes.toBase64(BASE64URL) !== payload) return undefined;

  const body = bytes.subarray(0, -MAC_BYTES);
  const fields = readFields(body);
  if (!fields) return undefined;
  const mac = await macOf(ring, fields.signingId, credential.slice(0, -payload.length), body);
  if (!mac || !crypto.subtle.timingSafeEqual(mac.subarray(0, MAC_BYTES), bytes.subarray(-MAC_BYTES))) return undefined;
  const { workspace, id, nonce } = fields;
  // The part of the MAC that no credential carries: as good as random to all who lack the signing key.
  const fingerprint = mac.subarray(MAC_BYTES).toHex();
  return { environment: { workspace, tag: TAGS[tagWord] }, id, nonce, fingerprint };
}

function readFields(body: Uint8Array<ArrayBuffer>) {
  const signingIdEnd = 2 + (body[1] ?? 0);
  const workspaceEnd = signingIdEnd + 1 + (body[signingIdEnd] ?? 0);
  if (body[0] !== VERSION || body.length !== workspaceEnd + 8 + NONCE_BYTES) return undefined;
  return {
    signingId: ascii.decode(body.subarray(2, signingIdEnd)),
    workspace: ascii.decode(body.subarray(signingIdEnd + 1, workspaceEnd)),
    id: Number(new DataView(body.buffer, workspaceEnd, 8).getBigUint64(0)),
    nonce: body.slice(workspaceEnd + 8),
  };
}

async function macOf(ring: SigningRing, signingId: string, prefix: string, body: Uint8Array) {
  const key = ring.keys.get(signingId);
  return key && new Uint8Array(await crypto.subtle.sign(HMAC, key, concat(utf8.encode(prefix), body)));
}

function decode(text: string, alphabet: "base64" | "base64url"): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text, { alphabet });
  } catch {
    return undefined;
  }
}

function concat(...parts: ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
