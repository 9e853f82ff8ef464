import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import {
  type CallName,
  COUNTS,
  type Counts,
  dollarsPerMillion,
  dollarsPerMillionIndexWrites,
  IDEMPOTENCY_KEY,
  INDEX_WRITE,
} from "../../scripts/bench/costs.ts";
import { type Answer, call } from "../support/client.ts";
import { replaceKv } from "../support/hostile-kv.ts";
import { indexSettled, runAlarm } from "../support/index-state.ts";
import { countRows } from "../support/rows.ts";
import { newIntegrator, operator } from "../support/states.ts";
import { query, STALE, view } from "../support/viewers.ts";
import { watchedEnv } from "../support/watched-env.ts";

// Far ahead, so that no alarm of the runtime, whose clock goes on, is due before the test runs it.
const NOW = new Date("2035-01-01T00:00:00.000Z");

/** A directory of so many groups, with an integrator whose key was used before, and all that its directory does in SQL. */
async function newDirectoryOf(groups: number) {
  const { watched, costs } = watchedEnv();
  const integrator = await newIntegrator({}, watched);
  await runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO user_groups (provided_id, name, nonce, indexed, grace_indexed, revision, created_at, updated_at)
        SELECT 'group ' || i, 'Group', randomblob(16), 0, 0, 1, 1, 1 FROM n`,
      groups,
    );
  });
  const token = await integrator.tokenOf("acme");
  const viewed = await integrator.viewedTokenOf("viewed");
  await indexSettled("acme/Testing");
  await runAlarm("acme/Testing");
  const rows = await countRows("acme/Testing");
  let written = 0;
  replaceKv(async (operation, _, real) => {
    if (operation !== "get") written += 1;
    return real();
  });

  /** What `job` costs until its answer, or with `settled` until the index has been told as well and the alarm has run. */
  const costOf = async (job: () => Promise<Answer>, { settled = false } = {}): Promise<Counts & { alarms: number }> => {
    const before = { ...rows, rpc: costs.rpcs.length, gets: costs.kv.length, kvWrites: written };
    const { status } = await job();
    if (status !== 200) throw new Error(`The call was answered with ${status}.`);
    if (settled) {
      await indexSettled("acme/Testing");
      await runAlarm("acme/Testing");
    }
    return {
      rpc: costs.rpcs.length - before.rpc,
      kv_reads: costs.kv.length - before.gets,
      kv_writes: written - before.kvWrites,
      rows_read: rows.read - before.read,
      rows_written: rows.written - before.written,
      alarms: rows.alarms - before.alarms,
    };
  };
  return { ...integrator, watched, token, viewed, rows, costOf };
}

const tokenIn = ({ body }: Answer): string => body.user_group.token;

describe.for([10, 100_000])("in a directory of %i groups", (groups) => {
  it("every call costs the rows that the price list says", async ({ expect }) => {
    const { get, put, rotate, remove, tokenOf, token, viewed, watched, costOf } = await newDirectoryOf(groups);
    let current = token;
    const rotateIt = async () => {
      const rotated = await rotate(current);
      current = tokenIn(rotated);
      return rotated;
    };
    const calls: Record<CallName, () => Promise<Answer>> = {
      get_hit: () => get({ user_group_id: "acme" }),
      create: () => get({ user_group_id: "new", name: "New", mapping: { m: "d" }, properties: { a: 1 } }),
      put: () => put({ user_group_id: "acme", name: "Renamed" }),
      viewer_strong: () => view(current, {}, watched),
      viewer_stale: () => view(viewed, STALE, watched),
      post: rotateIt,
      delete: () => remove(current),
    };
    for (const name of Object.keys(calls) as CallName[])
      expect({ name, ...(await costOf(calls[name], { settled: true })) }).toEqual({ name, alarms: 0, ...COUNTS[name] });
    const newest = await tokenOf("newest");
    expect((await costOf(() => remove(newest))).rows_written).toBe(COUNTS.delete.rows_written + 1);
  });

  it("telling the index costs what the price list says on top, settling and alarm included", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { put, rotate, remove, viewedTokenOf, tokenOf, token, watched, costOf, rows } = await newDirectoryOf(groups);
    const tokens = [await viewedTokenOf("rotated"), await viewedTokenOf("deleted")] as const;
    const newest = await viewedTokenOf("newest");
    await indexSettled("acme/Testing");

    const isOnTop = async (name: CallName, job: () => Promise<Answer>, more: Partial<Counts> = {}) => {
      // KV takes a write of each token a second; and no alarm is left that the call could share.
      vi.setSystemTime(Date.now() + 2000);
      await runAlarm("acme/Testing");
      const { rows_read, ...cost } = await costOf(job, { settled: true });
      const { rows_read: readAtLeast, ...base } = { ...COUNTS[name], ...more };
      expect(rows_read - readAtLeast).toBeLessThanOrEqual(INDEX_WRITE.rows_read_at_most);
      expect({ name, ...cost }).toEqual({
        name,
        ...base,
        kv_writes: INDEX_WRITE.kv_writes,
        rows_written: base.rows_written + INDEX_WRITE.rows_written,
        alarms: INDEX_WRITE.alarms,
      });
      return cost.rows_written;
    };
    expect(await isOnTop("put", () => put({ user_group_id: "viewed", name: "Renamed" }))).toBeLessThanOrEqual(3);
    expect(await isOnTop("post", () => rotate(tokens[0]))).toBeLessThanOrEqual(4);
    expect(await isOnTop("delete", () => remove(tokens[1]))).toBeLessThanOrEqual(4);
    expect(await isOnTop("delete", () => remove(newest), { rows_written: 2 })).toBeLessThanOrEqual(4);
    // The group's row is read and marked, too.
    await isOnTop("viewer_strong", () => view(token, STALE, watched), { kv_reads: 1, rows_read: 2, rows_written: 1 });

    const other = await tokenOf("other");
    expect(await costOf(() => remove(other), { settled: true })).toMatchObject({ kv_writes: 0, alarms: 0 });
    expect(rows.plans.filter((plan) => plan.includes("SCAN"))).toEqual([]);
  });

  it("no statement scans a table", async ({ expect }) => {
    const { get, put, rotate, remove, token, rows } = await newDirectoryOf(groups);
    const manage = (method: string, path: string, body?: object) =>
      call(method, `/api/keys${path}?workspace=acme&environment=Testing`, { credential: operator, body });
    await get({ user_group_id: "new" });
    await put({ user_group_id: "new", new_user_group_id: "newer" });
    await put({ user_group_id: "newer", name: "Newer" });
    await view(token, STALE);
    await query(token, { sql: "x = {{user_group_id}}" });
    const rotated = await rotate(token, { grace_seconds: 60 });
    await view(token);
    await put({ user_group_id: "acme", name: 7 });
    await remove(tokenIn(rotated));
    await manage("POST", "", undefined);
    await manage("GET", "");
    await manage("POST", "/1/roll");
    await manage("DELETE", "/1");
    await call("POST", "/api/keys", {
      credential: operator,
      body: { workspace: "acme", environment: "Testing", name: "x" },
    });
    await indexSettled("acme/Testing");
    expect(new Set(rows.statements).size).toBeGreaterThan(12);
    expect(rows.plans.length).toBeGreaterThan(rows.statements.length / 2);
    expect(rows.plans.filter((plan) => plan.includes("SCAN"))).toEqual([]);
  });
});

it("an Idempotency-Key costs the rows that the price list says on top", async ({ expect }) => {
  const { key, token, costOf } = await newDirectoryOf(10);
  const rotateOnce = () =>
    call("POST", "/api/user", { credential: key, headers: { "Idempotency-Key": "x" }, body: { current_token: token } });
  const first = await costOf(rotateOnce);
  expect(first.rows_written).toBe(COUNTS.post.rows_written + IDEMPOTENCY_KEY.rows_written);
  expect((await costOf(rotateOnce)).rows_written).toBe(0);
});

it("changes of the same few seconds share one alarm", async ({ expect }) => {
  const { put, costOf } = await newDirectoryOf(10);
  const { alarms, rows_written } = await costOf(async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, version) => put({ user_group_id: "viewed", name: `v${version}` })),
    );
    return answers[0] as Answer;
  });
  expect(rows_written).toBeGreaterThanOrEqual(50);
  expect(alarms).toBeLessThanOrEqual(3);
});

it("the prices keep within their bounds", ({ expect }) => {
  expect(dollarsPerMillion(COUNTS.get_hit)).toBeLessThanOrEqual(0.5);
  expect(dollarsPerMillion(COUNTS.put)).toBeLessThanOrEqual(1.5);
  const most = { create: 4, put: 3, post: 4, delete: 4 };
  for (const [name, bound] of Object.entries(most))
    expect(COUNTS[name as keyof typeof most].rows_written + INDEX_WRITE.rows_written).toBeLessThanOrEqual(
      name === "create" ? bound + INDEX_WRITE.rows_written : bound,
    );
  expect(dollarsPerMillionIndexWrites()).toBeCloseTo(8.16, 2);
});
