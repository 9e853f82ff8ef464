import { attempt } from "../../common/attempt.ts";

export const utf8 = new TextEncoder();

/** Throws for bytes that are not UTF-8. */
export const utf8Text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const sha256 = (bytes: Uint8Array): Promise<ArrayBuffer> => crypto.subtle.digest("SHA-256", bytes);

/** Bytes as base64url without padding (RFC 4648, section 5), as credentials, sessions and MACs are written. */
export const toBase64url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** The bytes of base64url, with or without padding. Throws for any other text. */
export const fromBase64url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(text, { alphabet: "base64url" });

/** The bytes of base64url in its only spelling: without padding and stray bits. */
export function ownBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = attempt(() => fromBase64url(text));
  return bytes && toBase64url(bytes) === text ? bytes : undefined;
}

/** Joins pieces into one. */
export function concat(...pieces: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
