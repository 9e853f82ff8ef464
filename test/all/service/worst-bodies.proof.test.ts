import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { report } from "../../proof/effort.ts";
import { type PlainService, startPlainService } from "../../support/node/plain-workerd.ts";

/** One caller, within its limits, with the bodies that cost most, beside the views of a customer of somebody else. */

const { minutes } = inject("effort");
const IN_FLIGHT = 200;
const ANSWERS = minutes > 0 ? 2000 : 60;
const VIEWED = minutes > 0 ? 32 : 1;
const KIB = 1024;

/** Bodies of nearly 64 KiB. */
const BODIES = {
  "brackets without an end": `{"a":${"[".repeat(63 * KIB)}`,
  "short lists": `{"user_group_id":"x","properties":{"a":[${"[],".repeat(20_000)}[]]}}`,
  "numbers that no double holds": `{"user_group_id":"x","properties":{"a":[${"0.1000000000000000055511151231257827, ".repeat(1600)}1]}}`,
  "blanks between tokens": `{"user_group_id":"x","properties":{"a":[${"1 ,".repeat(20_000)}1]}}`,
};

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
afterAll(() => service.stop());

async function call(
  method: "GET" | "POST" | "PUT",
  path: string,
  options: { token: string; body?: string; of?: Agent },
) {
  const answer = await request(service.url + path, {
    method,
    headers: { authorization: `Token ${options.token}`, "content-type": "application/json" },
    ...(options.body !== undefined && { body: options.body }),
    ...(options.of && { dispatcher: options.of }),
  });
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, never> };
}

/** The tokens of groups in an environment of their own: enough for their views to stay within the limit of a token. */
async function tokensOfAnother(): Promise<string[]> {
  const body = JSON.stringify({ workspace: "another", environment: "Testing", name: "backend" });
  const issued = await call("POST", "/api/keys", { token: service.operatorToken, body });
  const tokens: string[] = [];
  for (let group = 1; group <= VIEWED; group += 1) {
    const body = JSON.stringify({ user_group_id: `acme ${group}` });
    const created = await call("POST", "/api/user_groups", { token: String(issued.body.key), body });
    tokens.push(Object(created.body.user_group).token);
  }
  return tokens;
}

it.for(Object.entries(BODIES))("lets another customer's views pass while one key sends %s", async ([name, body]) => {
  const tokens = await tokensOfAnother();
  const of = new Agent({ connections: IN_FLIGHT });
  onTestFinished(() => of.destroy());
  const statuses = new Map<number, number>();
  let parsed = 0;
  const senders = Array.from({ length: IN_FLIGHT }, async () => {
    while (parsed < ANSWERS) {
      const { status } = await call("PUT", "/api/user", { token: service.key, body, of });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 422) parsed += 1;
    }
  });
  const times: number[] = [];
  while (parsed < ANSWERS) {
    const startedAt = performance.now();
    const token = tokens[times.length % VIEWED] ?? "";
    expect((await call("GET", "/api/viewer", { token })).status).toBe(200);
    times.push(performance.now() - startedAt);
  }
  await Promise.all(senders);
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  report(`beside ${name}`, {
    views: times.length,
    "microseconds of a view, in the middle": Math.round(middle * 1000),
  });
  // Nothing but refusals: of the body, because too many are unfinished, or because a slow machine needs 10 s for all of them.
  expect([...statuses.keys()].filter((status) => ![408, 422, 429, 503].includes(status))).toEqual([]);
  // Without turns, a view waits for all bodies in flight: one passes while 200 are answered.
  expect(times.length).toBeGreaterThan(ANSWERS / 20);
});
