import { SESSION_KEY } from "../../../common/session-key-derivation.ts";
import { sha256, toBase64url, utf8 } from "../bytes.ts";

/** What a key pair of viewer sessions is derived from: a signing key, as a key of HKDF. */
export type SessionSeed = CryptoKey;

/** The public half of a key pair, as anybody may see it (RFC 7517). */
export type PublicJwk = { kty: "EC"; crv: "P-256"; x: string; y: string; kid: string; alg: "ES256"; use: "sig" };

/** A key pair that signs and verifies viewer sessions. */
export type SessionKey = {
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  jwk: PublicJwk;
  /** The only header of this key's sessions, as it stands in their text. */
  header: string;
};

/** PKCS #8 (RFC 5958) of an ECPrivateKey (RFC 5915) on P-256 without its public part, in hex, up to the scalar. */
const PKCS8_START = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420";
const ECDSA = { name: "ECDSA", namedCurve: "P-256" };

/** Imports a signing key as the seed of a key pair. */
export const importSeed = (signingKey: Uint8Array<ArrayBuffer>): Promise<SessionSeed> =>
  crypto.subtle.importKey("raw", signingKey, "HKDF", false, ["deriveBits"]);

/** Derives the key pair of a signing key: always the same one. */
export async function deriveSessionKey(seed: SessionSeed): Promise<SessionKey> {
  const pkcs8 = await pkcs8Of(seed);
  const whole = await crypto.subtle.importKey("pkcs8", pkcs8, ECDSA, true, ["sign"]);
  const exported = await crypto.subtle.exportKey("jwk", whole);
  if (exported instanceof ArrayBuffer || !exported.x || !exported.y)
    throw new Error("A session key has no public part.");

  const point = { kty: "EC", crv: "P-256", x: exported.x, y: exported.y } as const;
  const kid = await thumbprintOf(point);
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", pkcs8, ECDSA, false, ["sign"]),
    publicKey: await crypto.subtle.importKey("jwk", point, ECDSA, false, ["verify"]),
    jwk: { ...point, kid, alg: "ES256", use: "sig" },
    header: toBase64url(utf8.encode(JSON.stringify({ alg: "ES256", typ: "JWT", kid }))),
  };
}

/** Derives bytes from a seed by HKDF-SHA-256 (RFC 5869) without a salt. `info` is a text of its own for each purpose. */
export function deriveBytes(seed: SessionSeed, info: string, bytes: number): Promise<ArrayBuffer> {
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: utf8.encode(info) };
  return crypto.subtle.deriveBits(hkdf, seed, bytes * 8);
}

/** The private key: derived bytes, reduced to a scalar from 1 to the order - 1 (FIPS 186-5, A.2.1). */
async function pkcs8Of(seed: SessionSeed): Promise<Uint8Array<ArrayBuffer>> {
  const derived = new Uint8Array(await deriveBytes(seed, SESSION_KEY.info, SESSION_KEY.derivedBytes));
  const scalar = (BigInt(`0x${derived.toHex()}`) % (SESSION_KEY.order - 1n)) + 1n;

  return Uint8Array.fromHex(PKCS8_START + scalar.toString(16).padStart(64, "0"));
}

/** The name of a public key (RFC 7638): a hash of exactly these members, in this order. */
async function thumbprintOf({ crv, kty, x, y }: Omit<PublicJwk, "kid" | "alg" | "use">): Promise<string> {
  const members = utf8.encode(JSON.stringify({ crv, kty, x, y }));
  return toBase64url(new Uint8Array(await sha256(members)));
}
