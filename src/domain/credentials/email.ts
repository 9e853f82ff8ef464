import { EMAIL_UNITS_MAX } from "../../../common/limits.ts";

/** What browsers take for an address (HTML, section 4.10.5.1.5). All of it is ASCII: no other letter becomes an ASCII one in lower case. */
export const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** An e-mail address in lower case, as addresses are compared and stored; `undefined` for any other value. */
export function normalizeEmail(value: unknown): string | undefined {
  const isEmail = typeof value === "string" && value.length <= EMAIL_UNITS_MAX && EMAIL.test(value);
  return isEmail ? value.toLowerCase() : undefined;
}
