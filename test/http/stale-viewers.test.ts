import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { codeOf } from "../support/client.ts";
import { failingKv, hangingKv, replaceKv } from "../support/hostile-kv.ts";
import { indexSettled, indexSettledByAlarms } from "../support/index-state.ts";
import { newIntegrator, rotatedWithGrace } from "../support/states.ts";
import { answeredBy, query, STALE, view } from "../support/viewers.ts";
import { watchedEnv } from "../support/watched-env.ts";

// Far ahead, so that no alarm of the runtime, whose clock goes on, is due before the test runs it.
const NOW = new Date("2035-01-01T00:00:00.000Z");

it("reaches the index from its first stale answer on, and not before", async ({ expect }) => {
  const { tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  await view(token);
  await indexSettled("acme/Testing");
  expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
  const first = await view(token, STALE);
  expect([first.status, answeredBy(first)]).toEqual([200, "directory"]);
  await indexSettled("acme/Testing");
  expect(answeredBy(await view(token, STALE))).toBe("index");
});

it("costs one RPC and no KV, or with a stale answer one KV read and no RPC", async ({ expect }) => {
  const { viewedTokenOf } = await newIntegrator();
  const token = await viewedTokenOf("acme");
  await indexSettled("acme/Testing");
  const { watched, costs } = watchedEnv();
  await view(token, {}, watched);
  expect(costs).toEqual({ rpcs: ["view"], kv: [] });
  const stale = await view(token, STALE, watched);
  expect(stale.status).toBe(200);
  expect(costs).toEqual({ rpcs: ["view"], kv: ["get"] });
});

describe("a viewer that allows a stale answer", () => {
  const poison = (value: string | null) =>
    replaceKv(async (operation, _, real) => (operation === "get" ? value : real()));

  it.for([
    ["max-age=60", "index"],
    ["max-age=3600", "index"],
    ["MAX-AGE=60", "index"],
    ["  max-age = 60  ", "index"],
    ['max-age="60"', "index"],
    ["no-transform, max-age=60, stale-if-error=5", "index"],
    ['private="a, no-cache", max-age=60', "index"],
    ["max-age=59", "directory"],
    ["max-age=0", "directory"],
    ["max-age=-60", "directory"],
    ["max-age=60.5", "directory"],
    ["max-age=60s", "directory"],
    ["max-age", "directory"],
    ["s-maxage=60", "directory"],
    ["max-stale=600", "directory"],
    ["xmax-age=60", "directory"],
    ["max-age=60, x=", "directory"],
    ["max-age=60, x={}", "directory"],
    ["max-age=60, no-cache", "directory"],
    ["NO-CACHE, max-age=60", "directory"],
    ["no-store, max-age=60", "directory"],
    ["max-age=60, max-age=0", "directory"],
    ["max-age=60, no-cache;x", "directory"],
    ["max-age=60, no-cache foo", "directory"],
    ["max-age=60, , ", "index"],
    ["", "directory"],
  ] as const)("by Cache-Control: %s is answered by the %s", async ([cacheControl, by], { expect }) => {
    const { viewedTokenOf } = await newIntegrator();
    const token = await viewedTokenOf("acme");
    await indexSettled("acme/Testing");
    const answer = await view(token, { "Cache-Control": cacheControl });
    expect(answer.status).toBe(200);
    expect(answeredBy(answer)).toBe(by);
  });

  it("gets the same answer from the index as from the directory", async ({ expect }) => {
    const { viewedTokenOf } = await newIntegrator();
    const token = await viewedTokenOf("acme", {
      name: "Acme",
      mapping: { m: "d" },
      properties: { n: 1, list: [1], ["__proto__"]: 2 },
    });
    await indexSettled("acme/Testing");
    const stale = await view(token, STALE);
    expect(answeredBy(stale)).toBe("index");
    expect(stale.body).toEqual((await view(token)).body);
    const bound = await query(token, { sql: "x = {{user_group.n}}" }, STALE);
    expect(answeredBy(bound)).toBe("index");
    expect(bound.body).toEqual({ success: 1, sql: "x = ?", params: [1], dropped: [] });
  });

  it("is answered by the directory on a miss, and refused there for a token that is no more", async ({ expect }) => {
    const { viewedTokenOf, rotate } = await newIntegrator();
    const token = await viewedTokenOf("acme");
    await rotate(token);
    await indexSettled("acme/Testing");
    const answer = await view(token, STALE);
    expect(codeOf(answer)).toEqual([401, "credential_revoked"]);
    expect(answeredBy(answer)).toBe("directory");
  });

  it.for([
    ["no JSON", "{"],
    ["JSON of another shape", '{"teamId":"1"}'],
    ["null", "null"],
    ["another group", '{"teamId":2,"providedId":"b","name":"b","mapping":null,"properties":null,"validUntil":null}'],
    [
      "a grace that is over",
      '{"teamId":1,"providedId":"a","name":"a","mapping":null,"properties":null,"validUntil":1}',
    ],
  ] as const)("is answered by the directory where the index holds %s", async ([, value], { expect }) => {
    const { viewedTokenOf } = await newIntegrator();
    const token = await viewedTokenOf("acme");
    poison(value);
    const answer = await view(token, STALE);
    expect(answer.body.user_group.provided_id).toBe("acme");
    expect(answeredBy(answer)).toBe("directory");
  });

  it.for([
    ["fails", failingKv],
    ["hangs", hangingKv],
  ] as const)("is answered by the directory when KV %s", async ([, breakKv], { expect }) => {
    const { viewedTokenOf } = await newIntegrator();
    const token = await viewedTokenOf("acme");
    breakKv();
    const answer = await view(token, STALE);
    expect(answer.status).toBe(200);
    expect(answeredBy(answer)).toBe("directory");
  });
});

describe("grace in the index", () => {
  it("shows what a PUT changed to viewers with the old token too", async ({ expect }) => {
    const { old, put } = await rotatedWithGrace(NOW);
    await put({ user_group_id: "acme", name: "Renamed" });
    expect((await view(old)).body.user_group.name).toBe("Renamed");
    await indexSettledByAlarms("acme/Testing");
    const stale = await view(old, STALE);
    expect(answeredBy(stale)).toBe("index");
    expect(stale.body.user_group.name).toBe("Renamed");
  });

  it("holds in the index as in the directory", async ({ expect }) => {
    const { old, current } = await rotatedWithGrace(NOW);
    await indexSettledByAlarms("acme/Testing");
    for (const token of [old, current]) expect(answeredBy(await view(token, STALE))).toBe("index");
    vi.setSystemTime(NOW.getTime() + 3_600_000);
    const late = await view(old, STALE);
    expect(codeOf(late)).toEqual([401, "credential_revoked"]);
    expect(answeredBy(late)).toBe("directory");
    expect(answeredBy(await view(current, STALE))).toBe("index");
  });

  it("costs no write to KV any more once it has ended", async ({ expect }) => {
    const { old, put } = await rotatedWithGrace(NOW);
    await indexSettledByAlarms("acme/Testing");
    let written = 0;
    replaceKv(async (operation, _, real) => {
      if (operation !== "get") written += 1;
      return real();
    });
    await put({ user_group_id: "acme", name: "In grace" });
    await indexSettledByAlarms("acme/Testing");
    expect(written).toBe(2);
    vi.setSystemTime(NOW.getTime() + 3_600_000);
    await put({ user_group_id: "acme", name: "After it" });
    await indexSettledByAlarms("acme/Testing");
    expect(written).toBe(3);
    expect(codeOf(await view(old, STALE))).toEqual([401, "credential_revoked"]);
  });
});
