import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { DAY_MS } from "../../../../common/limits.ts";
import { runAlarm } from "../../../support/alarm.ts";
import { byNumber, IN_ACME } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, invalid, pagesOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";

type Event = { id: number; type: string; at: string };

const DIRECTORY = "acme/Testing";
const historyOf = (credential: string, teamId: number | string, query: Record<string, string> = {}): Promise<Answer> =>
  call("GET", `/api/user_groups/${teamId}/events?${new URLSearchParams(query)}`, { credential });
const typesIn = ({ body }: Answer): string[] => body.events.map(({ type }: Event) => type);

/** All pages of a group's history. */
const historyPages = (credential: string, teamId: number, query: Record<string, string> = {}): Promise<Answer[]> =>
  pagesOf((cursor) => historyOf(credential, teamId, { ...query, ...cursor }));

/** Groups 1 and 2 of one integrator. */
async function newGroups() {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const integrator = await newIntegrator();
  for (const id of ["acme", "globex"]) await integrator.tokenOf(id);
  return { ...integrator, ...byNumber(integrator.key) };
}

/** Adds events of another group, as many calls would. */
const addEvents = (count: number) =>
  inDirectory(({ sql }) => {
    sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
        SELECT ?, 'user_group.resumed', '{"kind":"api_key","id":1,"name":"backend"}', 'r', 2, 'globex', '{}' FROM n`,
      count,
      Date.now(),
    );
  });

describe("the events of a group", () => {
  it("are those of the feed that name it, newest first", async () => {
    const { key, update, rotate, events } = await newGroups();
    await update(1, { name: "Acme", reason: "they asked" });
    await update(2, { name: "Globex" });
    await rotate(1);
    const { body } = await historyOf(key, 1);
    const ofFeed = (await events()).filter(
      (event: { user_group?: { team_id: number } }) => event.user_group?.team_id === 1,
    );
    expect(body).toEqual({
      success: 1,
      events: ofFeed.toReversed(),
      next_cursor: null,
      searched_back_to: NOW.toISOString(),
    });
    expect(body.events).toHaveLength(3);
  });

  it("are found behind thousands of others, and those of a gap and of the same time too", async () => {
    const { key, update } = await newGroups();
    await update(1, { suspended: true });
    await addEvents(4321);
    await inDirectory(({ sql }) => sql.exec("UPDATE feed SET last_id = (SELECT max(id) + 1000000 FROM events)"));
    // Another instance reads the end of the feed again.
    await evictDurableObject(env.GROUP_DIRECTORY.getByName(DIRECTORY));
    await update(1, { suspended: false });
    const types = ["user_group.resumed", "user_group.suspended", "user_group.created"];
    expect(typesIn(await historyOf(key, 1))).toEqual(types);
    expect((await historyPages(key, 1, { limit: "1" })).map(typesIn)).toEqual(types.map((type) => [type]));
  });

  it("have pages of 100 by default and 1,000 at most, which together are whole", async () => {
    const { key } = await newGroups();
    await addEvents(2500);
    const sizes = async (query: Record<string, string>) =>
      (await historyPages(key, 2, query)).map(({ body }) => body.events.length);
    expect((await historyOf(key, 2)).body.events).toHaveLength(100);
    expect(await sizes({ limit: "1000" })).toEqual([1000, 1000, 501]);
    const pages = await historyPages(key, 2, { limit: "900" });
    const ids = pages.flatMap(({ body }) => body.events.map(({ id }: Event) => id));
    expect(ids).toEqual(Array.from({ length: 2501 }, (_, n) => ids[0] - n));
  });

  it("say how far they have been searched", async () => {
    const { key, update } = await newGroups();
    const times: string[] = [];
    for (const days of [1, 2, 3]) {
      vi.setSystemTime(NOW.getTime() + days * DAY_MS);
      times.push(new Date().toISOString());
      await update(1, { name: `name ${days}` });
    }
    const pages = await historyPages(key, 1, { limit: "2" });
    expect(pages.map(({ body }) => body.searched_back_to)).toEqual([times[1], NOW.toISOString()]);
    const lastCursor = pages[0]?.body.next_cursor;
    vi.setSystemTime(NOW.getTime() + 200 * DAY_MS);
    await runAlarm(DIRECTORY);
    // The feed keeps its newest event, whatever its age.
    expect((await historyOf(key, 1, { cursor: lastCursor })).body).toEqual({
      success: 1,
      events: [],
      next_cursor: null,
      searched_back_to: null,
    });
  });

  it("stay when it is deleted and purged, and are gone with their time: 200 and empty", async () => {
    const { key, remove, purge, update } = await newGroups();
    await remove(1);
    await purge(1);
    expect(typesIn(await historyOf(key, 1))).toEqual(["user_group.purged", "user_group.deleted", "user_group.created"]);
    vi.setSystemTime(NOW.getTime() + 200 * DAY_MS);
    await update(2, { name: "the newest event" });
    await runAlarm(DIRECTORY);
    expect((await historyOf(key, 1)).body).toMatchObject({ success: 1, events: [], next_cursor: null });
  });

  it.for([3, 0, "x", "01", "9007199254740993", "999999999999999"])(
    "are 404 for the number %s, which no group had",
    async (teamId) => {
      const { key } = await newGroups();
      expect(codeOf(await historyOf(key, teamId))).toEqual([404, "user_group_not_found"]);
    },
  );

  it("are those of the environment that an operator names", async () => {
    const { key } = await newGroups();
    const other = await newIntegrator({ workspace: "other" });
    await other.tokenOf("elsewhere");
    const viewer = await issueOperator("viewer");
    const ofOther = { ...IN_ACME, workspace: "other" };
    expect((await historyOf(viewer, 1, IN_ACME)).body).toEqual((await historyOf(key, 1)).body);
    expect((await historyOf(viewer, 1, ofOther)).body.events[0].user_group.provided_id).toBe("elsewhere");
    expect(codeOf(await historyOf(viewer, 1))).toEqual([422, "invalid_body"]);
    expect(codeOf(await historyOf(viewer, 2, ofOther))).toEqual([404, "user_group_not_found"]);
  });

  it("refuse cursors of another group, environment or list, and any other text", async () => {
    const { key, update } = await newGroups();
    await update(1, { name: "Acme" });
    await update(2, { name: "Globex" });
    const other = await newIntegrator({ workspace: "other" });
    await other.tokenOf("elsewhere");
    await byNumber(other.key).update(1, { name: "Elsewhere" });
    const cursorOf = async (credential: string, teamId: number) =>
      (await historyOf(credential, teamId, { limit: "1" })).body.next_cursor;
    const own = await cursorOf(key, 1);
    const cursors = [
      await cursorOf(key, 2),
      await cursorOf(other.key, 1),
      (await call("GET", "/api/events", { credential: key })).body.next_cursor,
      (await call("GET", "/api/user_groups?limit=1", { credential: key })).body.next_cursor,
      "latest",
      "",
      `${own}=`,
      `${own}A`,
    ];
    for (const cursor of cursors) expect(await historyOf(key, 1, { cursor }), cursor).toMatchObject(invalid("cursor"));
    expect(typesIn(await historyOf(key, 1, { cursor: own }))).toEqual(["user_group.created"]);
    const feed = await call("GET", `/api/events?cursor=${own}`, { credential: key });
    expect(codeOf(feed)).toEqual([422, "invalid_body"]);
  });

  it("refuse a cursor of an environment that was erased meanwhile: 410", async () => {
    const { key, update } = await newGroups();
    await update(1, { name: "Acme" });
    const cursor = (await historyOf(key, 1, { limit: "1" })).body.next_cursor;
    await runInDurableObject(env.GROUP_DIRECTORY.getByName(DIRECTORY), (instance) => instance.erase());
    const again = await newIntegrator();
    for (const id of ["acme", "globex"]) await again.tokenOf(id);
    expect(codeOf(await historyOf(again.key, 1, { cursor }))).toEqual([410, "cursor_expired"]);
  });

  it("are whole in any page size, whatever happens between the pages", async () => {
    let run = 0;
    const change = fc.record({ teamId: fc.integer({ min: 1, max: 3 }), between: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 20 }), fc.integer({ min: 1, max: 4 }), async (changes, limit) => {
        run += 1;
        const { key, tokenOf } = await newIntegrator({ workspace: `history-${run}` });
        for (const id of ["a", "b", "c"]) await tokenOf(id);
        const { update, events } = byNumber(key);
        const rename = async (change: { teamId: number } | undefined, n: number) =>
          change && update(change.teamId, { name: `name ${n}` });
        for (const [n, each] of changes.filter(({ between }) => !between).entries()) await rename(each, n);
        const expected = (await events())
          .filter((event: { user_group?: { team_id: number } }) => event.user_group?.team_id === 1)
          .map(({ id }: Event) => id)
          .toReversed();
        const later = changes.filter(({ between }) => between);
        const read = (cursor: object) => historyOf(key, 1, { limit: String(limit), ...cursor });
        const pages = await pagesOf(read, (page) => rename(later[page - 1], 100 + page));
        const found = pages.flatMap(({ body }) => body.events.map(({ id }: Event) => id));
        return JSON.stringify(found) === JSON.stringify(expected);
      }),
      { numRuns: 25 },
    );
  });
});

describe("suspended_by and deleted_by", () => {
  const ADA = { kind: "operator", id: 1, name: "ada" };
  const BACKEND = { kind: "api_key", id: 1, name: "backend" };

  /** Group 1, which ada has suspended and the API key has deleted. */
  async function newEndedGroup() {
    const groups = await newGroups();
    const ada = byNumber(await issueOperator("support", { name: "ada" }), IN_ACME);
    await ada.update(1, { suspended: true, reason: "unpaid" });
    vi.setSystemTime(NOW.getTime() + DAY_MS);
    await addEvents(300);
    return { ...groups, ada };
  }

  it("are in the answers by number, and in no list", async () => {
    const { ada, show, showDeleted, update, remove, restore, list } = await newEndedGroup();
    for (const answer of [await show(1), await ada.show(1), await update(1, { name: "Acme" })])
      expect(answer.body.user_group).toMatchObject({ state: "suspended", suspended_by: ADA });
    expect((await list()).body.user_groups[0]).not.toHaveProperty("suspended_by");
    const removed = await remove(1);
    for (const answer of [removed, await showDeleted(1), await ada.showDeleted(1)])
      expect(answer.body.user_group).toMatchObject({ state: "deleted", suspended_by: ADA, deleted_by: BACKEND });
    const listed = (await list({ state: "deleted" })).body.user_groups[0];
    expect([listed.suspended_by, listed.deleted_by]).toEqual([undefined, undefined]);
    const restored = await restore(1);
    expect(restored.body.user_group).toMatchObject({ state: "suspended", suspended_by: ADA });
    expect(restored.body.user_group).not.toHaveProperty("deleted_by");
    const resumed = (await update(1, { suspended: false })).body.user_group;
    expect(resumed).not.toHaveProperty("suspended_by");
  });

  it("are not those of another group whose event is the newest", async () => {
    const { ada, update, remove, show } = await newEndedGroup();
    await update(2, { suspended: true });
    expect((await show(1)).body.user_group.suspended_by).toEqual(ADA);
    await update(2, { suspended: false });
    await ada.update(2, { suspended: true });
    await remove(1);
    expect((await show(2)).body.user_group.suspended_by).toEqual(ADA);
  });

  it("name the one who has done it last", async () => {
    const { ada, update, remove, restore, show } = await newEndedGroup();
    await ada.update(1, { suspended: false });
    await update(1, { suspended: true });
    expect((await show(1)).body.user_group.suspended_by).toEqual(BACKEND);
    await remove(1);
    vi.setSystemTime(NOW.getTime() + 2 * DAY_MS);
    await ada.restore(1);
    await byNumber(operator, IN_ACME).remove(1);
    const byBootstrap = { kind: "operator", id: null, name: "bootstrap" };
    const deleted = byNumber(await issueKey({ access: "read" })).showDeleted(1);
    expect((await deleted).body.user_group).toMatchObject({ suspended_by: BACKEND, deleted_by: byBootstrap });
    await restore(1);
  });

  it("are null when their event is no longer kept", async () => {
    const { update, show } = await newEndedGroup();
    vi.setSystemTime(NOW.getTime() + 200 * DAY_MS);
    await update(2, { name: "the newest event" });
    while (!(await runAlarm(DIRECTORY)));
    expect((await show(1)).body.user_group).toMatchObject({ state: "suspended", suspended_by: null });
  });

  it("are not for API keys without events:read", async () => {
    await newEndedGroup();
    const reader = byNumber(await issueKey({ scopes: ["groups:read", "groups:delete"] }));
    expect((await reader.show(1)).body.user_group).toMatchObject({ state: "suspended", suspended_reason: "unpaid" });
    for (const answer of [await reader.show(1), await reader.remove(1), await reader.showDeleted(1)]) {
      expect(answer.body.user_group).not.toHaveProperty("suspended_by");
      expect(answer.body.user_group).not.toHaveProperty("deleted_by");
    }
  });

  it("find the event among others of the same millisecond", async () => {
    const { ada } = await newEndedGroup();
    await addEvents(200);
    await ada.update(2, { suspended: true });
    await addEvents(200);
    expect((await ada.show(2)).body.user_group.suspended_by).toEqual(ADA);
  });
});
