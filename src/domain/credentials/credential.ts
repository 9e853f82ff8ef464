import { directoryName, ENVIRONMENT_TAGS, type Environment, tagWord } from "../../../common/environment.ts";
import { MAC_BYTES, MINTED_TOKENS_MAX, NONCE_BYTES, VERIFIED_CREDENTIALS_MAX } from "../../../common/limits.ts";
import type { SigningKey } from "../../../common/settings/signing-keys.ts";
import { concat, ownBase64url, sha256, toBase64url, utf8 } from "../bytes.ts";
import { importSeed, type SessionKey, type SessionSeed } from "./session-key.ts";
import { VerifiedSessions } from "./verified-sessions.ts";

/**
 * Credentials: `ugk_<tag>_<payload>` is an API key, `ugt_<tag>_<payload>` the token of a user group, and `ugo_<payload>` the
 * key of an operator. The payload is base64url (RFC 4648, section 5, without padding) of
 *
 *     version 1 | length, signing key id | length, workspace | 8-byte number | 16-byte nonce | 16-byte MAC
 *
 * where the MAC is HMAC-SHA-256 (RFC 2104, cut to 128 bits) over the prefix and all bytes before it. An operator's key has
 * an empty workspace. The Worker has the signing keys, the Durable Objects have the nonces, and it takes both to make a
 * credential.
 */

/** The number of the credential's key or group, and the nonce. */
type Numbered = { id: number; nonce: Uint8Array<ArrayBuffer> };

/** The content of a credential. */
export type Claim = Numbered &
  (
    | { kind: "api_key"; environment: Environment }
    | { kind: "token"; environment: Environment }
    | { kind: "operator_key" }
  );

type TokenClaim = Extract<Claim, { kind: "token" }>;

type KeyClaim = Exclude<Claim, TokenClaim>;

/**
 * The content of a credential with a valid MAC, a name for it that reveals nothing of it, the id of the key that signed it, and of a key the
 * SHA-256 of its nonce. Only a Durable Object knows whether the credential is still valid.
 */
export type VerifiedClaim = (TokenClaim | (KeyClaim & { nonceHash: ArrayBuffer })) & {
  fingerprint: string;
  signingId: string;
};

/** The verified content of a credential of this kind. */
export type VerifiedClaimOf<Kind extends Claim["kind"]> = Extract<VerifiedClaim, { kind: Kind }>;

/** The signing keys by id; the first one signs, and all of them verify. */
export type SigningRing = {
  signingId: string;
  keys: ReadonlyMap<string, CryptoKey>;
  /** A cache of verified credentials, and of tokens that were made here: the same few come again and again. */
  verified: Map<string, VerifiedClaim>;
  /** A cache of the tokens that were made, by what they are made of: callers get the same groups again and again. */
  tokens: Map<string, string>;
  verifiedSessions: VerifiedSessions;
  /** From these the key pairs of viewer sessions are derived, in the order of the keys. */
  sessionSeeds: readonly SessionSeed[];
  /** A cache of those key pairs, which are derived when a session first needs them. */
  sessionKeys?: readonly SessionKey[];
};

const VERSION = 1;
const NUMBER_BYTES = 8;
const PREFIXES = { api_key: "ugk", token: "ugt", operator_key: "ugo" } as const;
/** The tags by their spelling in a prefix. */
const TAGS = new Map(ENVIRONMENT_TAGS.map((tag) => [tagWord(tag).toLowerCase(), tag]));
const TAG_WORDS = [...TAGS.keys()].join("|");
// The payload is of 45 to 115 bytes, by the lengths of the key id and the workspace; an operator's key has no workspace.
const CREDENTIAL = new RegExp(`^(?:(ug[kt])_(${TAG_WORDS})_([\\w-]{60,154})|ugo_([\\w-]{59,100}))$`);
const HMAC = { name: "HMAC", hash: "SHA-256" };

const ascii = new TextDecoder();

/** 128 random bits. */
export const newNonce = (): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(NONCE_BYTES));

/** Compares nonces or hashes in constant time. */
export const sameBytes = (one: ArrayBuffer, other: BufferSource): boolean =>
  one.byteLength === other.byteLength && crypto.subtle.timingSafeEqual(one, other);

/** Imports the signing keys; the first one signs. */
export async function importRing(signingKeys: readonly SigningKey[]): Promise<SigningRing> {
  const keys = new Map<string, CryptoKey>();
  const sessionSeeds: SessionSeed[] = [];
  for (const { id, secret } of signingKeys) {
    keys.set(id, await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]));
    sessionSeeds.push(await importSeed(secret));
  }
  return {
    signingId: signingKeys[0]?.id ?? "",
    keys,
    verified: new Map(),
    tokens: new Map(),
    verifiedSessions: new VerifiedSessions(),
    sessionSeeds,
  };
}

/**
 * Makes the credential of `claim`, signed with the ring's first key, or with `signingId` if the ring still has that key. The
 * same claim and key give the same string.
 */
export async function mintCredential(ring: SigningRing, claim: Claim, signingId = ring.signingId): Promise<string> {
  const signer = ring.keys.has(signingId) ? signingId : ring.signingId;
  const workspace = claim.kind === "operator_key" ? "" : claim.environment.workspace;

  const prefix = prefixOf(claim);
  const char = String.fromCharCode;
  // All of it is ASCII, a byte for each character.
  const start = `${prefix}${char(VERSION, signer.length)}${signer}${char(workspace.length)}${workspace}`;
  const nonceAt = start.length + NUMBER_BYTES;
  const macAt = nonceAt + NONCE_BYTES;
  const bytes = new Uint8Array(macAt + MAC_BYTES);
  utf8.encodeInto(start, bytes);
  new DataView(bytes.buffer).setBigUint64(start.length, BigInt(claim.id));
  bytes.set(claim.nonce, nonceAt);
  const mac = await macOf(ring, signer, bytes.subarray(0, macAt));
  if (!mac) throw new Error("The signing ring lacks its own first key.");
  bytes.set(mac.subarray(0, MAC_BYTES), macAt);
  const credential = prefix + toBase64url(bytes.subarray(prefix.length));
  if (claim.kind === "token") cache(ring, credential, { ...claim, fingerprint: fingerprintOf(mac), signingId: signer });
  return credential;
}

/** Makes the token of `claim` as `mintCredential` does, and caches it. */
export async function mintToken(ring: SigningRing, claim: TokenClaim, signingId = ring.signingId): Promise<string> {
  const name = `${signingId} ${directoryName(claim.environment)} ${claim.id} ${claim.nonce.toBase64()}`;
  const cached = ring.tokens.get(name);
  if (cached !== undefined) return cached;
  const token = await mintCredential(ring, claim, signingId);
  if (ring.tokens.size === MINTED_TOKENS_MAX) ring.tokens.clear();
  ring.tokens.set(name, token);
  return token;
}

const prefixOf = (claim: Claim): string =>
  claim.kind === "operator_key"
    ? `${PREFIXES.operator_key}_`
    : `${PREFIXES[claim.kind]}_${tagWord(claim.environment.tag).toLowerCase()}_`;

/**
 * The content of a credential of any kind, or `undefined` if this service did not sign it: for another spelling of the same
 * bytes, or a key that has left the ring. It does no I/O.
 */
export async function verifyCredential(ring: SigningRing, credential: string): Promise<VerifiedClaim | undefined> {
  const cached = ring.verified.get(credential);
  if (cached) return cached;
  const claim = await verify(ring, credential);
  if (claim) cache(ring, credential, claim);
  return claim;
}

function cache(ring: SigningRing, credential: string, claim: VerifiedClaim): void {
  if (ring.verified.size === VERIFIED_CREDENTIALS_MAX) ring.verified.clear();
  ring.verified.set(credential, claim);
}

/** The part of the MAC that no credential contains looks random to everybody without the signing key. */
const fingerprintOf = (mac: Uint8Array): string => mac.subarray(MAC_BYTES).toHex();

/** Whether a text is a whole credential by its form alone, no matter who has signed it. */
export const isWholeCredential = (text: string): boolean => parse(text) !== undefined;

function parse(credential: string) {
  const [matched, prefix, word, environmentPayload, operatorPayload] = CREDENTIAL.exec(credential) ?? [];
  const payload = environmentPayload ?? operatorPayload;
  if (!matched || !payload) return undefined;
  const bytes = ownBase64url(payload);
  if (!bytes) return undefined;
  const body = bytes.subarray(0, -MAC_BYTES);
  const fields = readFields(body);
  return fields && { prefix, word, payload, bytes, body, fields };
}

async function verify(ring: SigningRing, credential: string): Promise<VerifiedClaim | undefined> {
  const parsed = parse(credential);
  if (!parsed) return undefined;
  const { prefix, word, payload, bytes, body, fields } = parsed;
  const start = utf8.encode(credential.slice(0, -payload.length));
  const mac = await macOf(ring, fields.signingId, concat(start, body));
  if (!mac || !crypto.subtle.timingSafeEqual(mac.subarray(0, MAC_BYTES), bytes.subarray(-MAC_BYTES))) return undefined;
  const { workspace, id, nonce, signingId } = fields;
  const verified = { id, nonce, fingerprint: fingerprintOf(mac), signingId };
  const tag = TAGS.get(word ?? "");
  if (tag === undefined && workspace !== "") return undefined;
  if (tag !== undefined && prefix === PREFIXES.token)
    return { ...verified, kind: "token", environment: { workspace, tag } };
  const key = { ...verified, nonceHash: await sha256(nonce) };
  return tag === undefined
    ? { ...key, kind: "operator_key" }
    : { ...key, kind: "api_key", environment: { workspace, tag } };
}

function readFields(body: Uint8Array<ArrayBuffer>) {
  const signingIdEnd = 2 + (body[1] ?? 0);
  const workspaceEnd = signingIdEnd + 1 + (body[signingIdEnd] ?? 0);
  if (body[0] !== VERSION || body.length !== workspaceEnd + NUMBER_BYTES + NONCE_BYTES) return undefined;
  return {
    signingId: ascii.decode(body.subarray(2, signingIdEnd)),
    workspace: ascii.decode(body.subarray(signingIdEnd + 1, workspaceEnd)),
    id: Number(new DataView(body.buffer, workspaceEnd, NUMBER_BYTES).getBigUint64(0)),
    nonce: body.slice(workspaceEnd + NUMBER_BYTES),
  };
}

/** The MAC of bytes under a key of the ring, if the ring has it. */
export async function macOf(ring: SigningRing, signingId: string, bytes: Uint8Array) {
  const key = ring.keys.get(signingId);
  return key && new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
}
