import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { app } from "../../src/http/app.ts";
import { undocumentedIn } from "./documented.ts";

export type Answer = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
  body: any;
};

export type CallOptions = {
  credential?: string | undefined;
  /** An object is sent as JSON; a string, bytes or a stream as they are. */
  body?: object | string | undefined;
  headers?: Record<string, string>;
  env?: Env;
  /** Of the URL. */
  origin?: string;
  /** What the runtime says of the connection. */
  cf?: CfProperties;
  /** The reason why this answer is not compared with the OpenAPI document. */
  undocumented?: string;
  /** Runs when the response is complete, before the work that the Worker does after it. */
  onResponse?: () => Promise<void>;
};

/** The media type that a path takes. */
const typeOf = (path: string): string =>
  path.startsWith("/api/restore") ? "application/x-ndjson" : "application/json";

let callCount = 0;

/**
 * Calls the Worker as a client would. `fetch` sends no body with a GET, so to `/api/user` it goes as a POST with the
 * method override; the tests over sockets send a real GET. Every answer must match the OpenAPI document.
 */
export async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { credential, body, headers = {}, env: callEnv = env, undocumented, origin = "http://localhost", cf } = options;
  const overridden = method === "GET" && /^\/api\/user(?!_groups)/.test(path);
  callCount += 1;
  const request = new Request(`${origin}${path}`, {
    method: overridden ? "POST" : method,
    headers: {
      // Each call has another address, so that the limit on refusals affects only its own tests.
      "CF-Connecting-IP": `10.${callCount >> 16}.${(callCount >> 8) & 0xff}.${callCount & 0xff}`,
      ...(body === undefined ? {} : { "Content-Type": typeOf(path) }),
      ...(credential === undefined ? {} : { Authorization: `Token ${credential}` }),
      ...(overridden ? { "X-HTTP-Method-Override": method } : {}),
      ...headers,
    },
    ...(cf && { cf }),
    ...(body === undefined ? {} : { body: isSentAsItIs(body) ? body : JSON.stringify(body) }),
  });
  const context = createExecutionContext();
  const response = await app.fetch(request as Parameters<typeof app.fetch>[0], callEnv, context);
  const text = await response.text();
  await options.onResponse?.();
  // Waits for the work that the Worker does after its answer, so that tests need not wait for it.
  await waitOnExecutionContext(context);
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  const answerBody = isJson && text !== "" ? JSON.parse(text) : text || undefined;
  const answer = { status: response.status, headers: response.headers, body: answerBody };
  if (undocumented === undefined) {
    const mismatches = undocumentedIn(request, answer.status, answer.headers, answer.body);
    if (mismatches.length > 0)
      throw new Error(`The answer to this ${method} does not match public/openapi.json: ${mismatches.join("; ")}.`);
  }
  return answer;
}

const isSentAsItIs = (body: object | string): body is string | Uint8Array | ReadableStream =>
  typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;

/** The status of an answer, and the code of its refusal if it is one. */
export const codeOf = ({ status, body }: Answer): unknown[] => [status, body.error?.code];

/** What an answer matches that refuses the field at this path, and no other. */
export const invalid = (...path: (string | number)[]) => ({
  status: 422,
  body: { error: { code: "invalid_body", issues: [{ path }] } },
});

export const tokenIn = ({ body }: Answer): string => body.user_group.token;
export const tagOf = ({ headers }: Answer): string | null => headers.get("ETag");

/** The ids of the groups that a list shows. */
export const idsIn = ({ body }: Answer): string[] =>
  body.user_groups.map(({ provided_id: id }: { provided_id: string }) => id);

const PAGES_MAX = 300;

/** The answers of all pages of a list or a feed, with `between` run before each of them but the first. */
export async function pagesOf(
  read: (page: { cursor?: string }) => Promise<Answer>,
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<Answer[]> {
  const pages = [await read({})];
  for (let { body } = pages[0] as Answer; body.has_more ?? body.next_cursor !== null; ) {
    if (pages.length > PAGES_MAX) throw new Error("The list does not end.");
    await between(pages.length);
    const page = await read({ cursor: body.next_cursor });
    pages.push(page);
    body = page.body;
  }
  return pages;
}
