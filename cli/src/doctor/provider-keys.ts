import { once } from "node:events";
import { type IncomingMessage, request as requestInClear } from "node:http";
import { request as requestByTls } from "node:https";
import { text } from "node:stream/consumers";
import * as tls from "node:tls";
import * as z from "zod";
import { attempt } from "../../../common/attempt.ts";
import { readSetting } from "../../../common/settings/settings.ts";
import { messageOf } from "../support/errors.ts";
import { FIRST_ANSWER_MS_MAX } from "../support/transport.ts";
import { type Finding, failed, ok } from "./finding.ts";

const CHECK = "sign-in";

/**
 * Whether the keys of `SSO_JWKS_URL` can be fetched from this machine; nothing if operators do not sign in with their company. The service
 * goes on with keys of operators when they cannot, so nobody would notice before the first person cannot sign in.
 */
export async function checkProviderKeys(texts: NodeJS.Dict<string>): Promise<Finding[]> {
  const url = readSetting(texts, "SSO_JWKS_URL");
  if (!url.ok || url.value === undefined) return [];
  const answer = await fetched(url.value).catch(messageOf);
  if (typeof answer === "string")
    return [failed(CHECK, `SSO_JWKS_URL cannot be reached from this machine: ${answer}. ${KEYS_GO_ON}`)];
  const count = answer.status === 200 ? (attempt(() => JwkSet.parse(JSON.parse(answer.body)).keys.length) ?? 0) : 0;
  if (count > 0) return [ok(CHECK, `SSO_JWKS_URL shows ${count} of the provider's keys`)];
  const none = `SSO_JWKS_URL shows no public keys (status ${answer.status}). Set it to the provider's jwks_uri.`;
  return [failed(CHECK, `${none} ${KEYS_GO_ON}`)];
}

const KEYS_GO_ON = "Until then, nobody signs in with the company; sign-in with keys of operators goes on.";

/** Fetches as workerd does for the service: by the certificates that the machine trusts, not by those of Node, and without a redirect. */
async function fetched(url: string): Promise<{ status: number; body: string }> {
  const signal = AbortSignal.timeout(FIRST_ANSWER_MS_MAX);
  // Node before 22.15 cannot read them, and trusts its own.
  const ca = "getCACertificates" in tls ? tls.getCACertificates("system") : undefined;
  const request = url.startsWith("https:") ? requestByTls(url, { signal, ca }) : requestInClear(url, { signal });
  const [response] = (await once(request.end(), "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

/** Public keys, as RFC 7517 has them. */
export const JwkSet = z.object({ keys: z.array(z.unknown()) });
