import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";

export type Received = { method: string; path: string; headers: IncomingHttpHeaders; body: string };

/**
 * How the stand-in handles a request: it answers, breaks the connection, before or in the middle of the answer, or sends nothing, or
 * nothing after the headers.
 */
export type Reply =
  | { status: number; headers?: Record<string, string>; body?: object | string }
  | "drop"
  | "cut off"
  | "silence"
  | "headers only";

/** Starts a server that handles each request by `reply` and lists the requests. It stops after the test. */
export async function standIn(
  reply: (request: Received, count: number) => Reply | Promise<Reply>,
): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request);
    const { method = "", url: path = "", headers } = request;
    const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    const replied = await reply(one, received.length);
    if (replied === "silence") return;
    if (replied === "drop") return request.socket.destroy();
    if (replied === "cut off")
      return response.writeHead(200, { "Content-Length": "500" }).end("{", () => request.socket.destroy());
    if (replied === "headers only") return response.writeHead(200).write("{");
    const { status, body = "" } = replied;
    response
      .writeHead(status, replied.headers)
      .end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`, received };
}

/** The service's answer to a refused call. */
export const refusal = (status: number, code: string, fields: object = {}, headers: Record<string, string> = {}) => ({
  status,
  headers: { "X-Request-Id": "the-request", ...headers },
  body: { success: 0, error: { code, message: `It is ${code}.`, ...fields }, request_id: "the-request" },
});
