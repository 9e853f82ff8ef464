import { attempt } from "../../../common/attempt.ts";
import {
  ASSERTION_CLOCK_SECONDS_MAX,
  ASSERTION_SPAN_DAYS_MAX,
  ASSERTION_SPAN_SECONDS_MAX,
  ASSERTION_UNITS_MAX,
  KEY_ID_UNITS_MAX,
  PROVIDER_KEYS_MAX,
  RSA_BITS_MAX,
  RSA_BITS_MIN,
} from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { Sso } from "../../../common/settings/settings.ts";
import { fromBase64url, utf8, utf8Text } from "../bytes.ts";
import { isObject } from "../json.ts";
import { normalizeEmail } from "./operators.ts";

/**
 * Assertions of an identity-aware proxy: JWTs (RFC 7519) in the compact form, which name the person who makes a request. Nothing here
 * does I/O. No failure quotes the assertion, which is a credential.
 */

/** The person whom an assertion names, by the address in lower case, and when the provider made it, in seconds since 1970. */
export type Assertion = { email: string; issuedAtSeconds: number };

/** What an assertion says, before its signature is verified. */
export type UnverifiedAssertion = Assertion & {
  keyId: string;
  algorithm: Algorithm;
  signed: string;
  signature: string;
};

/** A public key of the provider. It verifies assertions of its own algorithm alone (RFC 8725, section 3.1). */
export type ProviderKey = { id: string; algorithm: Algorithm; key: CryptoKey };

/** What RFC 7518, sections 3.3 and 3.4, says of the two algorithms, by the parameters of WebCrypto. */
const ALGORITHMS = {
  ES256: {
    keyType: "EC",
    curve: "P-256",
    imported: { name: "ECDSA", namedCurve: "P-256" },
    verified: { name: "ECDSA", hash: "SHA-256" },
  },
  RS256: {
    keyType: "RSA",
    curve: undefined,
    imported: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    verified: { name: "RSASSA-PKCS1-v1_5" },
  },
} as const;
type Algorithm = keyof typeof ALGORITHMS;

const isAlgorithm = (value: unknown): value is Algorithm =>
  typeof value === "string" && Object.hasOwn(ALGORITHMS, value);

const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;
/**
 * Reads an assertion at the time `now`, in milliseconds since 1970. Everything but its signature is checked, so that only an assertion
 * for this service makes it look for a key. A failure says what is wrong, for the log.
 */
export function readAssertion(
  text: string,
  { issuer, audience }: Pick<Sso, "issuer" | "audience">,
  now: number,
): Result<UnverifiedAssertion, string> {
  if (text.length > ASSERTION_UNITS_MAX) return fail(`it is longer than ${ASSERTION_UNITS_MAX} characters`);
  const [, header = "", payload = "", signature = ""] = COMPACT.exec(text) ?? [];
  const [head, claims] = [jsonIn(header), jsonIn(payload)];
  if (!head || !claims) return fail("it is no JWT in the compact form, or the request has several");
  const { alg, kid } = head;
  if (!isAlgorithm(alg)) return fail("its alg is neither ES256 nor RS256");
  // An extension that the service does not know would change what the assertion means (RFC 7515, section 4.1.11).
  if ("crit" in head) return fail("it has the header crit");
  if (typeof kid !== "string" || kid === "") return fail("it has no kid");
  if (claims.iss !== issuer) return fail("its iss is not SSO_ISSUER");
  const problem = audienceProblemOf(claims, audience) ?? untimelinessOf(claims, now / 1000);
  if (problem !== undefined) return fail(problem);
  if (![undefined, true, "true"].some((verified) => verified === claims.email_verified))
    return fail("its email_verified is not true");
  const email = normalizeEmail(claims.email);
  if (email === undefined) return fail("it has no email, or one that is no address in ASCII");
  const signed = `${header}.${payload}`;
  return ok({ email, issuedAtSeconds: Number(claims.iat), keyId: kid, algorithm: alg, signed, signature });
}

/**
 * Why the assertion is for somebody else, if it is. Of several audiences, `azp` is the one that it was issued to (OpenID Connect Core,
 * sections 2 and 3.1.3.7). Otherwise another client of the provider could have it issued, and present it here.
 */
function audienceProblemOf({ aud, azp }: Record<string, unknown>, audience: string): string | undefined {
  const audiences = [aud].flat();
  if (!audiences.includes(audience) || audiences.some((each) => typeof each !== "string"))
    return "its aud is not SSO_AUDIENCE";
  const isOurs = azp === audience || audiences.every((each) => each === audience);
  return isOurs ? undefined : "it has several aud, and its azp is not SSO_AUDIENCE";
}

/** Why the assertion is not valid at this time, in seconds since 1970, if it is not. */
function untimelinessOf({ exp, iat, nbf }: Record<string, unknown>, now: number): string | undefined {
  if (!isTime(exp) || !isTime(iat) || !(nbf === undefined || isTime(nbf)))
    return "its exp, iat or nbf is missing, or no number of seconds since 1970";
  if (exp + ASSERTION_CLOCK_SECONDS_MAX <= now) return "it has expired";
  const isEarly = [iat, nbf ?? iat].some((time) => time - ASSERTION_CLOCK_SECONDS_MAX > now);
  if (isEarly) return "its iat or nbf is in the future";
  const span = Math.max(now - iat, exp - now);
  return span > ASSERTION_SPAN_SECONDS_MAX
    ? `its iat or exp is more than ${ASSERTION_SPAN_DAYS_MAX} days from now`
    : undefined;
}

/** A NumericDate, which may have a fraction (RFC 7519, section 2). */
const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value >= 0;

/** The JSON object in a part of a JWT. */
function jsonIn(part: string): Record<string, unknown> | undefined {
  const value: unknown = attempt(() => JSON.parse(utf8Text.decode(fromBase64url(part))));
  return isObject(value) ? value : undefined;
}

/** Whether this key has signed the assertion. */
export async function hasSigned(
  { algorithm, key }: ProviderKey,
  { signature, signed }: UnverifiedAssertion,
): Promise<boolean> {
  try {
    const { verified } = ALGORITHMS[algorithm];
    return await crypto.subtle.verify(verified, key, fromBase64url(signature), utf8.encode(signed));
  } catch {
    // Text that is no base64url, or of a length that no signature has.
    return false;
  }
}

/**
 * Imports the keys of a JWK Set (RFC 7517, section 5) that can verify assertions. Others are left out: providers publish keys of other
 * kinds and for other uses in one set.
 */
export async function importProviderKeys(jwks: unknown): Promise<ProviderKey[]> {
  const { keys }: { keys?: unknown } = Object(jwks);
  const imported = await Promise.all((Array.isArray(keys) ? keys : []).slice(0, PROVIDER_KEYS_MAX).map(importKey));
  return imported.filter((key) => key !== undefined);
}

async function importKey(jwk: unknown): Promise<ProviderKey | undefined> {
  const { kid, kty, crv, x, y, n, e, alg, use } = Object(jwk) as Record<string, string | undefined>;
  const algorithm: Algorithm = kty === "RSA" ? "RS256" : "ES256";
  const { keyType, curve, imported } = ALGORITHMS[algorithm];
  const isForAssertions =
    kty === keyType && crv === curve && (alg ?? algorithm) === algorithm && (use ?? "sig") === "sig";
  if (!isForAssertions || typeof kid !== "string" || kid.length > KEY_ID_UNITS_MAX) return undefined;
  // Without its other members, such as key_ops, which WebCrypto would compare.
  const members = kty === "RSA" ? { kty, n, e } : { kty, crv, x, y };
  try {
    const key = await crypto.subtle.importKey("jwk", members as JsonWebKey, imported, false, ["verify"]);
    return hasUsableSize(key) ? { id: kid, algorithm, key } : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 7518, section 3.3, asks for 2048 bits or more. */
function hasUsableSize({ algorithm }: CryptoKey): boolean {
  const bits = "modulusLength" in algorithm ? algorithm.modulusLength : RSA_BITS_MIN;
  return bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX;
}
