import type { JsonObject, JsonValue } from "../transport/json.ts";
import { refusal } from "./refusal.ts";

/** A viewer session that a page has presented, and that is valid. */
export type VerifiedSession = {
  /** The number of the customer's group, which never changes. Decide by it whose data to show. */
  teamId: number;
  /** The customer's id at the time of the mint, for people to read: after a rename, another group may have it. */
  userGroupId: string;
  /** Your id of the person, if the mint had one. */
  viewerId: string | undefined;
  /** What only this person may see; empty if the mint had none. */
  viewerProperties: JsonObject;
  /** The variables of the group: the present ones with `client`; with `jwks` those in the session, if the mint included them. */
  variables: JsonObject;
  /** All claims, for a setting that row-level security reads. */
  claims: JsonObject;
  /** The session itself. */
  token: string;
};

/** What a session must match besides its signature. The service itself knows its issuer. */
export type Expected = { audience: string; origin: string | null; issuer?: string };

/** The longest session that the service mints. */
const TOKEN_CHARACTERS_MAX = 8_000;

/** Before TypeScript 5.7, `Uint8Array` takes no parameter. */
export type Bytes = ReturnType<typeof Uint8Array.from>;

/** The three parts of a JWT, decoded. */
export type Jwt = { header: JsonObject; claims: JsonObject; signature: Bytes; signed: string };

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses a JWT, without verifying its signature. Returns `undefined` for any other text. */
export function parseJwt(token: string): Jwt | undefined {
  if (token.length > TOKEN_CHARACTERS_MAX || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
  const [head = "", body = "", tail = ""] = token.split(".");
  try {
    const [header, claims] = [head, body].map((part) =>
      JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(part))),
    );
    if (!isObject(header) || !isObject(claims)) return undefined;
    return { header, claims, signature: bytesOf(tail), signed: `${head}.${body}` };
  } catch {
    return undefined;
  }
}

const bytesOf = (base64url: string): Bytes =>
  Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

/** The refusal of a session whose claims do not fit; `undefined` if they do. Its sentences are for the page's programmer. */
export function problemOf(claims: JsonObject, { audience, issuer, origin }: Expected): Response | undefined {
  const { iss, aud, exp, origins } = claims;
  if (issuer !== undefined && iss !== issuer) return mismatch("issuer", iss, issuer);
  if (aud !== audience) return mismatch("environment", aud, audience);
  if (typeof exp !== "number" || !Number.isSafeInteger(claims.team_id) || typeof claims.sub !== "string")
    return refusal("unauthenticated", { message: "This is no viewer session." });
  if (exp <= Date.now() / 1000) return refusal("credential_expired");
  if (origin !== null && origins !== undefined && !(Array.isArray(origins) && origins.includes(origin)))
    return refusal("origin_not_allowed", { message: "This session is for pages of other origins." });
  return undefined;
}

const mismatch = (what: string, found: JsonValue | undefined, expected: string) =>
  refusal("unauthenticated", {
    message: `This session is of the ${what} ${JSON.stringify(found)}. This API takes those of ${JSON.stringify(expected)}.`,
  });

/** A session of these claims, which have been verified. */
export const toVerifiedSession = (claims: JsonObject, token: string): VerifiedSession => ({
  teamId: Number(claims.team_id),
  userGroupId: String(claims.sub),
  viewerId: typeof claims.viewer_id === "string" ? claims.viewer_id : undefined,
  viewerProperties: isObject(claims.viewer_properties) ? claims.viewer_properties : {},
  variables: isObject(claims.variables) ? claims.variables : {},
  claims,
  token,
});
