import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Agent, request } from "undici";
import { describe, expect, inject, it } from "vitest";

const { url, key } = inject("service");
const { port } = new URL(url);

/** Calls that one address may make with wrong credentials in a minute. */
const GUESSES_MAX = 600;
/** An address for the guesses of this file, which no other test uses. */
const GUESSER = "127.99.0.1";

const FORWARDING_HEADERS = [
  "X-Forwarded-For",
  "X-Real-IP",
  "X-Client-IP",
  "X-Cluster-Client-IP",
  "X-Original-Forwarded-For",
  "CF-Connecting-IP",
  "CF-Connecting-IPv6",
  "CF-Pseudo-IPv4",
  "True-Client-IP",
  "Fastly-Client-IP",
  "Fly-Client-IP",
  "Forwarded",
  "Via",
];

/** Sends bytes over a connection of their own, and returns the status and the text of the answer. */
async function send(...lines: string[]): Promise<{ status: number; answer: string }> {
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(Buffer.from([...lines, "Connection: close", "", ""].join("\r\n"), "latin1"));
  const answer = await text(socket);
  return { status: Number(answer.split(" ", 2)[1]), answer };
}

describe("a client that sends every forwarding header, another address each time", () => {
  it("is limited as one", async () => {
    const agent = new Agent({ connections: 16, localAddress: GUESSER });
    const guess = async (_: unknown, index: number) => {
      const address = `198.51.${index >> 8}.${index & 0xff}`;
      const headers = Object.fromEntries(
        FORWARDING_HEADERS.map((name) => [name, name === "Forwarded" ? `for=${address}` : address]),
      );
      const { statusCode, body } = await request(`${url}/api/whoami`, {
        dispatcher: agent,
        headers: { ...headers, Authorization: `Token ugk_${index}` },
      });
      await body.dump();
      return statusCode;
    };
    const statuses = await Promise.all(Array.from({ length: 2 * GUESSES_MAX + 100 }, guess));
    await agent.close();
    // All of them, unless a new minute has begun meanwhile.
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(2 * GUESSES_MAX);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(100);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });

  it("names neither the scheme nor the host of a session", async () => {
    const mint = (host: string) => {
      const body = JSON.stringify({ user_group_id: "of a forwarded host" });
      return send(
        "POST /api/viewer_sessions HTTP/1.1",
        `Host: ${host}`,
        ...["X-Forwarded-Proto: https", "X-Forwarded-Host: a.example", "Forwarded: proto=https;host=a.example"],
        ...[`Authorization: Token ${key}`, "Content-Type: application/json", `Content-Length: ${body.length}`],
        "",
        body,
      );
    };
    await request(`${url}/api/user_groups`, {
      method: "POST",
      headers: { Authorization: `Token ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ user_group_id: "of a forwarded host" }),
    });
    const minted = await mint(`localhost:${port}`);
    const [, claims = ""] = /"token":"[^".]+\.([^".]+)/.exec(minted.answer) ?? [];
    expect(JSON.parse(Buffer.from(claims, "base64url").toString()).iss).toBe(`http://localhost:${port}`);

    const refused = await mint("groups.example.com");
    expect(refused.status).toBe(503);
    expect(refused.answer).toContain('"code":"service_not_configured"');
  });
});
