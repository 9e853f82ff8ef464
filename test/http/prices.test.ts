import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { DAY_MS, IDEMPOTENCY_SECONDS, UNDO_DAYS_DEFAULT } from "../../common/limits.ts";
import { REGISTRY_NAME } from "../../src/domain/placement.ts";
import {
  BY_NUMBER,
  type CallName,
  COUNTS,
  type Counts,
  dollarsPerMillion,
  LEASE_DELETE,
  LEASE_PERIODS,
  OPERATOR_ADMISSION,
  STALE_COPIES,
} from "../../tools/bench/costs.ts";
import { runAlarm } from "../support/alarm.ts";
import { byNumber, IN_ACME } from "../support/by-number.ts";
import { type Answer, call, tokenIn } from "../support/client.ts";
import { NOW } from "../support/clock.ts";
import { replaceKv } from "../support/hostile-kv.ts";
import { countRows, type Rows } from "../support/rows.ts";
import { mint, sessionOf } from "../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator, withKey } from "../support/states.ts";
import { insertGroups } from "../support/storage.ts";
import { answeredBy, query, STALE, view } from "../support/viewers.ts";
import { watchedEnv } from "../support/watched-env.ts";

/** The calls that end viewer sessions. The first end of an instance sets the alarm for the sweep, which deletes a row later. */
const SESSION_ENDS = {
  session: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 3 },
  person: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 3 },
  group: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 2 },
} as const satisfies Record<string, Counts>;

/**
 * The purge of one deleted group by the alarm: its row, its event, and its number twice: when it is stored for the registry, and
 * when it is deleted, once the registry has it. The registry writes a row and its index. The alarm runs once for up to a hundred groups, and is
 * billed as one row written when it is set and one request when it runs.
 */
const PURGE = { rows_written: 4 } as const;

/** What the first delete of an instance of the directory costs in addition, to schedule the alarm for the purge. */
const FIRST_DELETE = { alarms: 1 } as const;

/**
 * What an Idempotency-Key costs on top: its row and the two indexes on that, and a day later the row again, which an alarm
 * deletes. The alarm is billed as one row written when it is set, and as one request when it runs; responses that expire
 * soon after one another share it.
 */
const IDEMPOTENCY_KEY = { rows_written: 3, rows_written_a_day_later: 1 } as const;

/** What the first Idempotency-Key of an instance of the directory costs in addition, to schedule the alarm for its end. */
const FIRST_IDEMPOTENCY_KEY = { alarms: 1 } as const;

const DIRECTORY = "acme/Testing";
const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);

/** SQL for a JSON text of so many bytes. */
const jsonOf = (bytes: number): string => `json_object('filler', hex(zeroblob(${bytes / 2})))`;

/** An integrator in a directory of so many groups, and a function that counts what a job costs. */
async function newCountedIntegrator(groups: number, json: { mapping?: string; properties?: string } = {}) {
  const { watched, costs } = watchedEnv();
  const integrator = await newIntegrator({}, watched);
  await insertGroups(groups, json);
  // The first delete of an instance sets the alarm.
  await integrator.remove(await integrator.tokenOf("deleted"));
  const token = await integrator.tokenOf("acme");
  // The first call of a key writes the time of its use, and the second one reads that.
  await integrator.tokenOf("acme");
  const rows = await countRows(env.GROUP_DIRECTORY.getByName(DIRECTORY));

  const costOf = async (job: () => Promise<unknown>): Promise<Counts & { alarms: number }> => {
    const operations = () => costs.kv.length;
    const reads = () => costs.kv.filter((operation) => operation === "get").length;
    const before = { ...snapshotOf(rows), rpc: costs.rpcs.length, operations: operations(), reads: reads() };
    await job();
    const kvReads = reads() - before.reads;
    return {
      rpc: costs.rpcs.length - before.rpc,
      kv_reads: kvReads,
      kv_writes: operations() - before.operations - kvReads,
      rows_read: rows.read - before.read,
      rows_written: rows.written - before.written,
      alarms: rows.alarms - before.alarms,
    };
  };
  return { ...integrator, watched, token, rows, costOf };
}

const snapshotOf = ({ read, written, alarms }: Rows) => ({ read, written, alarms });

/** Throws if the call is refused: a refusal costs less than the call to measure. */
async function succeed(answer: Promise<Answer>): Promise<Answer> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`The call was answered with ${status}: ${JSON.stringify(body)}.`);
  return answer;
}

describe.for([10, 100_000])("in a directory of %i groups", (groups) => {
  it("every call costs what the price list says", async () => {
    const { key, get, put, rotate, remove, leasedTokenOf, tokenOf, token, watched, costOf } =
      await newCountedIntegrator(groups);
    const leased = await leasedTokenOf("viewed");
    let current = token;
    let session = "";
    const staleSession = await sessionOf(key, { max_stale_seconds: 60 });
    const calls: Record<CallName, () => Promise<Answer>> = {
      get_hit: () => get({ user_group_id: "acme" }),
      create: () => get({ user_group_id: "new", name: "New", mapping: { m: "d" }, properties: { a: 1 } }),
      put: () => put({ user_group_id: "acme", name: "Renamed" }),
      viewer_strong: () => view(current, {}, watched),
      viewer_stale: () => view(leased, STALE, watched),
      post: async () => {
        const rotated = await rotate(current);
        current = tokenIn(rotated);
        return rotated;
      },
      mint: async () => {
        const minted = await mint(key, {}, watched);
        session = minted.body.session.token;
        return minted;
      },
      viewer_session: () => view(session, {}, watched),
      viewer_session_again: () => view(session, {}, watched),
      viewer_session_stale: () => view(staleSession, {}, watched),
      delete: () => remove(current),
    };
    for (const name of Object.keys(calls) as CallName[])
      expect({ name, ...(await costOf(() => succeed(calls[name]()))) }).toEqual({ name, alarms: 0, ...COUNTS[name] });
    const newest = await tokenOf("newest");
    expect((await costOf(() => succeed(remove(newest)))).rows_written).toBe(COUNTS.delete.rows_written + 1);
  });

  it("ending sessions costs what the price list says", async () => {
    const { key, watched, costOf } = await newCountedIntegrator(groups);
    const end = (body: object) =>
      succeed(call("POST", "/api/viewer_sessions/end", { credential: key, body, env: watched }));
    await end({ user_group_id: "acme", viewer_id: "the first of this instance" });
    const session = await sessionOf(key, { viewer_id: "ann" });
    const calls: Record<keyof typeof SESSION_ENDS, () => Promise<Answer>> = {
      session: () => end({ session }),
      person: () => end({ user_group_id: "acme", viewer_id: "ann" }),
      group: () => end({ user_group_id: "acme" }),
    };
    for (const name of Object.keys(calls) as (keyof typeof SESSION_ENDS)[])
      expect({ name, ...(await costOf(calls[name])) }).toEqual({ name, alarms: 0, ...SESSION_ENDS[name] });
  });

  it("calls by number cost what the price list says for keys and operators", async () => {
    const { key, tokenOf, watched, costOf } = await newCountedIntegrator(groups);
    for (const id of ["doomed", "doomed too", "newest"]) await tokenOf(id);
    const [doomed, doomedToo] = [groups + 3, groups + 4];
    const admin = await issueOperator("admin");
    // Its first call writes when it was used, and the second one reads that again.
    for (const _ of [1, 2]) await call("GET", `/api/user_groups/1${inEnvironment()}`, { credential: admin });
    const inRegistry = await countRows(registry());
    for (const [credential, where, teamId, onTop] of [
      [key, {}, doomed, { rpc: 0, rows_read: 0, rows_written: 0 }],
      [admin, IN_ACME, doomedToo, OPERATOR_ADMISSION],
    ] as const) {
      const send = (method: string, path: string, body?: object, state = {}) => {
        const search = new URLSearchParams({ ...where, ...state });
        return succeed(call(method, `/api/user_groups/${path}?${search}`, { credential, body, env: watched }));
      };
      const calls: Record<keyof typeof BY_NUMBER, () => Promise<Answer>> = {
        get: () => send("GET", `${teamId}`),
        put: () => send("PUT", `${teamId}`, { name: "Renamed" }),
        rotate: () => send("POST", `${teamId}/rotate`),
        suspend: () => send("PUT", `${teamId}`, { suspended: true }),
        delete: () => send("DELETE", `${teamId}`),
        get_deleted: () => send("GET", `${teamId}`, undefined, { state: "deleted" }),
        restore: () =>
          send("POST", `${teamId}/restore`, { rotate_token: true, new_user_group_id: `restored ${teamId}` }),
        purge: () => send("POST", `${teamId}/purge`),
      };
      for (const name of Object.keys(calls) as (keyof typeof BY_NUMBER)[]) {
        // A purge follows a deletion; the restore before it is counted by itself.
        await (name === "purge" && calls.delete());
        // To find who has suspended a group costs more, and is counted by itself.
        await (name === "delete" && send("PUT", `${teamId}`, { suspended: false }));
        const before = snapshotOf(inRegistry);
        const { rpc, ...counts } = await costOf(calls[name]);
        const { rpc: ownRpc, ...own } = BY_NUMBER[name];
        // The first purge of an instance sets the alarm.
        const alarms = name === "purge" ? expect.toBeOneOf([0, 1]) : 0;
        expect({ name, rpc, ...counts }).toEqual({ name, rpc: ownRpc + onTop.rpc, alarms, ...own });
        expect(snapshotOf(inRegistry)).toEqual({
          read: before.read + onTop.rows_read,
          written: before.written + onTop.rows_written,
          alarms: 0,
        });
      }
    }
  });

  it.for(["put", "post", "delete"] as const)("a lease costs %s what the price list says on top", async (name) => {
    const { put, rotate, remove, leasedTokenOf, tokenOf, costOf } = await newCountedIntegrator(groups);
    const leased = await leasedTokenOf("viewed");
    await tokenOf("newest");
    const calls = {
      put: () => put({ user_group_id: "viewed", name: "Renamed" }),
      post: () => rotate(leased),
      delete: () => remove(leased),
    };
    const expected = { alarms: 0, ...COUNTS[name], ...LEASE_DELETE[name] };
    expect(await costOf(() => succeed(calls[name]()))).toEqual(expected);
  });

  it("a purge by the alarm costs what the price list says, and the alarm is set once", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { tokenOf, remove } = await newIntegrator();
    await insertGroups(groups);
    const tokens = [await tokenOf("a"), await tokenOf("b"), await tokenOf("c")];
    const rows = await countRows(env.GROUP_DIRECTORY.getByName(DIRECTORY));
    for (const token of tokens) await succeed(remove(token));
    expect(rows.alarms).toBe(FIRST_DELETE.alarms);
    vi.setSystemTime(NOW.getTime() + UNDO_DAYS_DEFAULT * DAY_MS);
    const written = rows.written;
    await runAlarm(DIRECTORY);
    expect(rows.written - written).toBe(tokens.length * PURGE.rows_written);
  });

  it("no statement scans a table", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { key, get, put, rotate, remove, token, watched, rows } = await newCountedIntegrator(groups);
    const manage = (method: string, path: string) =>
      call(method, `/api/keys${path}${inEnvironment()}`, { credential: operator });
    const list = (search: string) => call("GET", `/api/user_groups?${search}`, { credential: key });
    await get({ user_group_id: "new" });
    await put({ user_group_id: "new", new_user_group_id: "newer" });
    await put({ user_group_id: "newer", name: "Newer" });
    for (const _ of [1, 2]) await view(token, STALE, watched);
    await query(token, { sql: "x = {{user_group_id}}" });
    await view((await succeed(mint(key))).body.session.token);
    const rotated = await rotate(token, { grace_seconds: 60 }, withKey("once"));
    await view(token);
    await put({ user_group_id: "acme", name: 7 });
    await remove(tokenIn(rotated));
    const numbered = byNumber(key);
    for (const rotate_token of [true, false]) {
      await numbered.remove(2);
      await numbered.showDeleted(2);
      await succeed(numbered.restore(2, { rotate_token, new_user_group_id: `restored ${rotate_token}` }));
    }
    await succeed(numbered.update(2, { suspended: true }));
    for (const teamId of [2, 3]) await numbered.remove(teamId);
    await succeed(numbered.purge(2));
    for (const state of ["active", "suspended", "deleted"]) await list(`limit=3&state=${state}`);
    await list("limit=3&state=active&user_group_id_prefix=group");
    for (const search of ["limit=3", "limit=3&user_group_id_prefix=group"]) {
      const { body } = await list(search);
      await list(`${search}&cursor=${body.next_cursor}`);
    }
    vi.setSystemTime(NOW.getTime() + UNDO_DAYS_DEFAULT * DAY_MS);
    await runAlarm(DIRECTORY);
    expect((await list("state=deleted")).body.user_groups).toEqual([]);
    await manage("GET", "");
    await manage("POST", "/1/roll");
    await manage("DELETE", "/1");
    await issueKey();
    const statements = rows.statements.filter(({ sql }) => !sql.includes("sqlite_master"));
    expect(new Set(statements.map(({ sql }) => sql)).size).toBeGreaterThan(25);
    expect(statements.filter(({ plan }) => plan.some((step) => /SCAN|TEMP B-TREE/.test(step)))).toEqual([]);
  });
});

it("no statement of the registry scans a table", async () => {
  await issueKey();
  const admin = await issueOperator("admin");
  const rows = await countRows(registry());
  const manage = (method: string, path: string, body?: object) => call(method, path, { credential: admin, body });
  await issueKey({ workspace: "beta" });
  await issueKey({ workspace: "beta" });
  await manage("POST", "/api/operators", { name: "ada", role: "viewer" });
  await manage("GET", "/api/operators");
  await manage("POST", "/api/operators/2/roll");
  await manage("DELETE", "/api/operators/2");
  const { body } = await manage("GET", "/api/environments?limit=1");
  await manage("GET", `/api/environments?limit=1&cursor=${body.next_cursor}`);
  await manage("GET", `/api/user_groups${inEnvironment()}`);
  const events = await manage("GET", "/api/events?limit=1");
  await manage("GET", `/api/events?cursor=${events.body.next_cursor}&type=operator.issued`);
  await runInDurableObject(registry(), (instance) => instance.alarm());
  const statements = rows.statements.filter(({ sql }) => !sql.includes("sqlite_master"));
  expect(new Set(statements.map(({ sql }) => sql)).size).toBeGreaterThan(10);
  expect(statements.filter(({ plan }) => plan.some((step) => /SCAN|TEMP B-TREE/.test(step)))).toEqual([]);
});

describe("an Idempotency-Key", () => {
  it("adds its price in the list, and a repeat changes nothing", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { rotate, token, tokenOf, costOf } = await newCountedIntegrator(10);
    const rotateOnce = (currentToken: string) =>
      costOf(() => succeed(rotate(currentToken, {}, withKey(currentToken.slice(-20)))));
    const other = await tokenOf("other");
    const price = { ...COUNTS.post, rows_written: COUNTS.post.rows_written + IDEMPOTENCY_KEY.rows_written };
    expect(await rotateOnce(token)).toEqual({ ...price, alarms: FIRST_IDEMPOTENCY_KEY.alarms });
    expect(await rotateOnce(other)).toEqual({ ...price, alarms: 0 });
    expect(await rotateOnce(other)).toMatchObject({ rpc: 1, kv_reads: 0, kv_writes: 0, rows_written: 0, alarms: 0 });

    vi.setSystemTime(NOW.getTime() + IDEMPOTENCY_SECONDS * 1000);
    const { rows_written: deleted } = await costOf(() => runAlarm(DIRECTORY));
    expect(deleted).toBe(2 * IDEMPOTENCY_KEY.rows_written_a_day_later);
  });
});

/** A token's views at a steady rate, counted from one write of its lease to the next, or for several such periods. */
async function periodAt(viewsPerMinute: number, periods = 1) {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const { token, watched, costOf } = await newCountedIntegrator(10);
  let views = 0;
  let notMade = 0;
  const viewNext = async (): Promise<string | null> => {
    views += 1;
    vi.setSystemTime(NOW.getTime() + Math.round((views * 60_000) / viewsPerMinute));
    return answeredBy(await succeed(view(token, STALE, watched)));
  };
  const toNextWrite = async () => {
    while ((await viewNext()) !== "index");
    // Most views of the next minute cost the same, one read of KV. They are counted without being made.
    if (viewsPerMinute > 100) {
      const leased = viewsPerMinute - 100;
      views += leased;
      notMade += leased;
    }
    while ((await viewNext()) === "index");
  };
  await toNextWrite();
  const before = { views, notMade };
  const { alarms, ...counts } = await costOf(async () => {
    for (let period = 0; period < periods; period += 1) await toNextWrite();
  });
  return {
    views_per_minute: viewsPerMinute,
    views: views - before.views,
    ...counts,
    kv_reads: counts.kv_reads + notMade - before.notMade,
  };
}

describe("a token that is viewed with max-age=60", () => {
  it.for(LEASE_PERIODS)("$views_per_minute times a minute costs its price in the list", async (period) => {
    expect(await periodAt(period.views_per_minute)).toEqual(period);
  });

  it("costs its price in the list when KV's copies are used for 30 seconds", async () => {
    const copies = new Map<unknown, { value: unknown; until: number }>();
    replaceKv(async (operation, [key], real) => {
      if (operation !== "get") return real();
      const copy = copies.get(key);
      if (copy && Date.now() < copy.until) return copy.value;
      const value = await real();
      copies.set(key, { value, until: Date.now() + 30_000 });
      return value;
    });
    expect(await periodAt(STALE_COPIES.views_per_minute)).toEqual(STALE_COPIES);
  });
});

describe("a page of a list", () => {
  const LARGE = { mapping: jsonOf(44_000), properties: jsonOf(16_000) };

  it.for([
    ["10 small groups", 10, {}, 10],
    ["100,000 small groups", 100_000, {}, 1000],
    ["1,000 groups of 60 KB", 1000, LARGE, 17],
  ] as const)("of %s reads one size more than its limit, and its groups", async ([, groups, json, shown]) => {
    const { key, remove, token, rows } = await newCountedIntegrator(groups, json);
    await remove(token);
    for (const order of ["", "&user_group_id_prefix=group"]) {
      for (const limit of [5, 1000]) {
        rows.statements.length = 0;
        const { body } = await succeed(call("GET", `/api/user_groups?limit=${limit}${order}`, { credential: key }));
        expect(body.user_groups).toHaveLength(Math.min(limit, shown));
        const [sizes, page, ...others] = rows.statements;
        expect({ others, sizes: sizes?.read, page: page?.read }).toEqual({
          others: [],
          sizes: Math.min(limit + 1, groups),
          page: Math.min(limit, shown),
        });
        for (const statement of [sizes, page])
          expect(statement?.plan).toEqual([
            expect.stringMatching(/^SEARCH user_groups USING (INTEGER PRIMARY KEY|INDEX \S+) \(/),
          ]);
      }
    }
  });
});

it("a list of one id reads one row by the index of ids", async () => {
  const { key, rows } = await newCountedIntegrator(100_000);
  const found = async (id: string) => {
    rows.statements.length = 0;
    const { body } = await succeed(call("GET", `/api/user_groups?user_group_id=${id}`, { credential: key }));
    const [statement, ...others] = rows.statements;
    return { groups: body.user_groups.length, read: statement?.read, plan: statement?.plan, others };
  };
  const plan = [expect.stringMatching(/^SEARCH user_groups USING INDEX /)];
  expect(await found("acme")).toEqual({ groups: 1, read: 1, plan, others: [] });
  expect(await found("nobody")).toEqual({ groups: 0, read: 1, plan, others: [] });
});

it("the prices keep within their bounds", () => {
  for (const { views, ...counts } of [...LEASE_PERIODS, STALE_COPIES])
    expect(dollarsPerMillion(counts, views)).toBeLessThanOrEqual(counts.views_per_minute === 1 ? 2.6 : 0.9);
  expect(dollarsPerMillion(COUNTS.get_hit)).toBeLessThanOrEqual(0.5);
  expect(dollarsPerMillion(COUNTS.put)).toBeLessThanOrEqual(2.5);
  expect(dollarsPerMillion(BY_NUMBER.put)).toBeLessThanOrEqual(2.5);
});
