import { Agent, request } from "undici";
import { inject } from "vitest";

const agent = new Agent({ connections: 64 });

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
    headers: { Authorization: `Token ${key}`, "Content-Type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}
