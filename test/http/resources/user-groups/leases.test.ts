import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { CONTENT_FIELDS } from "../../../../common/content.ts";
import { LeaseRequests } from "../../../../src/domain/user-groups/lease-requests.ts";
import { codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { logLines } from "../../../support/each-test.ts";
import { failingKv, hangingKv, replaceKv } from "../../../support/hostile-kv.ts";
import { newIntegrator, rotatedWithGrace, withKey } from "../../../support/states.ts";
import { answeredBy, query, STALE, view } from "../../../support/viewers.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

/** Stops the clock at `NOW`. Returns a function that moves it on. */
function stopClock(): (seconds: number) => void {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  return (seconds) => vi.setSystemTime(Date.now() + seconds * 1000);
}

it("is neither read, requested, written nor deleted without KV, and every view is fresh", async () => {
  const { watched, costs } = watchedEnv();
  // The generated type promises the binding that is missing here.
  const callEnv = { ...watched, TOKEN_INDEX: undefined } as unknown as Env;
  const { tokenOf, rotate, put, remove } = await newIntegrator({}, callEnv);
  const old = await tokenOf("acme");
  for (const _view of [1, 2, 3]) expect(answeredBy(await view(old, STALE, callEnv))).toBe("directory");

  const { user_group } = (await rotate(old)).body;
  expect(codeOf(await view(old, STALE, callEnv))).toEqual([401, "credential_revoked"]);
  expect((await view(user_group.token, STALE, callEnv)).headers.get("Age")).toBeNull();
  expect((await put({ user_group_id: "acme", suspended: true })).status).toBe(200);
  expect((await remove(user_group.token)).status).toBe(200);
  expect(costs.kv).toEqual([]);
  expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
  expect(logLines.filter(({ level }) => level !== "info")).toEqual([]);
});

describe("a lease is written", () => {
  it("at a token's second view within a minute that accepts stale answers", async () => {
    const pass = stopClock();
    const { watched, costs } = watchedEnv();
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    await view(token, {}, watched);
    await view(token, STALE, watched);
    pass(61);
    await view(token, STALE, watched);
    expect(costs.kv).toEqual(["get", "get"]);
    pass(60);
    await view(token, STALE, watched);
    expect(costs.kv).toEqual(["get", "get", "get", "put"]);
    expect(answeredBy(await view(token, STALE, watched))).toBe("index");
  });

  it("once for 64 simultaneous viewers whose lease has just expired", async () => {
    const pass = stopClock();
    const { leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    pass(61);
    const { watched, costs } = watchedEnv();
    const answers = await Promise.all(Array.from({ length: 64 }, () => view(token, STALE, watched)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(costs.kv.filter((operation) => operation !== "get")).toEqual(["put"]);
  });

  it("at most every ten seconds", async () => {
    const pass = stopClock();
    const { watched, costs } = watchedEnv();
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    replaceKv(async (operation) => (operation === "get" ? null : undefined));
    for (let second = 0; second < 31; second += 1) {
      await view(token, STALE, watched);
      pass(1);
    }
    expect(costs.kv.filter((operation) => operation === "put")).toHaveLength(3);
  });

  it("for each of 10,000 tokens, of which the least recently viewed are forgotten", async () => {
    const leases = new LeaseRequests();
    const nonceOf = (index: number) => new Uint8Array(new Uint32Array([index, 0, 0, 0]).buffer);
    const note = (index: number) => leases.shouldWriteLease(nonceOf(index), 1_000_000);
    for (let index = 0; index < 10_000; index += 1) note(index);
    expect([note(0), note(9_999)]).toEqual([true, true]);
    expect(leases.mayExist(nonceOf(0).buffer, 1_300_000)).toBe(true);
    expect(leases.mayExist(nonceOf(0).buffer, 1_300_001)).toBe(false);
    for (let index = 10_000; index < 19_998; index += 1) note(index);
    expect([note(1), note(0), note(9_999)]).toEqual([false, false, false]);
    expect(leases.mayExist(nonceOf(5).buffer, 1_000_000)).toBe(false);
  });
});

describe("a change and KV", () => {
  it.for([
    ["POST", ["delete"]],
    ["DELETE", ["delete"]],
    ["PUT", []],
  ] as const)("%s of a token with a lease costs %o", async ([method, operations]) => {
    const { watched, costs } = watchedEnv();
    const { leasedTokenOf, changeBy } = await newIntegrator({}, watched);
    const token = await leasedTokenOf("acme");
    costs.kv.length = 0;
    expect((await changeBy(method, token)).status).toBe(200);
    expect(costs.kv).toEqual(operations);
  });

  it.for(["POST", "DELETE", "PUT"] as const)("%s of a token without a lease costs nothing", async (method) => {
    const { watched, costs } = watchedEnv();
    const { tokenOf, changeBy } = await newIntegrator({}, watched);
    const token = await tokenOf("acme");
    await view(token, STALE);
    expect((await changeBy(method, token)).status).toBe(200);
    expect(costs.kv).toEqual([]);
  });

  it("an expired lease, and a repeated call, cost no delete", async () => {
    const pass = stopClock();
    const { watched, costs } = watchedEnv();
    const { leasedTokenOf, rotate } = await newIntegrator({}, watched);
    const token = await leasedTokenOf("acme");
    pass(301);
    costs.kv.length = 0;
    for (const _ of [1, 2]) await rotate(token, {}, withKey("k"));
    expect(costs.kv).toEqual([]);
  });

  it("a rotation deletes the leases of both tokens that it revokes", async () => {
    const { old, current, rotate } = await rotatedWithGrace(NOW);
    expect((await env.TOKEN_INDEX.list()).keys).toHaveLength(2);
    await rotate(current);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
    for (const token of [old, current]) expect(codeOf(await view(token, STALE))).toEqual([401, "credential_revoked"]);
  });

  it("a change is answered and in force when KV fails, which the log says", async () => {
    const { leasedTokenOf, rotate, remove } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    failingKv();
    const rotated = await rotate(token);
    expect(rotated.status).toBe(200);
    const [warning] = logLines.filter(({ level }) => level === "warn");
    const request_id = rotated.headers.get("X-Request-Id");
    expect(warning).toMatchObject({
      request_id,
      message: "A lease could not be deleted.",
      error: "Error: KV is down.",
    });
    expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
    expect((await remove(rotated.body.user_group.token)).status).toBe(200);
  });

  it.for(["rotate", "remove"] as const)("%s is answered and in force while KV hangs", async (name) => {
    const integrator = await newIntegrator();
    const token = await integrator.leasedTokenOf("acme");
    const release = hangingKv();
    const onResponse = vi.fn(async () => {
      expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
      release();
    });
    expect((await integrator[name](token, {}, { onResponse })).status).toBe(200);
    expect(onResponse).toHaveBeenCalledOnce();
  });
});

describe("the age of an answer", () => {
  it.for([
    ["max-age=60", 60, "index"],
    ["max-age=60", 60.001, "directory"],
    ["max-age=299", 299, "index"],
    ["max-age=3600", 300, "index"],
    ["max-age=3600", 300.001, "directory"],
    ["max-age=60", -5, "index"],
    ["max-age=60", -5.001, "directory"],
  ] as const)("with %s after %d seconds comes from the %s", async ([cacheControl, seconds, by]) => {
    const pass = stopClock();
    const { leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    pass(seconds);
    const answer = await view(token, { "Cache-Control": cacheControl });
    expect(answeredBy(answer)).toBe(by);
    expect(answer.headers.get("Age")).toBe(by === "index" ? String(Math.max(0, Math.floor(seconds))) : null);
  });

  it("can be read by scripts of any origin", async () => {
    const { leasedTokenOf } = await newIntegrator();
    const answer = await view(await leasedTokenOf("acme"), { ...STALE, Origin: "https://dashboards.example" });
    expect(answer.headers.get("Access-Control-Expose-Headers")?.split(",")).toContain("Age");
    expect(answer.headers.get("Age")).toMatch(/^\d+$/);
  });
});

it("a lease costs one KV read and no RPC", async () => {
  const { leasedTokenOf } = await newIntegrator();
  const token = await leasedTokenOf("acme");
  const { watched, costs } = watchedEnv();
  await view(token, {}, watched);
  expect(costs).toEqual({ rpcs: ["view"], kv: [] });
  expect((await view(token, STALE, watched)).status).toBe(200);
  expect(costs).toEqual({ rpcs: ["view"], kv: ["get"] });
});

describe("a viewer that accepts a stale answer", () => {
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
  ] as const)("by Cache-Control: %s is answered by the %s", async ([cacheControl, by]) => {
    const { leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    const answer = await view(token, { "Cache-Control": cacheControl });
    expect(answer.status).toBe(200);
    expect(answeredBy(answer)).toBe(by);
  });

  it("gets the same answer from a lease as from the directory", async () => {
    const { leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme", {
      name: "Acme",
      mapping: { m: "d" },
      properties: { n: 1, list: [1], ["__proto__"]: 2 },
    });
    const stale = await view(token, STALE);
    expect(answeredBy(stale)).toBe("index");
    expect(stale.body).toEqual((await view(token)).body);
    const bound = await query(token, { sql: "x = {{user_group.n}}" }, STALE);
    expect(answeredBy(bound)).toBe("index");
    expect(bound.body).toEqual({ success: 1, audience: "acme/Testing", sql: "x = ?", params: [1], dropped: [] });
  });

  const group = { teamId: 1, providedId: "a", name: "a", mapping: null, properties: null, validUntil: null };
  const leaseOf = (fields: object, readAt: number | null = Date.now()) =>
    JSON.stringify({ readAt, group: { ...group, ...fields } });

  it.for([
    ["no JSON", "{"],
    ["null", "null"],
    ["JSON of another shape", leaseOf({ teamId: "1" })],
    ["properties that are no JSON", leaseOf({ properties: "{" })],
    ["a mapping that is no object", leaseOf({ mapping: "1" })],
    ["an entry of version 0.2", JSON.stringify(group)],
    ["no time", leaseOf({}, null)],
    ["properties that are the text null", leaseOf({ properties: "null" })],
    ["properties that are a list", leaseOf({ properties: "[1]" })],
    ["a mapping that is a list", leaseOf({ mapping: "[]" })],
    ...CONTENT_FIELDS.map((field) => [`no ${field}`, leaseOf({ [field]: undefined })]),
    ["another group", leaseOf({ teamId: 2 })],
    ["a grace that has ended", leaseOf({ validUntil: 1 })],
  ])("is answered by the directory where KV holds %s", async ([, value = ""]) => {
    const { leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    poison(value);
    const answer = await view(token, STALE);
    expect(answer.body.user_group.provided_id).toBe("acme");
    expect(answeredBy(answer)).toBe("directory");
  });

  it.for([
    ["fails", failingKv],
    ["hangs", hangingKv],
  ] as const)("is answered by the directory when KV %s", async ([, breakKv]) => {
    const { leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    breakKv();
    const answer = await view(token, STALE);
    expect(answer.status).toBe(200);
    expect(answeredBy(answer)).toBe("directory");
  });
});

describe("a grace", () => {
  it("ends on time for stale viewers, not at the end of a lease", async () => {
    const { old, current } = await rotatedWithGrace(NOW);
    for (const token of [old, current]) expect(answeredBy(await view(token, STALE))).toBe("index");
    vi.setSystemTime(NOW.getTime() + 3_600_000 - 30_000);
    for (const _ of [1, 2]) await view(old, STALE);
    expect(answeredBy(await view(old, STALE))).toBe("index");
    vi.setSystemTime(NOW.getTime() + 3_600_000);
    const late = await view(old, STALE);
    expect(codeOf(late)).toEqual([401, "credential_revoked"]);
    expect(answeredBy(late)).toBe("directory");
  });

  it("is outlived by an older lease that KV keeps, for 300 seconds at most", async () => {
    const pass = stopClock();
    const { leasedTokenOf, rotate } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    replaceKv((operation, _, real) => (operation === "delete" ? Promise.reject(new Error("KV is down.")) : real()));
    await rotate(token, { grace_seconds: 60 });
    pass(300);
    const viewLate = () => view(token, { "Cache-Control": "max-age=300" });
    expect(answeredBy(await viewLate())).toBe("index");
    pass(1);
    expect(codeOf(await viewLate())).toEqual([401, "credential_revoked"]);
  });
});
