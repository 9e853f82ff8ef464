import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import {
  GROUPS_COUNTED_MAX,
  HISTORY_ROWS_MAX,
  HISTORY_STEP_ROWS,
  SCAN_SECONDS_MAX,
  SEARCH_ROWS_MAX,
  SEARCH_STEP_ROWS,
  SEARCH_TURN_BYTES_MAX,
  SEARCH_TURN_ROWS_MAX,
  SEARCH_TURN_UNITS_MAX,
} from "../../common/limits.ts";
import { GroupSearch } from "../../src/domain/search/group-scans.ts";
import { GroupStore } from "../../src/storage/group-store.ts";
import { byNumber } from "../support/by-number.ts";
import { type Answer, call } from "../support/client.ts";
import { NOW } from "../support/clock.ts";
import { countRows, type Rows, type Statement } from "../support/rows.ts";
import { newIntegrator } from "../support/states.ts";
import { inDirectory } from "../support/storage.ts";
import { view } from "../support/viewers.ts";

/**
 * How many rows a call by number reads in addition to find who has suspended or deleted a group, among so many events: two, twice one for
 * each halving, and the event twice.
 */
const endingRows = (events: number): number => 4 + 2 * Math.ceil(Math.log2(events + 1));

/** How many rows a search and a history read: each group or event that they examine, each that they return, and a few for each turn. */
const SCAN_ROWS_PER_TURN = 5;

/** What searches, histories and counts read, and that others are answered beside them. */

const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");
const ADA = { kind: "operator", id: 1, name: "ada", role: "viewer", expiresAt: null, requestId: "test" } as const;

/** Lets no call of this test end for its time, however slow the machine is. */
const stopClock = () => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] });

/** An integrator with one group, acme, and so many others with the name that the SQL says. */
async function newIntegratorWith(groups: number, { name = "'Group ' || i", json = "NULL", suspended = "NULL" } = {}) {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", { name: "The first" });
  await inDirectory(({ sql }) =>
    sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= ?)
        INSERT INTO user_groups (provided_id, name, nonce, generation, revision, created_at, updated_at, properties, suspended_at)
        SELECT 'group-' || i, ${name}, randomblob(16), randomblob(16), 1, 1, 1, ${json}, ${suspended} FROM n WHERE i > 1`,
      groups,
    ),
  );
  // The first call of a key writes the time of its use.
  await integrator.get({ user_group_id: "acme" });
  return { ...integrator, ...byNumber(integrator.key), token, rows: await countRows(directory()) };
}

/** An integrator with groups 1 and 2. */
async function newGroups() {
  const integrator = await newIntegratorWith(0);
  await integrator.tokenOf("globex");
  return integrator;
}

/** Adds events of group 2, as many calls would, and counts from then on. */
async function addEvents(count: number, rows: Rows) {
  await inDirectory(({ sql }) => {
    sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
        SELECT ?, 'user_group.updated', '{"kind":"api_key","id":1,"name":"backend"}', 'r', 2, 'group-2', '{}' FROM n`,
      count,
      Date.now(),
    );
  });
  rows.statements.splice(0);
}

/** Takes the turns of a search in the directory. Returns the statements of each, and its page. */
async function turnsOf(search: GroupSearch, rows: Rows) {
  const turns: Statement[][] = [];
  for (;;) {
    const from = rows.statements.length;
    const { page } = await inDirectory(({ sql }) => search.turn(new GroupStore(sql)));
    turns.push(rows.statements.slice(from));
    if (page) return { turns, page };
  }
}

const EVERY = { start: undefined, prefix: undefined, state: undefined, limit: 1000 };

/** The same of a search for an absent word. */
const absentTurns = (rows: Rows) => turnsOf(new GroupSearch({ ...EVERY, search: "absent" }), rows);

const readBy = (statements: Statement[]): number => statements.reduce((sum, { read }) => sum + read, 0);

describe("a search for an absent word", () => {
  it("reads 1,000 groups in a turn, in steps of 250", async () => {
    stopClock();
    const { rows } = await newIntegratorWith(SEARCH_ROWS_MAX + 1500);
    const { turns, page } = await absentTurns(rows);
    expect(page).toEqual({ groups: [], next: SEARCH_ROWS_MAX + 1 });
    expect(turns).toHaveLength(SEARCH_ROWS_MAX / SEARCH_TURN_ROWS_MAX + 1);
    expect(Math.max(...turns.map(readBy))).toBe(SEARCH_TURN_ROWS_MAX);
    expect(Math.max(...rows.statements.map(({ read }) => read))).toBe(SEARCH_STEP_ROWS);
    expect(readBy(turns.flat())).toBe(SEARCH_ROWS_MAX + 1);
  });

  it("reads each group once, 100,000 in a call, and writes nothing", async () => {
    stopClock();
    const { list, rows } = await newIntegratorWith(SEARCH_ROWS_MAX + 1500);
    const first = await list({ search: "absent" });
    expect(first.body).toMatchObject({ success: 1, user_groups: [], next_cursor: expect.any(String) });
    expect(rows.read - SEARCH_ROWS_MAX).toBeOneOf([1, 2, 3]);
    expect(rows.plans.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);

    const second = await list({ search: "absent", cursor: first.body.next_cursor });
    expect(second.body).toEqual({ success: 1, user_groups: [], next_cursor: null });
    expect(rows.read - SEARCH_ROWS_MAX - 1501).toBeLessThan(10);
    expect(rows.written).toBe(0);
  });

  it.for([
    ["ASCII", "hex(zeroblob(125))", 1],
    ["text to decompose", "replace(hex(zeroblob(125)), '0', 'é')", 4],
  ] as const)("ends a turn after 64,000 units of names in %s", async ([, name, weight]) => {
    const { rows } = await newIntegratorWith(2000, { name });
    const { turns } = await absentTurns(rows);
    const groups = SEARCH_TURN_UNITS_MAX / (weight * 250);
    expect(turns.length).toBeGreaterThan(2000 / groups);
    // The ids have units, too.
    expect(turns.length).toBeLessThan(1.1 * (2000 / groups) + 2);
    expect(Math.max(...turns.map(readBy))).toBeLessThanOrEqual(groups + SEARCH_STEP_ROWS + 1);
  });
});

describe("a search", () => {
  it("reads what is large only of the groups that it finds, one row for each", async () => {
    const { list, rows } = await newIntegratorWith(1500, { json: "json_object('x', hex(zeroblob(1000)))" });
    const { body } = await list({ search: "GROUP 77", limit: "1000" });
    expect(body.user_groups).toHaveLength(24);
    expect(rows.statements.filter(({ sql }) => sql.includes("AS properties"))).toHaveLength(24);
  });

  it("ends a turn after 64,000 bytes of groups that it finds", async () => {
    const { rows } = await newIntegratorWith(100, { json: "json_object('x', hex(zeroblob(4000)))" });
    const { turns, page } = await turnsOf(new GroupSearch({ ...EVERY, search: "group" }), rows);
    expect(page.groups).toHaveLength(100);
    const found = turns.map((turn) => turn.filter(({ sql }) => sql.includes("AS properties")).length);
    expect(Math.max(...found)).toBeLessThanOrEqual(Math.ceil(SEARCH_TURN_UNITS_MAX / 8000));
  });

  it("ends a turn after 64 pages of the database, in steps that fit", async () => {
    const { rows } = await newIntegratorWith(1000, { json: "json_object('x', hex(zeroblob(1200)))" });
    const { turns } = await absentTurns(rows);
    expect(Math.max(...turns.map(readBy))).toBeLessThanOrEqual(Math.ceil(SEARCH_TURN_BYTES_MAX / 2400));
    expect(turns.length).toBeLessThanOrEqual(1.2 * Math.ceil(1000 / (SEARCH_TURN_BYTES_MAX / 2500)));
  });

  it("ends after 5 seconds, and goes on from there", async () => {
    stopClock();
    const { rows, list } = await newIntegratorWith(3000);
    const search = new GroupSearch({ ...EVERY, search: "absent" });
    const turn = () => inDirectory(({ sql }) => search.turn(new GroupStore(sql)));
    vi.setSystemTime(NOW.getTime() + SCAN_SECONDS_MAX * 1000 - 1);
    expect((await turn()).page).toBeUndefined();
    vi.setSystemTime(NOW.getTime() + SCAN_SECONDS_MAX * 1000);
    expect((await turn()).page).toEqual({ groups: [], next: 2 * SEARCH_TURN_ROWS_MAX + 1 });
    expect(rows.written).toBe(0);
    expect((await list({ search: "Group 2999" })).body.user_groups).toHaveLength(1);
  });

  it("stops when its page is full", async () => {
    const { list, rows } = await newIntegratorWith(5000);
    expect((await list({ search: "group", limit: "3" })).body.user_groups).toHaveLength(3);
    expect(rows.read).toBeLessThan(SEARCH_STEP_ROWS + 10);
  });

  it("lets views and other lists be answered between its turns", async () => {
    const { key, list, token } = await newIntegratorWith(50_000);
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const searches = Array.from({ length: 3 }, () => list({ search: "absent" }).then(note("search")));
    for (let n = 0; n < 5; n += 1) await view(token).then(note("view"));
    await call("GET", "/api/user_groups?limit=1", { credential: key }).then(note("list"));
    await Promise.all(searches);
    expect(order.slice(0, 6)).toEqual(["view", "view", "view", "view", "view", "list"]);
  });

  it("is refused once its key is revoked, in the middle", async () => {
    const { list } = await newIntegratorWith(50_000);
    const searching = list({ search: "absent" });
    await runInDurableObject(directory(), (instance) => instance.revokeKey(ADA, 1));
    expect(await searching).toMatchObject({ status: 401, body: { error: { code: "credential_revoked" } } });
  });

  it("is answered 40 times at once for one caller", async () => {
    const { list } = await newIntegratorWith(3000);
    const answers: Answer[] = await Promise.all(Array.from({ length: 40 }, () => list({ search: "The First" })));
    expect(answers.map(({ body }) => body.user_groups?.length)).toEqual(answers.map(() => 1));
  });
});

describe("a group's history", () => {
  it("reads 100,000 events in a call, 2,000 in a turn", async () => {
    stopClock();
    const { key, rows } = await newGroups();
    await addEvents(HISTORY_ROWS_MAX + 500, rows);
    const read = (cursor = "") => call("GET", `/api/user_groups/1/events?limit=10${cursor}`, { credential: key });
    const first = await read();
    expect(first.body).toMatchObject({
      events: [],
      next_cursor: expect.any(String),
      searched_back_to: expect.any(String),
    });
    const steps = HISTORY_ROWS_MAX / HISTORY_STEP_ROWS;
    expect(rows.statements.filter(({ read }) => read > HISTORY_STEP_ROWS / 2)).toHaveLength(steps);
    expect(Math.max(...rows.statements.map(({ read }) => read))).toBe(HISTORY_STEP_ROWS + 1);
    expect(rows.read).toBeLessThanOrEqual(HISTORY_ROWS_MAX + SCAN_ROWS_PER_TURN * steps);
    expect(rows.written).toBe(0);
    expect(rows.plans.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
    const second = await read(`&cursor=${first.body.next_cursor}`);
    expect(second.body).toMatchObject({ events: [{ type: "user_group.created" }], next_cursor: null });
  });

  it("reads of a step with too many events only those of its page", async () => {
    const { key, rows } = await newGroups();
    await addEvents(5000, rows);
    const { body } = await call("GET", "/api/user_groups/2/events?limit=10", { credential: key });
    expect(body.events).toHaveLength(10);
    expect(rows.statements.filter(({ sql }) => sql.includes("details")).map(({ read }) => read)).toEqual([10]);
  });

  it("ends with the group's creation, and reads nothing older", async () => {
    const { key, tokenOf, rows } = await newGroups();
    await addEvents(50_000, rows);
    await tokenOf("new");
    const { body } = await call("GET", "/api/user_groups/3/events", { credential: key });
    expect(body).toMatchObject({ events: [{ type: "user_group.created" }], next_cursor: null });
    expect(rows.read).toBeLessThan(HISTORY_STEP_ROWS + 20);
  });
});

describe("who has suspended a group", () => {
  it.for([10, 1000, 100_000])("is found among %i events by halving them", async (events) => {
    const { update, show, rows } = await newIntegratorWith(1);
    const readByShow = async () => {
      const { read } = rows;
      await show(1);
      return rows.read - read;
    };
    await addEvents(events / 2, rows);
    const active = await readByShow();
    await update(1, { suspended: true });
    // Events of later times.
    await new Promise((resolve) => setTimeout(resolve, 2));
    await addEvents(events / 2, rows);
    const suspended = await readByShow();
    expect(suspended - active).toBeLessThanOrEqual(endingRows(events + 3));
  });
});

describe("the counts of the console", () => {
  const count = () => runInDurableObject(directory(), (instance) => instance.countGroups(ADA));

  it("are exact up to 10,000 groups, and tell that there are more", async () => {
    const { remove } = await newIntegratorWith(GROUPS_COUNTED_MAX - 1, {
      suspended: "CASE WHEN i % 1000 = 7 THEN 1 END",
    });
    const counts = { existing: GROUPS_COUNTED_MAX, deleted: 0, suspended: 10, isEachCounted: true };
    expect(await count()).toMatchObject({ ok: true, value: counts });
    await remove(1);
    expect(await count()).toMatchObject({ value: { ...counts, existing: GROUPS_COUNTED_MAX - 1, deleted: 1 } });
  });

  it("read 1,000 groups in a turn and 100,000 in a call", async () => {
    const { rows } = await newIntegratorWith(SEARCH_ROWS_MAX + 10, { suspended: "CASE WHEN i % 1000 = 7 THEN 1 END" });
    expect(await count()).toMatchObject({
      value: { existing: GROUPS_COUNTED_MAX + 1, suspended: SEARCH_ROWS_MAX / 1000, isEachCounted: false },
    });
    expect(Math.max(...rows.statements.map(({ read }) => read))).toBe(GROUPS_COUNTED_MAX + 1);
    expect(rows.read).toBeLessThanOrEqual(SEARCH_ROWS_MAX + SEARCH_STEP_ROWS + GROUPS_COUNTED_MAX + 100);
  });
});
