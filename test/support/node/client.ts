import { randomBytes } from "node:crypto";
import { Agent, request } from "undici";
import { inject } from "vitest";

/**
 * An address of this test file's own, so that the refused credentials of one file do not use up the limit of another file, or
 * of the commands, which call from 127.0.0.1. Linux alone has the whole network 127.0.0.0/8 on its loopback interface.
 */
const localAddress = ["127", ...randomBytes(2), 1 + ((randomBytes(1)[0] ?? 0) % 254)].join(".");

const agent = new Agent({ connections: 64, ...(process.platform === "linux" && { localAddress }) });

export type Answer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
  body: any;
};

/** Calls the running service with a real body on every method, GET included. */
export async function call(method: string, path: string, body?: object | string, headers = {}): Promise<Answer> {
  const { url, key } = inject("service");
  const response = await request(url + path, {
    dispatcher: agent,
    method: method as "GET",
    headers: {
      Authorization: `Token ${key}`,
      "Content-Type": "application/json",
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}
