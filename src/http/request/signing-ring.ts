import { parseSigningKeys, type SigningRing } from "../../domain/credentials/credential.ts";
import { fail, type Result } from "../../domain/result.ts";

/**
 * The imported keys, once per isolate and value. This is the ring and not its promise: a promise belongs to the request that
 * made it, and could end with it.
 */
let last: { text: string; ring: Result<SigningRing, string> } | undefined;

/** The ring of `SIGNING_KEYS`. A failure is a sentence for the operator, which quotes no key. */
export async function ringOf({ SIGNING_KEYS: text = "" }: Env): Promise<Result<SigningRing, string>> {
  if (last?.text !== text) last = { text, ring: await parseSigningKeys(text) };
  const { ring } = last;
  return ring.ok
    ? ring
    : fail(
        `SIGNING_KEYS is unusable: ${ring.failure}. On Cloudflare, set it with: npx wrangler secret put SIGNING_KEYS. On one box, set it in the file of --env-file.`,
      );
}
