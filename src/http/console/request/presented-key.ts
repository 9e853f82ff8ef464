import type { PresentedKey } from "../../../domain/credentials/caller.ts";
import { verifyCredential } from "../../../domain/credentials/credential.ts";
import type { RequestContext } from "../../app-env.ts";
import { countRefused, isOperatorToken } from "../../request/authenticate.ts";
import type { ConsoleEnv } from "../console-env.ts";

/**
 * The operator key in a form; `undefined` for any other text. A text that this service did not sign is counted by client address
 * before it is compared with the bootstrap token, because otherwise the answer would distinguish a right guess from a wrong one.
 */
export async function presentedKey(
  c: RequestContext<ConsoleEnv>,
  text: string,
): Promise<PresentedKey | "bootstrap" | "rate_limited" | undefined> {
  const signed = await verifyCredential(c.get("ring"), text);
  if (signed && signed.kind !== "operator_key") return undefined;
  // As a call of the API counts the key, because even a revoked one costs an RPC.
  if (signed && !(await c.env.OPERATOR_LIMIT.limit({ key: signed.fingerprint })).success) return "rate_limited";
  if (signed) return { id: signed.id, nonceHash: signed.nonceHash };
  if (!(await countRefused(c))) return "rate_limited";
  return (await isOperatorToken(c.env, text)) ? "bootstrap" : undefined;
}
