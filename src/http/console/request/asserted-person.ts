import { ASSERTION_RECENT_SECONDS_MAX } from "../../../../common/limits.ts";
import { ssoIn } from "../../../../common/settings/settings.ts";
import { type Assertion, hasSigned, readAssertion } from "../../../domain/credentials/assertion.ts";
import type { RequestContext } from "../../app-env.ts";
import { findProviderKey } from "./provider-keys.ts";

/**
 * The person whom the company's proxy names in this request; `undefined` if nobody has set that up, and without a valid assertion. The
 * log line says why an assertion is refused.
 */
export async function assertedPerson(c: RequestContext): Promise<Assertion | undefined> {
  const sso = ssoIn(c.env);
  // Of several headers, this is a text with commas, which is no assertion: the proxy has to replace what a client sends.
  const text = sso && c.req.header(sso.header);
  if (!sso || text === undefined) return undefined;
  const refuse = (reason: string) => c.set("problem", `The assertion in ${sso.header} is refused: ${reason}.`);
  const read = readAssertion(text, sso, Date.now());
  if (!read.ok) {
    refuse(read.failure);
    return undefined;
  }
  const key = await findProviderKey(c.env, sso.jwksUrl, read.value);
  if (!key || !(await hasSigned(key, read.value))) {
    refuse(key ? "its signature is not valid" : "no key of SSO_JWKS_URL that the service knows has its kid");
    return undefined;
  }
  const { email, issuedAtSeconds } = read.value;
  return { email, issuedAtSeconds };
}

/** Whether the provider has made the assertion so lately that it stands for the operator's own key. */
export const isRecent = ({ issuedAtSeconds }: Assertion): boolean =>
  Date.now() / 1000 - issuedAtSeconds <= ASSERTION_RECENT_SECONDS_MAX;
