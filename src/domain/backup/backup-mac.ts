import { toBase64url, utf8 } from "../bytes.ts";
import type { SigningRing } from "../credentials/credential.ts";
import { deriveBytes } from "../credentials/session-key.ts";

/**
 * The MACs of backups: HMAC-SHA-256 under keys that are derived from a signing key by HKDF-SHA-256 (RFC 5869) without a salt. So the MAC
 * of one purpose never counts for another, or as the signature of a credential.
 */
type Purpose = "page" | "cursor";

/** Must never change: under keys of another text, no backup and no cursor of before is valid. */
const INFOS: Record<Purpose, string> = {
  page: "user-group-service backup page HMAC-SHA-256 v1",
  cursor: "user-group-service backup cursor HMAC-SHA-256 v1",
};
const KEY_BYTES = 32;
const HMAC = { name: "HMAC", hash: "SHA-256" };

/** The MAC of a text in base64url; `undefined` if the ring has no key with this id. */
async function backupMac(
  ring: SigningRing,
  signingId: string,
  purpose: Purpose,
  text: string,
): Promise<string | undefined> {
  const seed = ring.sessionSeeds[[...ring.keys.keys()].indexOf(signingId)];
  if (!seed) return undefined;
  const derived = await deriveBytes(seed, INFOS[purpose], KEY_BYTES);
  const key = await crypto.subtle.importKey("raw", derived, HMAC, false, ["sign"]);
  return toBase64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(text))));
}

/** The MAC of a text under the ring's first key, and the id of that key. */
export async function signForBackup(
  ring: SigningRing,
  purpose: Purpose,
  text: string,
): Promise<{ signingId: string; mac: string }> {
  const mac = await backupMac(ring, ring.signingId, purpose, text);
  if (mac === undefined) throw new Error("The signing ring lacks its own first key.");
  return { signingId: ring.signingId, mac };
}

/** Whether the MAC of a text is this one, compared in constant time; `undefined` if the ring has no key with this id. */
export async function verifyBackupMac(
  ring: SigningRing,
  { signingId, mac }: { signingId: string; mac: string },
  purpose: Purpose,
  text: string,
): Promise<boolean | undefined> {
  const expected = await backupMac(ring, signingId, purpose, text);
  if (expected === undefined) return undefined;
  const [one, other] = [utf8.encode(expected), utf8.encode(mac)];
  return one.length === other.length && crypto.subtle.timingSafeEqual(one, other);
}
