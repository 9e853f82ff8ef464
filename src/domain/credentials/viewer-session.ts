import { attempt } from "../../../common/attempt.ts";
import { directoryName, findEnvironment } from "../../../common/environment.ts";
import {
  NONCE_BYTES,
  ORIGIN_UNITS_MAX,
  SESSION_CLOCK_SECONDS_MAX,
  SESSION_ORIGINS_MAX,
  SESSION_SECONDS_MAX,
  SESSION_STALE_SECONDS_MAX,
  SESSION_UNITS_MAX,
  SESSION_VARIABLES_BYTES_MAX,
  TEXT_UNITS_MAX,
} from "../../../common/limits.ts";
import { normalizeOrigin } from "../../../common/origin.ts";
import { ownBase64url, toBase64url, utf8, utf8Text } from "../bytes.ts";
import { isObject } from "../json.ts";
import { isSessionContent } from "../user-groups/published-content.ts";
import type { SigningRing } from "./credential.ts";
import { deriveSessionKey, type PublicJwk, type SessionKey } from "./session-key.ts";
import type { SessionClaims, SignedClaims } from "./verified-sessions.ts";

/**
 * Viewer sessions: short-lived credentials of pages. A session is a JWT (RFC 7519) in the compact form, signed with ES256
 * (RFC 7518, section 3.4) by a key pair that is derived from a signing key. So anybody can verify it with the public keys,
 * and only this service can make it.
 */

/**
 * A session that this service has signed, with the key `signingId` of the ring. Only the directory knows whether it was revoked.
 * An expired session keeps only the fields for rate limits and logs.
 */
export type VerifiedSession =
  | { state: "valid"; claims: SessionClaims; signingId: string }
  | { state: "expired"; claims: Pick<SessionClaims, "environment" | "teamId" | "id">; signingId: string };

/** The claims by their published names. */
type Payload = {
  iss: string;
  aud: string;
  sub: string;
  team_id: number;
  gen: string;
  key: number;
  jti: string;
  seq: number;
  iat: number;
  exp: number;
  origins?: string[];
  viewer_id?: string;
  viewer_properties?: object;
  variables?: Record<string, unknown>;
  max_stale_seconds?: unknown;
  group?: unknown;
};

/** A header and a payload, whose first claim may have any name, and the 64 bytes of a signature. Other credentials have no dot. */
const SESSION = /^(eyJ[\w-]+)\.([\w-]+)\.([\w-]{86})$/;
const ES256 = { name: "ECDSA", hash: "SHA-256" };
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** The public keys of the whole ring, as a JWK Set (RFC 7517, section 5), each once: verifiers refuse two keys of one `kid`. */
export async function jwksOf(ring: SigningRing): Promise<{ keys: PublicJwk[] }> {
  const keys = await sessionKeysOf(ring);
  return { keys: [...new Map(keys.map(({ jwk }) => [jwk.kid, jwk])).values()] };
}

/** Makes the text of a session, signed with the ring's first key. */
export async function mintSession(ring: SigningRing, claims: SessionClaims): Promise<string> {
  const [signer] = await sessionKeysOf(ring);
  if (!signer) throw new Error("The signing ring has no key.");
  const payload = toBase64url(utf8.encode(JSON.stringify(payloadOf(claims))));
  const signed = `${signer.header}.${payload}`;
  const signature = await crypto.subtle.sign(ES256, signer.privateKey, utf8.encode(signed));
  const text = `${signed}.${toBase64url(new Uint8Array(signature))}`;
  const { extraClaims: _, ...known } = claims;
  if (text.length <= SESSION_UNITS_MAX)
    ring.verifiedSessions.keep(text, { claims: known, signingId: ring.signingId }, claims.issuedAtSeconds);
  return text;
}

/**
 * Verifies the text of a session at the time `now`, in milliseconds since 1970. Returns `undefined` for any text that is not
 * a session of this ring. Most other texts, and every other credential, are refused before any key is used. It does no I/O.
 */
export async function verifySession(
  ring: SigningRing,
  text: string,
  now: number,
): Promise<VerifiedSession | undefined> {
  const signed = await readSession(ring, text, now);
  if (!signed) return undefined;
  if (signed.claims.expiresAtSeconds * 1000 > now) return { state: "valid", ...signed };
  const { environment, teamId, id } = signed.claims;
  return { state: "expired", claims: { environment, teamId, id }, signingId: signed.signingId };
}

/** Verifies a session as `verifySession` does, and returns all claims of an expired one too: to explain it, and never to admit it. */
export async function readSession(ring: SigningRing, text: string, now: number): Promise<SignedClaims | undefined> {
  const session = ring.verifiedSessions.find(text) ?? (await checkSession(ring, text));
  if (!session) return undefined;
  const nowSeconds = now / 1000;
  const { issuedAtSeconds, expiresAtSeconds } = session.claims;
  if (expiresAtSeconds > nowSeconds) ring.verifiedSessions.keep(text, session, nowSeconds);
  else ring.verifiedSessions.remove(text);
  const seconds = expiresAtSeconds - issuedAtSeconds;
  if (seconds <= 0 || seconds > SESSION_SECONDS_MAX) return undefined;
  return issuedAtSeconds > nowSeconds + SESSION_CLOCK_SECONDS_MAX ? undefined : session;
}

/** Verifies the signature of a session, and checks each of its claims. */
async function checkSession(ring: SigningRing, text: string): Promise<SignedClaims | undefined> {
  if (text.length > SESSION_UNITS_MAX) return undefined;
  const [, header, payload = "", signature = ""] = SESSION.exec(text) ?? [];
  if (!header) return undefined;
  // A header that is not, to the letter, the one of a key of the ring is refused, whatever it says.
  const keys = await sessionKeysOf(ring);
  const index = keys.findIndex((each) => each.header === header);
  const key = keys[index];
  if (!key) return undefined;
  const payloadBytes = ownBase64url(payload);
  const signatureBytes = ownBase64url(signature);
  if (!payloadBytes || !signatureBytes) return undefined;
  const signed = utf8.encode(`${header}.${payload}`);
  if (!(await crypto.subtle.verify(ES256, key.publicKey, signatureBytes, signed))) return undefined;
  const checked = parsePayload(payloadBytes);
  const claims = checked && claimsOf(checked);
  return claims && { claims, signingId: [...ring.keys.keys()][index] ?? "" };
}

/** Whether a session may carry these variables. */
export const variablesFit = (variables: Record<string, unknown>): boolean =>
  utf8.encode(JSON.stringify(variables)).length <= SESSION_VARIABLES_BYTES_MAX;

/**
 * Whether a request with this `Origin` may present a session with these origins. Programs send none, and pass: the list
 * stops the pages of other sites. `null`, which pages without an origin of their own send, does not pass.
 */
export const allowsOrigin = (origins: readonly string[] | undefined, originHeader: string | undefined): boolean =>
  origins === undefined || originHeader === undefined || origins.includes(originHeader);

/**
 * The key pairs of the ring, derived at the first use. What is cached is not their promise: a promise belongs to the request
 * that made it, and could end with it.
 */
async function sessionKeysOf(ring: SigningRing): Promise<readonly SessionKey[]> {
  ring.sessionKeys ??= await Promise.all(ring.sessionSeeds.map(deriveSessionKey));
  return ring.sessionKeys;
}

/** The beginning of the names of all claims that later releases mint. */
const FUTURE_CLAIM = "ug_";

/**
 * Whether an integrator may add a claim of this name: no release reads it, and no verifier restricts the session by it. `nbf` is the only
 * claim that RFC 7519, section 4.1, registers and a session does not have.
 */
export const isFreeClaim = (name: string): boolean =>
  !CLAIMS.includes(name) && name !== "nbf" && !name.startsWith(FUTURE_CLAIM);

const payloadOf = (claims: SessionClaims): Payload => ({
  ...claims.extraClaims,
  iss: claims.issuer,
  aud: directoryName(claims.environment),
  sub: claims.providedId,
  team_id: claims.teamId,
  gen: toBase64url(claims.generation),
  key: claims.keyId,
  jti: claims.id,
  seq: claims.seq,
  iat: claims.issuedAtSeconds,
  exp: claims.expiresAtSeconds,
  ...(claims.origins && { origins: claims.origins }),
  ...(claims.viewerId !== undefined && { viewer_id: claims.viewerId }),
  ...(claims.viewerProperties && { viewer_properties: claims.viewerProperties }),
  ...(claims.variables && { variables: claims.variables }),
  ...(claims.stale && { max_stale_seconds: claims.stale.seconds, group: claims.stale.group }),
});

function claimsOf(payload: Payload): SessionClaims | undefined {
  const environment = findEnvironment(payload.aud);
  const generation = ownBase64url(payload.gen);
  if (!environment || generation?.length !== NONCE_BYTES) return undefined;
  const { origins, viewer_id: viewerId, viewer_properties: viewerProperties, variables } = payload;
  const stale = staleOf(payload);
  return {
    issuer: payload.iss,
    environment,
    providedId: payload.sub,
    teamId: payload.team_id,
    generation,
    keyId: payload.key,
    id: payload.jti,
    seq: payload.seq,
    issuedAtSeconds: payload.iat,
    expiresAtSeconds: payload.exp,
    ...(origins && { origins }),
    ...(viewerId !== undefined && { viewerId }),
    ...(viewerProperties && { viewerProperties }),
    ...(variables && { variables }),
    ...(stale && { stale }),
  };
}

function parsePayload(bytes: Uint8Array): Payload | undefined {
  const value: unknown = attempt(() => JSON.parse(utf8Text.decode(bytes)));
  return isPayload(value) ? value : undefined;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string" && value.length > 0 && value.length <= TEXT_UNITS_MAX;
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
const isOrigin: Check = (value) => {
  const origin = typeof value === "string" ? normalizeOrigin(value) : undefined;
  return origin?.ok === true && origin.value === value;
};

/**
 * What answers the viewer without the directory. Fields that this release does not know are ignored. Of another release, `group`
 * may lack a field that this one needs: then there is no stale answer, and the directory answers.
 */
function staleOf({ max_stale_seconds: seconds, group }: Payload): SessionClaims["stale"] {
  const isUsable = isNumber(seconds) && seconds <= SESSION_STALE_SECONDS_MAX && isSessionContent(group);
  return isUsable ? { seconds, group } : undefined;
}

const REQUIRED: Record<Exclude<keyof Payload, keyof typeof OPTIONAL | "max_stale_seconds" | "group">, Check> = {
  iss: (value) => typeof value === "string" && value.length > 0 && value.length <= ORIGIN_UNITS_MAX,
  aud: isText,
  sub: isText,
  team_id: isNumber,
  gen: isText,
  key: isNumber,
  jti: (value) => typeof value === "string" && UUID.test(value),
  seq: isNumber,
  iat: isNumber,
  exp: isNumber,
};

const OPTIONAL = {
  origins: (value: unknown) =>
    Array.isArray(value) && value.length > 0 && value.length <= SESSION_ORIGINS_MAX && value.every(isOrigin),
  viewer_id: isText,
  viewer_properties: isObject,
  variables: isObject,
};

/** The names of the claims that this release mints. */
const CLAIMS = [...Object.keys(REQUIRED), ...Object.keys(OPTIONAL), "max_stale_seconds", "group"];

/**
 * A claim that this release does not know is ignored, since only this service signs claims. So a claim that restricts a session
 * is understood by one release before the next one mints it.
 */
function isPayload(value: unknown): value is Payload {
  if (!isObject(value)) return false;
  const claims = new Map(Object.entries(value));
  const isRequired = Object.entries(REQUIRED).every(([name, check]) => check(claims.get(name)));
  const isOptional = Object.entries(OPTIONAL).every(([name, check]) => !claims.has(name) || check(claims.get(name)));
  return isRequired && isOptional;
}
