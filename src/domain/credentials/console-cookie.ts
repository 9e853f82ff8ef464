import { CONSOLE_COOKIE_BYTES, DAY_MS, MAC_BYTES } from "../../../common/limits.ts";
import { fromBase64url, sha256, toBase64url, utf8, utf8Text } from "../bytes.ts";
import type { PresentedConsoleSession } from "./caller.ts";
import { macOf, newNonce, type SigningRing } from "./credential.ts";

/**
 * The cookie of a console session: `<signing key id>.<32 random bytes>.<MAC>`, where the MAC is HMAC-SHA-256, cut to 128 bits. So a
 * guessed cookie is refused without I/O. The registry stores only the SHA-256 of the random bytes. A session that began with an assertion
 * has `.<address>` before the MAC, in base64url, and a MAC of another purpose. Release 1.0 would not ask for an assertion, and refuses it.
 */
const COOKIE = /^([\w-]{1,32})\.([\w-]{43})(?:\.([\w-]{1,400}))?\.([\w-]{22})$/;

/** The first word of each text under a MAC. No credential begins with one, so no MAC counts for another. */
type Purpose =
  | "console-cookie"
  | "console-company-cookie"
  | "console-bootstrap"
  | "console-form"
  | "console-form-origin";

/** A session of the console as the Worker knows it from its cookie. With an `email`, it needs an assertion for that address. */
export type ConsoleSession = PresentedConsoleSession & { signingId: string; email?: string };

const macFor = (ring: SigningRing, signingId: string, purpose: Purpose, text: string) =>
  macOf(ring, signingId, utf8.encode(`${purpose} ${text}`));

/** A MAC as a text. It is empty if the ring lacks the key. */
async function signatureOf(ring: SigningRing, signingId: string, purpose: Purpose, text: string): Promise<string> {
  const mac = await macFor(ring, signingId, purpose, text);
  return mac ? toBase64url(mac.subarray(0, MAC_BYTES)) : "";
}

/**
 * Makes a new session and its cookie. `operatorToken` is the bootstrap token, if there is one. `email` is the address of the assertion with
 * which it begins, if it begins with one.
 */
export async function mintConsoleSession(
  ring: SigningRing,
  operatorToken: string | undefined,
  email?: string,
): Promise<{ cookie: string; session: ConsoleSession }> {
  const secret = toBase64url(crypto.getRandomValues(new Uint8Array(CONSOLE_COOKIE_BYTES)));
  const address = email === undefined ? [] : [toBase64url(utf8.encode(email))];
  const text = [secret, ...address].join(".");
  const cookie = `${ring.signingId}.${text}.${await cookieSignature(ring, ring.signingId, text)}`;
  const session = await verifyConsoleCookie(ring, operatorToken, cookie);
  if (!session) throw new Error("A new cookie was refused.");
  return { cookie, session };
}

/** The session of a cookie, or `undefined` if this service did not make it. It does no I/O. */
export async function verifyConsoleCookie(
  ring: SigningRing,
  operatorToken: string | undefined,
  cookie: string,
): Promise<ConsoleSession | undefined> {
  const [, signingId = "", secret = "", address, signature = ""] = COOKIE.exec(cookie) ?? [];
  const text = address === undefined ? secret : `${secret}.${address}`;
  if (!sameText(await cookieSignature(ring, signingId, text), signature)) return undefined;
  const bootstrapMac =
    operatorToken === undefined ? undefined : await macFor(ring, signingId, "console-bootstrap", operatorToken);
  return {
    signingId,
    sessionHash: await sha256(utf8.encode(secret)),
    bootstrapMac: bootstrapMac?.buffer ?? null,
    ...(address !== undefined && { email: utf8Text.decode(fromBase64url(address)) }),
  };
}

/** The signature of a cookie's random bytes, and of the address after them if it has one. */
const cookieSignature = (ring: SigningRing, signingId: string, text: string): Promise<string> =>
  signatureOf(ring, signingId, text.includes(".") ? "console-company-cookie" : "console-cookie", text);

/**
 * Makes the hidden field of a form: its id, a signature for this session and this path, and one for the path alone, which outlives the
 * session. Release 1.0.0 reads the first two.
 */
export async function mintFormToken(ring: SigningRing, session: ConsoleSession, path: string): Promise<string> {
  const id = newFormId(Date.now());
  const origin = await originSignature(ring, ring.signingId, path, id);
  return [id, await formSignature(ring, session, path, id), origin].join(".");
}

/**
 * Whether this service has made the form for this path at most a day ago, for whichever session. It permits no change: it says that
 * the form is none that another page of this origin has made up.
 */
export async function isOwnForm(ring: SigningRing, path: string, token: string): Promise<boolean> {
  const [id = "", , signature = ""] = token.split(".");
  if (!FORM_ID.test(id) || Math.abs(Date.now() - timeOfForm(id)) > DAY_MS) return false;
  const expected = [...ring.keys.keys()].map((signingId) => originSignature(ring, signingId, path, id));
  return (await Promise.all(expected)).some((each) => sameText(each, signature));
}

const FORM_ID = /^[\w-]{22}$/;

/**
 * An id of a form: 2 bytes that begin every id, 6 of the time in milliseconds, 8 random ones. So ids grow with time, and the lowest are
 * forgotten first. Release 1.0.0 takes such ids too. Its own are random, and nearly all of them are lower.
 */
function newFormId(now: number): string {
  const id = newNonce();
  new DataView(id.buffer).setBigUint64(0, 0xffff_0000_0000_0000n | BigInt(now));
  return toBase64url(id);
}

/** The order of ids by time, the newest first. */
export const newestFormFirst = (one: string, other: string): number => (hexOf(one) < hexOf(other) ? 1 : -1);

/** When a form was made, in milliseconds since 1970. */
const timeOfForm = (id: string): number => Number.parseInt(hexOf(id).slice(4, 16), 16);

const hexOf = (id: string): string => fromBase64url(id).toHex();

/** The id of a form that was made for this session and this path. */
export async function verifyFormToken(
  ring: SigningRing,
  session: ConsoleSession,
  path: string,
  token: string,
): Promise<string | undefined> {
  const [id = "", signature = ""] = token.split(".");
  return FORM_ID.test(id) && sameText(await formSignature(ring, session, path, id), signature) ? id : undefined;
}

const formSignature = (ring: SigningRing, { signingId, sessionHash }: ConsoleSession, path: string, id: string) =>
  signatureOf(ring, signingId, "console-form", `${new Uint8Array(sessionHash).toHex()} ${path} ${id}`);

const originSignature = (ring: SigningRing, signingId: string, path: string, id: string): Promise<string> =>
  signatureOf(ring, signingId, "console-form-origin", `${path} ${id}`);

/** Compares texts in a time that depends on their lengths alone. */
function sameText(one: string, other: string): boolean {
  const [left, right] = [utf8.encode(one), utf8.encode(other)];
  return left.length > 0 && left.length === right.length && crypto.subtle.timingSafeEqual(left, right);
}
