import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import type { Answer } from "./client.ts";

/** A call whose headers are sent. The test frames its body and writes it to the socket. */
export type OpenCall = { socket: Socket; answer: Promise<Answer> };

/** Sends the headers of a call on a connection of its own. */
export async function openCall(
  { url, method, path }: { url: string; method: string; path: string },
  headers: Record<string, string>,
): Promise<OpenCall> {
  const sent = request(url + path, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    agent: false,
  });
  const answer = once(sent, "response").then(async ([response]) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    return { status: response.statusCode, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  });
  // A test that breaks the connection does not wait for the answer.
  answer.catch(() => undefined);
  // After an early response, the service closes the connection, and the rest of the body cannot be written.
  sent.on("error", () => undefined);
  sent.flushHeaders();
  const [socket] = (await once(sent, "socket")) as [Socket];
  if (socket.connecting) await once(socket, "connect");
  return { socket, answer };
}

/** A chunk of one byte. */
const CHUNK = "1\r\nx\r\n";

/** The body in chunks of one byte (RFC 9112, section 7.1), with the last chunk of length zero. */
export const inChunksOfOneByte = (body: string): Buffer => {
  const bytes = Buffer.from(body);
  const chunks = Buffer.alloc(bytes.length * CHUNK.length, CHUNK);
  for (const [index, byte] of bytes.entries()) chunks[index * CHUNK.length + CHUNK.indexOf("x")] = byte;
  return Buffer.concat([chunks, Buffer.from("0\r\n\r\n")]);
};
