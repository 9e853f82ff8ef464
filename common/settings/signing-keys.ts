import { attempt } from "../attempt.ts";
import { SIGNING_KEY_BYTES_MAX, SIGNING_KEY_BYTES_MIN, SIGNING_KEYS_MAX } from "../limits.ts";
import { fail, ok, type Result } from "../result.ts";

/** A signing key as `SIGNING_KEYS` has it. */
export type SigningKey = { id: string; secret: Uint8Array<ArrayBuffer> };

const ENTRY = /^([\w-]{1,32}):([A-Za-z0-9+/]+={0,2})$/;

/**
 * Reads `SIGNING_KEYS`: `id:base64,id:base64`, each key of 32 to 64 bytes. A failure says what is wrong and never quotes a key. It
 * runs in Node too, which has no `Uint8Array.fromBase64` before version 25.
 */
export function readSigningKeys(text: string): Result<SigningKey[], string> {
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.length > SIGNING_KEYS_MAX)
    return fail(`it holds ${entries.length} keys; ${SIGNING_KEYS_MAX} is the most`);

  const keys: SigningKey[] = [];
  for (const [index, entry] of entries.entries()) {
    const [, id, base64] = ENTRY.exec(entry) ?? [];
    if (!id || !base64) return fail(`entry ${index + 1} is not of the form id:base64`);
    if (keys.some((key) => key.id === id)) return fail(`the id of entry ${index + 1} is given twice`);
    const secret = attempt(() => bytesOf(base64));
    if (!secret) return fail(`entry ${index + 1} is not valid base64`);
    if (secret.length < SIGNING_KEY_BYTES_MIN || secret.length > SIGNING_KEY_BYTES_MAX)
      return fail(
        `entry ${index + 1} has ${secret.length} bytes; give ${SIGNING_KEY_BYTES_MIN} to ${SIGNING_KEY_BYTES_MAX}`,
      );
    keys.push({ id, secret });
  }
  return ok(keys);
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
