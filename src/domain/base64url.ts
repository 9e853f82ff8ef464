/** Bytes as base64url without padding (RFC 4648, section 5), as credentials, sessions and MACs are written. */
export const toBase64url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
