import { afterAll, beforeAll, describe, it } from "vitest";
import type { Answer } from "../support/node/client.ts";
import { canMeasureCpu, cpuTicksOf } from "../support/node/cpu.ts";
import { inChunksOfOneByte, openCall } from "../support/node/open-call.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";

const KIB = 1024;
const BODY_BYTES_MAX = 64 * KIB;
/** Enough for each measurement to take dozens of clock ticks. */
const WHOLE_CALLS = 400;
const CALLS_IN_BYTES = 3;
const CHUNKED = { "Transfer-Encoding": "chunked" };

let service: PlainService;
let token: string;

beforeAll(async () => {
  service = await startPlainService();
  token = (await send("GET", "/api/user", JSON.stringify({ user_group_id: "viewed" }))).body.user_group.token;
});

afterAll(async () => {
  await service.stop();
});

const open = (method: string, path: string, headers: Record<string, string>, credential = service.key) =>
  openCall({ url: service.url, method, path }, { Authorization: `Token ${credential}`, ...headers });

/** Sends a body in one piece, with its length. */
async function send(method: string, path: string, body: string, credential = service.key): Promise<Answer> {
  const { socket, answer } = await open(
    method,
    path,
    { "Content-Length": String(Buffer.byteLength(body)) },
    credential,
  );
  socket.write(body);
  return answer;
}

/** Sends a body in chunks of one byte. */
async function sendInBytes(method: string, path: string, body: string, credential = service.key): Promise<Answer> {
  const { socket, answer } = await open(method, path, CHUNKED, credential);
  socket.write(inChunksOfOneByte(body));
  return answer;
}

/** Valid JSON of exactly this number of bytes: JSON may end with blanks. */
const padded = (fields: object, bytes: number) => JSON.stringify(fields).padEnd(bytes);

const isServing = async () =>
  (await send("GET", "/api/user", JSON.stringify({ user_group_id: "viewed" }))).status === 200;

const codeOf = ({ status, body }: Answer) => [status, body.error?.code];

/** Routes that read a body, each with its credential and valid fields. */
const ROUTES = [
  ["GET", "/api/user", () => service.key, { user_group_id: "viewed" }],
  ["POST", "/api/viewer/query", () => token, { sql: "SELECT {{user_group_id}}" }],
] as const;

describe.for(ROUTES)("a body of %s %s", ([method, path, credentialOf, fields]) => {
  it("is read up to 64 KiB, and refused with one byte more", async ({ expect }) => {
    const credential = credentialOf();
    expect((await send(method, path, padded(fields, BODY_BYTES_MAX), credential)).status).toBe(200);
    expect(codeOf(await send(method, path, padded(fields, BODY_BYTES_MAX + 1), credential))).toEqual([
      413,
      "body_too_large",
    ]);
  });

  it("is read up to 64 KiB in chunks of one byte, and refused if larger", async ({ expect }) => {
    const credential = credentialOf();
    expect((await sendInBytes(method, path, padded(fields, BODY_BYTES_MAX), credential)).status).toBe(200);
    for (const bytes of [BODY_BYTES_MAX + 1, 4 * BODY_BYTES_MAX])
      expect(codeOf(await sendInBytes(method, path, padded(fields, bytes), credential))).toEqual([
        413,
        "body_too_large",
      ]);
  });

  it.skipIf(!canMeasureCpu)("costs little CPU in chunks of one byte", async ({ expect }) => {
    const credential = credentialOf();
    const body = padded(fields, 60 * KIB);
    const ticksOf = async (calls: number, job: () => Promise<Answer>) => {
      const before = cpuTicksOf([service.pid]);
      for (let made = 0; made < calls; made += 1) expect((await job()).status).toBe(200);
      return cpuTicksOf([service.pid]) - before;
    };

    const whole = await ticksOf(WHOLE_CALLS, () => send(method, path, body, credential));
    const inBytes = await ticksOf(CALLS_IN_BYTES, () => sendInBytes(method, path, body, credential));

    // A call costs as much as 110 to 230 whole ones, nearly all of it in workerd itself. Read chunk by chunk it cost 1,200.
    expect(inBytes / CALLS_IN_BYTES).toBeLessThan((whole / WHOLE_CALLS) * 500);
  });

  it("of 5 MB is refused or its connection closed, and the service still works", async ({ expect }) => {
    const { socket, answer } = await open(method, path, { "Content-Length": "5000000" }, credentialOf());
    socket.write(Buffer.alloc(5_000_000, " "));
    const outcome = await answer.then(codeOf, () => "closed");
    expect([[413, "body_too_large"], "closed"]).toContainEqual(outcome);
    expect(await isServing()).toBe(true);
  });

  it("that breaks off with its connection does not affect the service", async ({ expect }) => {
    for (const headers of [CHUNKED, { "Content-Length": "1000" }]) {
      const { socket } = await open(method, path, headers, credentialOf());
      await new Promise((sent) => socket.write('5\r\n{"use\r\n', sent));
      socket.destroy();
    }
    expect(await isServing()).toBe(true);
  });
});

describe.concurrent("a body that does not end", () => {
  it("gets 413 if it is too large already", async ({ expect }) => {
    const { socket, answer } = await open("PUT", "/api/user", { "Content-Length": "1000000" });
    socket.write(Buffer.alloc(BODY_BYTES_MAX + 1, " "));
    expect(codeOf(await answer)).toEqual([413, "body_too_large"]);
    socket.destroy();
  });

  it("gets 408 body_timeout after ten seconds", async ({ expect }) => {
    const slow = ROUTES.flatMap(([method, path, credentialOf]) => [
      // The header announces 1,000 bytes, and fewer are sent.
      open(method, path, { "Content-Length": "1000" }, credentialOf()).then((call) => ({ ...call, part: '{"user_gr' })),
      // No byte is sent.
      open(method, path, { "Content-Length": "1000" }, credentialOf()).then((call) => ({ ...call, part: "" })),
      // The last chunk is not sent.
      open(method, path, CHUNKED, credentialOf()).then((call) => ({ ...call, part: "2\r\n{}\r\n" })),
      open(method, path, CHUNKED, credentialOf()).then((call) => ({ ...call, part: "" })),
    ]);
    const calls = await Promise.all(slow);
    // One byte is sent each second.
    const dripping = await open("GET", "/api/user", CHUNKED);
    const drip = setInterval(() => dripping.socket.write("1\r\n \r\n"), 1000);
    for (const { socket, part } of calls) socket.write(part);

    const answers = await Promise.all([...calls, dripping].map(({ answer }) => answer));
    clearInterval(drip);
    for (const { socket } of [...calls, dripping]) socket.destroy();

    for (const answer of answers) {
      expect(codeOf(answer)).toEqual([408, "body_timeout"]);
      expect(answer.body).toMatchObject({ success: 0, request_id: answer.headers["x-request-id"] });
    }
    expect(await isServing()).toBe(true);
  });
});
