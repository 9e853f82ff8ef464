import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call } from "../../../support/client.ts";
import { limiter } from "../../../support/limiter.ts";
import { inEnvironment, issueKey, operator } from "../../../support/states.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const revoke = (query: string) => call("DELETE", `/api/keys/1${query}`, { credential: operator });
const ensure = (key: string, id = "acme", callEnv = env) =>
  call("GET", "/api/user", { credential: key, body: { user_group_id: id }, env: callEnv });

it("is listed under untagged where its environment has no tag", async () => {
  await issueKey({ environment: null });
  const { body } = await call("GET", `/api/keys${inEnvironment("acme", "untagged")}`, { credential: operator });
  expect(body.api_keys).toMatchObject([{ id: 1, environment: null }]);
});

it("goes on when another environment's key of the same id is revoked", async () => {
  const key = await issueKey();
  await issueKey({ environment: "Customer" });
  await revoke(inEnvironment("acme", "Customer"));
  expect((await ensure(key)).status).toBe(200);
});

describe("rate limits", () => {
  it("answer 429 with Retry-After to one API key that calls too often, before any RPC", async () => {
    const { watched, costs } = watchedEnv();
    const limit = limiter(2);
    const callEnv = { ...watched, API_KEY_LIMIT: limit };
    const [busy, other] = [await issueKey(), await issueKey()];
    for (const status of [200, 200, 429, 429]) {
      const answer = await ensure(busy, "acme", callEnv);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("Retry-After")).toBe(status === 429 ? "60" : null);
    }
    expect(costs.rpcs).toHaveLength(2);
    expect((await ensure(other, "acme", callEnv)).status).toBe(200);
    const counted = [...limit.counts.keys()];
    expect(counted).toHaveLength(2);
    // Not by its number, by which a key forged with a stolen signing key could use it up.
    for (const key of [busy, other]) expect(counted.filter((name) => key.includes(name))).toEqual([]);
  });

  it("are those of the design, by the platform's own bindings", async () => {
    const callsFrom = (address: string) =>
      Promise.all(
        Array.from({ length: 650 }, () =>
          call("GET", "/api/user", { credential: "x", headers: { "CF-Connecting-IP": address } }),
        ),
      );
    // The local binding counts by minutes of the wall clock, so all calls must be made within one.
    const minute = () => Math.floor(Date.now() / 60_000);
    let startedAt: number;
    let answers: Awaited<ReturnType<typeof callsFrom>>;
    do {
      startedAt = minute();
      answers = await callsFrom(`203.0.113.${startedAt % 256}`);
    } while (minute() !== startedAt);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(600);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(50);
    const { success } = await env.API_KEY_LIMIT.limit({ key: "acme/Testing/1" });
    expect(success).toBe(true);
  });
});
