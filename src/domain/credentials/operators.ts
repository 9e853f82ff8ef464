import { EMAIL_UNITS_MAX } from "../../../common/limits.ts";
import { fail, type Result } from "../../../common/result.ts";
import type { StoredKey } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import type { Author } from "./caller.ts";
import type { KeyRoll, Keys } from "./keys.ts";

/** What operators have besides the keys of `keys.ts`: an address, and perhaps no key. */

/** What browsers take for an address (HTML, section 4.10.5.1.5). All of it is ASCII: no other letter becomes an ASCII one in lower case. */
export const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** An e-mail address in lower case, as addresses are compared and stored; `undefined` for any other value. */
export function normalizeEmail(value: unknown): string | undefined {
  const isEmail = typeof value === "string" && value.length <= EMAIL_UNITS_MAX && EMAIL.test(value);
  return isEmail ? value.toLowerCase() : undefined;
}

/**
 * In place of the hash, of an operator without a key. No nonce has this SHA-256, so nobody can present one, also not to release 1.0. It has
 * the length of a hash, so that the backups of that release can be restored.
 */
export const NO_KEY_HASH: ArrayBuffer = new ArrayBuffer(32);

/** Whether an operator has a key. */
export const hasKey = ({ nonceHash }: Pick<StoredKey, "nonceHash">): boolean =>
  new Uint8Array(nonceHash).some((byte) => byte !== 0);

/** There is no such operator, or it is not valid. */
export const NO_OPERATOR: Result<never, FailureOf<"operator_not_found">> = fail({ code: "operator_not_found" });

export type RollOperatorFailure = FailureOf<
  "operator_not_found" | "operator_without_key" | "environment_full" | "email_taken"
>;

/** Rolls the key of an operator, if it is valid and has one. In its grace, its address belongs to its successor, so only one may have it. */
export function rollOperatorKey(
  operators: Keys,
  author: Author,
  id: number,
  roll: KeyRoll,
): Result<StoredKey, RollOperatorFailure> {
  const key = operators.findValid(id);
  if (key && !hasKey(key)) return fail({ code: "operator_without_key" });
  if (key?.email && operators.findValidByEmail(key.email)?.id !== id) return fail({ code: "email_taken" });
  return operators.roll(author, id, roll) ?? NO_OPERATOR;
}
