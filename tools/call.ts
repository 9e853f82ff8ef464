/** One request, without a retry: these tools show what a proxy answers. */
import { request } from "undici";
import * as z from "zod";
import { isRedirect, redirected, unreachable } from "../cli/src/support/service.ts";
import { FIRST_ANSWER_MS_MAX } from "../cli/src/support/transport.ts";

export type HttpCall = { method: string; credential: string; headers?: Record<string, string>; body?: object };

/** Sends a request to a service that must be there. `fetch` would send no body with GET. It follows no redirect. */
export async function send(url: URL, call: HttpCall): Promise<{ status: number; text: string }> {
  const { method, credential, headers, body } = call;
  const response = await request(url, {
    method: method as "GET",
    headers: { Authorization: `Token ${credential}`, ...(body && { "Content-Type": "application/json" }), ...headers },
    body: body ? JSON.stringify(body) : null,
    signal: AbortSignal.timeout(FIRST_ANSWER_MS_MAX),
  }).catch(() => {
    throw unreachable(url);
  });
  if (isRedirect(response.statusCode)) throw redirected(url);
  return { status: response.statusCode, text: await response.body.text() };
}

export type Refusal = z.infer<typeof Refusal>;
const Refusal = z.object({ code: z.string(), message: z.string() });
const Body = z.object({ success: z.number(), error: z.optional(Refusal) });

/** Parses a response of the service; `undefined` if it is not one. A refusal may repeat the credential, which is masked. */
export function readBody<Fields>(credential: string, text: string): (Fields & z.infer<typeof Body>) | undefined {
  try {
    const body = JSON.parse(text);
    const { error } = Body.parse(body);
    if (!error) return body;
    return { ...body, error: { ...error, message: error.message.replaceAll(credential, "[credential]") } };
  } catch {
    return undefined;
  }
}
