import { ok, type Result } from "../../../common/result.ts";
import { readSetting } from "../../../common/settings/settings.ts";
import { importRing, type SigningRing } from "../../domain/credentials/credential.ts";

/**
 * The imported keys, once per isolate and value. This is the ring and not its promise: a promise belongs to the request that
 * made it, and could end with it.
 */
let last: { text: string | undefined; ring: Result<SigningRing, string> } | undefined;

/** The ring of `SIGNING_KEYS`. A failure is a sentence for the operator, which quotes no key. */
export async function ringOf(env: Env): Promise<Result<SigningRing, string>> {
  const { SIGNING_KEYS: text } = env;
  if (last && last.text === text) return last.ring;
  const keys = readSetting(env, "SIGNING_KEYS");
  const ring = keys.ok ? ok(await importRing(keys.value)) : keys;
  last = { text, ring };
  return ring;
}
