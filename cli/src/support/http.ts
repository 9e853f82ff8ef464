import * as z from "zod";
import { abortable } from "../../../client/src/transport/abortable.ts";
import { CommandError } from "../../../common/command-error.ts";
import { isRedirect, RESPONSE_MS_MAX, redirected, unreachable } from "./service.ts";

export type HttpCall = {
  method: string;
  credential: string;
  headers?: Record<string, string>;
  /** Sent as JSON. `fetch` sends none with GET. */
  body?: object | undefined;
  /** Sent as it is, in place of a body. */
  text?: string;
};

export type HttpResponse = {
  status: number;
  text: string;
  retryAfter: string | undefined;
  etag: string | undefined;
};

/** Sends one request. It follows no redirect, which could take the credential elsewhere. */
export function send(url: URL, { method, credential, headers = {}, body, text: raw }: HttpCall): Promise<HttpResponse> {
  const exchange = async (signal: AbortSignal) => {
    const response = await fetch(url, {
      method,
      headers: {
        Authorization: `Token ${credential}`,
        // A proxy that compresses makes the ETag a weak one, which If-Match refuses.
        "Accept-Encoding": "identity",
        ...(body && { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body ? JSON.stringify(body) : (raw ?? null),
      redirect: "manual",
      signal,
    });
    const header = (name: string) => response.headers.get(name) ?? undefined;
    const text = await response.text();
    return { status: response.status, text, retryAfter: header("Retry-After"), etag: header("ETag") };
  };
  const onTimeout = () => Promise.reject(new Error("The service did not respond in time."));
  return abortable(exchange, [], { ms: RESPONSE_MS_MAX, onTimeout }).then((response) => {
    if (isRedirect(response.status)) throw redirected(url);
    return response;
  });
}

/** Sends one request to a service that must be there. */
export const sendOrFail = (url: URL, call: HttpCall): Promise<HttpResponse> =>
  send(url, call).catch((error: unknown) => {
    throw error instanceof CommandError ? error : unreachable(url);
  });

const Issue = z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() });

/** The `error` of a response that refuses a call. */
export type Refusal = z.infer<typeof Refusal>;
const Refusal = z.object({ code: z.string(), message: z.string(), issues: z.optional(z.array(Issue)) });
const Body = z.object({ success: z.number(), error: z.optional(Refusal), request_id: z.optional(z.string()) });

/**
 * Parses a response of the service; `undefined` if it is not one. A refusal may repeat the credential, which no command may
 * print, so it is masked.
 */
export function readBody<Fields>(credential: string, text: string): (Fields & z.infer<typeof Body>) | undefined {
  try {
    const body = JSON.parse(text);
    const { error } = Body.parse(body);
    const mask = (_: string, value: unknown) =>
      typeof value === "string" && credential !== "" ? value.replaceAll(credential, "[credential]") : value;
    return error ? { ...body, error: JSON.parse(JSON.stringify(error), mask) } : body;
  } catch {
    return undefined;
  }
}
