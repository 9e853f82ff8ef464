import * as z from "zod";
import { readSetting } from "../../../common/settings/settings.ts";
import { RESPONSE_MS_MAX } from "../support/service.ts";
import { type Finding, failed, ok } from "./finding.ts";

const CHECK = "sign-in";

/**
 * Whether the keys of `SSO_JWKS_URL` can be fetched from this machine; nothing if operators do not sign in with their company. The service
 * goes on with keys of operators when they cannot, so nobody would notice before the first person cannot sign in.
 */
export async function checkProviderKeys(texts: NodeJS.Dict<string>): Promise<Finding[]> {
  const url = readSetting(texts, "SSO_JWKS_URL");
  if (!url.ok || url.value === undefined) return [];
  try {
    const response = await fetch(url.value, { redirect: "error", signal: AbortSignal.timeout(RESPONSE_MS_MAX) });
    const { keys } = JwkSet.parse(await response.json());
    if (response.ok && keys.length > 0) return [ok(CHECK, `SSO_JWKS_URL shows ${keys.length} of the provider's keys`)];
    return [notKeys()];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return [notKeys()];
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return [failed(CHECK, `SSO_JWKS_URL cannot be reached from this machine: ${cause}. ${KEYS_GO_ON}`)];
  }
}

const KEYS_GO_ON = "Until then, nobody signs in with the company; sign-in with keys of operators goes on.";

const notKeys = (): Finding =>
  failed(CHECK, `SSO_JWKS_URL shows no public keys. Set it to the provider's jwks_uri. ${KEYS_GO_ON}`);

const JwkSet = z.object({ keys: z.array(z.unknown()) });
