import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { DAY_MS } from "../../../../common/limits.ts";
import { fold } from "../../../../src/domain/search/folding.ts";
import { byNumber, IN_ACME } from "../../../support/by-number.ts";
import { call, codeOf, idsIn, pagesOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { inEnvironment, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { view } from "../../../support/viewers.ts";

type Listed = { provided_id: string; name: string };

/** An integrator with groups of these names, by their ids. */
async function newGroups(names: Record<string, string>) {
  const integrator = await newIntegrator();
  const tokens: Record<string, string> = {};
  for (const [id, name] of Object.entries(names)) tokens[id] = await integrator.tokenOf(id, { name });
  const numbered = byNumber(integrator.key);
  const found = async (query: Record<string, string>) => idsIn(await numbered.list(query));
  return { ...integrator, ...numbered, tokens, found };
}

const NAMES = {
  acme: "Acme Inc.",
  "shop-1": "Müller & Söhne",
  "shop-2": "Bäckerei Straßburg",
  globex: "Das ist ACME nicht",
  "Ünique-7": "Nobody",
};

describe("search", () => {
  it("finds groups whose name or id contains it, in the order of numbers", async () => {
    const { found, list } = await newGroups(NAMES);
    const searches = {
      Acme: ["acme", "globex"],
      SHOP: ["shop-1", "shop-2"],
      o: ["shop-1", "shop-2", "globex", "Ünique-7"],
    };
    for (const [search, ids] of Object.entries(searches)) expect(await found({ search }), search).toEqual(ids);
    expect(await found({ search: "strassb" })).toEqual(["shop-2"]);
    expect(await found({ search: "SOHNE" })).toEqual(["shop-1"]);
    expect(await found({ search: "unique" })).toEqual(["Ünique-7"]);
    // Not across the end of one and the beginning of the other.
    expect((await list({ search: "inc.acme" })).body).toEqual({ success: 1, user_groups: [], next_cursor: null });
  });

  it("goes on from page to page until it has found all", async () => {
    const { list } = await newGroups(
      Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`g${n}`, n % 2 ? "Odd" : "Even"])),
    );
    const pages = await pagesOf((cursor) => list({ search: "EVEN", limit: "2", ...cursor }));
    expect(pages.map(idsIn)).toEqual([
      ["g0", "g2"],
      ["g4", "g6"],
    ]);
  });

  it("continues from a cursor only with the search of the page before", async () => {
    const { list, found } = await newGroups({ a: "Same", b: "Same", c: "Same" });
    const cursorOf = async (query: object) => (await list({ ...query, limit: "1" })).body.next_cursor;
    const search = "s\u00e4me";
    const cursor = await cursorOf({ search });
    const further = await cursorOf({ search, cursor });
    expect(await found({ search, cursor: further })).toEqual(["c"]);
    for (const query of [{}, { search: "same" }, { search: "c" }, { last_viewed_before: "2026-10-01" }]) {
      const { status, body } = await list({ ...query, cursor });
      expect([status, body.error.code]).toEqual([422, "invalid_body"]);
      const message = "Give the same search on every page of one list.";
      expect(body.error.issues).toEqual([{ path: ["cursor"], message }]);
    }
    expect(codeOf(await list({ user_group_id_prefix: "c", cursor }))).toEqual([422, "invalid_body"]);
    expect(codeOf(await call("GET", `/api/keys${inEnvironment()}&cursor=${cursor}`, { credential: operator }))).toEqual(
      [422, "invalid_body"],
    );
  });

  it("continues from a cursor of a list without a search, as those of 1.1 are", async () => {
    const { list, found } = await newGroups({ a: "Same", b: "Other", c: "Same" });
    const cursor = (await list({ limit: "1" })).body.next_cursor;
    expect(atob(cursor)).toBe("[2,2]");
    expect(await found({ search: "same", cursor })).toEqual(["c"]);
    const edited = btoa('[2,2,null,""]').replaceAll("=", "");
    expect(codeOf(await list({ cursor: edited }))).toEqual([422, "invalid_body"]);
  });

  it("finds only groups in the state that is asked for, and deleted ones only so", async () => {
    const { found, update, remove } = await newGroups({ a: "Same", b: "Same", c: "Same", d: "Other" });
    await update(2, { suspended: true });
    await remove(3);
    await remove(4);
    expect(await found({ search: "same" })).toEqual(["a", "b"]);
    expect(await found({ search: "same", state: "active" })).toEqual(["a"]);
    expect(await found({ search: "same", state: "suspended" })).toEqual(["b"]);
    expect(await found({ search: "same", state: "deleted" })).toEqual(["c"]);
  });

  it("shows each group as other lists do, to operators too, and no token", async () => {
    const { list } = await newGroups(NAMES);
    const listed = (await list()).body.user_groups[1];
    expect((await list({ search: "müller" })).body.user_groups).toEqual([listed]);
    const asViewer = byNumber(await issueOperator("viewer"), IN_ACME);
    expect((await asViewer.list({ search: "müller" })).body.user_groups).toEqual([listed]);
    await newIntegrator({ workspace: "other" });
    const elsewhere = byNumber(await issueOperator("viewer"), { workspace: "other", environment: "Testing" });
    expect((await elsewhere.list({ search: "müller" })).body.user_groups).toEqual([]);
  });

  it("holds at most 1 MiB on a page, and misses no group", async () => {
    const { list } = await newGroups({ one: "x" });
    await inDirectory(({ sql }) =>
      sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
          INSERT INTO user_groups (provided_id, name, properties, nonce, generation, revision, created_at, updated_at)
          SELECT 'large ' || i, 'Big', json_object('x', hex(zeroblob(8000))), zeroblob(16), zeroblob(16), 1, 1, 1 FROM n`,
      ),
    );
    const pages = await pagesOf((cursor) => list({ search: "big", limit: "1000", ...cursor }));
    expect(pages.length).toBeGreaterThan(2);
    for (const { body } of pages) expect(JSON.stringify(body).length).toBeLessThan(1.1 * 1024 * 1024);
    expect(pages.flatMap(idsIn)).toEqual(Array.from({ length: 200 }, (_, n) => `large ${n + 1}`));
  });

  it.for([
    [{ search: "" }, "search", "Give a text of 1 to 100 UTF-16 code units (most emoji count as 2)."],
    [{ search: "x".repeat(101) }, "search", "Give a text of 1 to 100 UTF-16 code units (most emoji count as 2)."],
    [{ search: "\u0301\u0308" }, "search", /^This search consists of accents alone/],
    [{ search: "a", user_group_id: "a" }, "search", "Leave this field out where you give a user_group_id."],
    [{ last_viewed_before: "2026-01-01", user_group_id: "a" }, "last_viewed_before", /Leave this field out/],
    [
      { search: "a", user_group_id_prefix: "a" },
      "user_group_id_prefix",
      "Leave this field out where you give a search.",
    ],
    [{ last_viewed_before: "2026-02-30" }, "last_viewed_before", "Give a day such as 2026-10-01."],
    [{ last_viewed_before: "2026-10-01T00:00:00Z" }, "last_viewed_before", "Give a day such as 2026-10-01."],
    [{ last_viewed_before: "" }, "last_viewed_before", "Give a day such as 2026-10-01."],
  ] as const)("is 422 for %o", async ([query, field, message]) => {
    const { list } = await newGroups({});
    const answer = await list(query);
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(answer.body.error.issues).toEqual([
      { path: [field], message: typeof message === "string" ? message : expect.stringMatching(message) },
    ]);
  });

  it("takes 100 characters that decompose into hundreds, and any text as it is", async () => {
    const { found } = await newGroups({ a: "\ufdfa".repeat(100), b: "100% _*?' \" \\" });
    expect(await found({ search: "\ufdfa".repeat(100) })).toEqual(["a"]);
    for (const search of ["% _", "*?'", '" \\', "' \""]) expect(await found({ search }), search).toEqual(["b"]);
    for (const search of ["__", "%%", "\u0000", "100%b"]) expect(await found({ search }), search).toEqual([]);
  });

  it("finds what a list of all and its own folding find, in every page size and state", async () => {
    const text = fc.string({ unit: fc.constantFrom(..."aAbßéÉ\u0301İıσςΣ東đ "), minLength: 1, maxLength: 5 });
    let run = 0;
    const property = async (names: string[], search: string, limit: number, changes: number[]) => {
      if (fold(search) === "") return true;
      run += 1;
      const { key, tokenOf } = await newIntegrator({ workspace: `search-${run}` });
      const { list, update, remove } = byNumber(key);
      for (const [n, name] of names.entries()) await tokenOf(`${name}${n}`, { name });
      for (const [n, change] of changes.entries())
        if (change > 0 && n < names.length) await (change === 1 ? update(n + 1, { suspended: true }) : remove(n + 1));
      for (const state of [undefined, "active", "suspended", "deleted"]) {
        const filter: Record<string, string> = state ? { state } : {};
        const all = (await list(filter)).body.user_groups;
        const folded = fold(search);
        const words = folded.trim() === "" ? [folded] : folded.split(/\s+/);
        const expected = all.filter(({ provided_id: id, name }: Listed) =>
          words.every((word) => [id, name].some((each) => fold(each).includes(word))),
        );
        const pages = await pagesOf((cursor) => list({ ...filter, search, limit: String(limit), ...cursor }));
        const found = pages.flatMap(({ body }) => body.user_groups);
        if (JSON.stringify(found) !== JSON.stringify(expected)) return false;
      }
      return true;
    };
    const change = fc.integer({ min: 0, max: 2 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 6 }),
        text,
        fc.integer({ min: 1, max: 3 }),
        fc.array(change, { maxLength: 6 }),
        property,
      ),
      { numRuns: 25 },
    );
  });
});

describe("a prefix of deleted groups", () => {
  it("selects them in the order of numbers, from page to page", async () => {
    const { found, list, remove } = await newGroups({ "b-2": "B", "a-1": "A", "b-1": "B", "B-3": "B", "b-0": "B" });
    for (const teamId of [1, 2, 3, 4]) await remove(teamId);
    expect(await found({ state: "deleted", user_group_id_prefix: "b-" })).toEqual(["b-2", "b-1"]);
    const first = await list({ state: "deleted", user_group_id_prefix: "b-", limit: "1" });
    const cursor = first.body.next_cursor;
    expect(await found({ state: "deleted", user_group_id_prefix: "b-", limit: "1", cursor })).toEqual(["b-1"]);
    expect(await found({ user_group_id_prefix: "b-" })).toEqual(["b-0"]);
    const ofIds = (await list({ user_group_id_prefix: "b-", limit: "1", last_viewed_before: "2000-01-01" })).body;
    expect(ofIds).toMatchObject({ user_groups: [], next_cursor: null });
  });

  it("refuses a cursor of another order", async () => {
    const { list, remove } = await newGroups({ "b-1": "B", "b-2": "B", "b-3": "B", "b-4": "B" });
    for (const teamId of [1, 2]) await remove(teamId);
    const prefix = { user_group_id_prefix: "b-", limit: "1" };
    const ofIds = (await list(prefix)).body.next_cursor;
    const ofDeleted = (await list({ ...prefix, state: "deleted" })).body.next_cursor;
    expect(codeOf(await list({ ...prefix, state: "deleted", cursor: ofIds }))).toEqual([422, "invalid_body"]);
    expect(codeOf(await list({ ...prefix, cursor: ofDeleted }))).toEqual([422, "invalid_body"]);
  });
});

describe("last_viewed_before", () => {
  const day = (days: number): string => new Date(NOW.getTime() + days * DAY_MS).toISOString().slice(0, 10);

  /** Groups that were created on day 0 and viewed on the day in their ids, if they were. */
  async function newViewedGroups() {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const groups = await newGroups({ never: "A", "day 0": "B", "day 1": "C", "day 2": "D" });
    for (const days of [0, 1, 2]) {
      vi.setSystemTime(NOW.getTime() + days * DAY_MS + 1000);
      await view(groups.tokens[`day ${days}`] ?? "");
    }
    return groups;
  }

  it("selects groups whose last view, or creation without one, is before that day in UTC", async () => {
    const { found } = await newViewedGroups();
    expect(await found({ last_viewed_before: day(0) })).toEqual([]);
    expect(await found({ last_viewed_before: day(1) })).toEqual(["never", "day 0"]);
    expect(await found({ last_viewed_before: day(2) })).toEqual(["never", "day 0", "day 1"]);
    expect(await found({ last_viewed_before: day(3) })).toEqual(["never", "day 0", "day 1", "day 2"]);
  });

  it("goes together with a search, a state, a prefix and pages", async () => {
    const { found, list, update, remove } = await newViewedGroups();
    const before = { last_viewed_before: day(2) };
    expect(await found({ ...before, search: "NEVER" })).toEqual(["never"]);
    expect(await found({ ...before, user_group_id_prefix: "day 0" })).toEqual(["day 0"]);
    await update(2, { suspended: true });
    await remove(3);
    await remove(4);
    expect(await found({ ...before, state: "suspended" })).toEqual(["day 0"]);
    expect(await found({ ...before, state: "deleted" })).toEqual(["day 1"]);
    expect(await found({ ...before, state: "deleted", user_group_id_prefix: "day 2" })).toEqual([]);
    const { next_cursor: cursor } = (await list({ ...before, limit: "1" })).body;
    expect(await found({ ...before, limit: "1", cursor })).toEqual(["day 0"]);
  });
});
