import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { byNumber } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, idsIn, invalid, pagesOf } from "../../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { issueKey, newIntegrator } from "../../../support/states.ts";
import { insertGroups } from "../../../support/storage.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");

const list = (credential: string, query: Record<string, string> = {}): Promise<Answer> =>
  call("GET", `/api/user_groups?${new URLSearchParams(query)}`, { credential });

/** The answers of all pages. */
const pages = (credential: string, query: Record<string, string> = {}): Promise<Answer[]> =>
  pagesOf((cursor) => list(credential, { ...query, ...cursor }));

describe("a list", () => {
  it("shows the groups of the key's environment in the order of numbers, without tokens", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { key, get, put, tokenOf } = await newIntegrator();
    const text = '{"user_group_id":"b","name":"B","mapping":{"__proto__":"d"},"properties":{"2":[1.5],"1":{"é":null}}}';
    await get(text);
    await tokenOf("a");
    await (await newIntegrator({ environment: "Customer" })).tokenOf("elsewhere");
    await (await newIntegrator({ workspace: "other" })).tokenOf("elsewhere");
    vi.setSystemTime(NOW.getTime() + 1500);
    await put({ user_group_id: "a", name: "A" });

    const answer = await list(key);

    const [first, second] = answer.body.user_groups;
    expect(answer).toMatchObject({ status: 200, body: { success: 1, next_cursor: null } });
    expect(answer.headers.get("Content-Type")).toMatch(/^application\/json/);
    expect(answer.body.user_groups).toHaveLength(2);
    expect(JSON.stringify(first)).toBe(
      JSON.stringify({
        team_id: 1,
        provided_id: "b",
        name: "B",
        ...JSON.parse('{"mapping":{"__proto__":"d"},"properties":{"2":[1.5],"1":{"é":null}}}'),
        api_environment_tag: "Testing",
        state: "active",
        created_at: "2026-03-01T10:30:00.000Z",
        updated_at: "2026-03-01T10:30:00.000Z",
        last_viewed_on: null,
      }),
    );
    expect(second).toEqual({
      team_id: 2,
      provided_id: "a",
      name: "A",
      mapping: null,
      properties: null,
      api_environment_tag: "Testing",
      state: "active",
      created_at: "2026-03-01T10:30:00.000Z",
      updated_at: "2026-03-01T10:30:01.500Z",
      last_viewed_on: null,
    });
    expect(JSON.stringify(answer.body)).not.toMatch(CREDENTIAL_PATTERN);
  });

  it("has 100 groups on a page by default, and 1,000 at most", async () => {
    const key = await issueKey();
    await insertGroups(1001);
    expect((await list(key)).body.user_groups).toHaveLength(100);
    const sizes = (await pages(key, { limit: "1000" })).map(({ body }) => body.user_groups.length);
    expect(sizes).toEqual([1000, 1]);
  });

  it.for([1, 3, 7, 20, 40, 59, 60, 61])("is whole in pages of %i", async (limit) => {
    const key = await issueKey();
    await insertGroups(60);
    const answers = await pages(key, { limit: String(limit) });
    expect(answers.flatMap(idsIn)).toEqual(Array.from({ length: 60 }, (_, index) => `group ${index + 1}`));
    expect(answers).toHaveLength(Math.ceil(60 / limit));
  });

  it("misses and repeats no group that stays, whatever else changes between pages", async () => {
    const change = fc.record({ kind: fc.constantFrom("create", "remove", "rotate", "update"), which: fc.nat() });
    let made = 0;
    const newName = () => {
      made += 1;
      return `name-${made}`;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 8 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 6 }),
        async (atFirst, limit, changes) => {
          const { key, get } = await newIntegrator({ workspace: newName() });
          const calls = byNumber(key);
          const existing = new Set<number>();
          const create = async () => {
            existing.add((await get({ user_group_id: newName() })).body.user_group.team_id);
          };
          for (let group = 0; group < atFirst; group += 1) await create();
          const throughout = new Set(existing);

          const apply = async ({ kind, which }: { kind: "create" | "remove" | "rotate" | "update"; which: number }) => {
            const teamId = [...existing][which % existing.size];
            if (kind === "create" || teamId === undefined) return create();
            await calls[kind](teamId, kind === "update" ? { new_user_group_id: newName() } : undefined);
            if (kind === "remove") for (const ids of [existing, throughout]) ids.delete(teamId);
          };
          const read = (cursor: object) => list(key, { limit: String(limit), ...cursor });
          const answers = await pagesOf(read, async (page) => {
            for (const each of changes[page - 1] ?? []) await apply(each);
          });

          const listed = answers.flatMap(({ body }): number[] =>
            body.user_groups.map((group: { team_id: number }) => group.team_id),
          );
          const isSorted = String(listed.toSorted((a, b) => a - b)) === String(listed);
          return isSorted && new Set(listed).size === listed.length && throughout.isSubsetOf(new Set(listed));
        },
      ),
      { numRuns: 25 },
    );
  });

  it("continues after a deleted group, and ends after the last one", async () => {
    const { key, remove, tokenOf } = await newIntegrator();
    for (const id of ["a", "b"]) await tokenOf(id);
    const { next_cursor: cursor } = (await list(key, { limit: "1" })).body;
    await remove(await tokenOf("a"));
    expect(idsIn(await list(key, { cursor }))).toEqual(["b"]);
    await remove(await tokenOf("b"));
    expect((await list(key, { cursor })).body).toMatchObject({ user_groups: [], next_cursor: null });
    await tokenOf("b");
    expect(idsIn(await list(key, { cursor }))).toEqual(["b"]);
  });
});

/** The order of the list: that of the UTF-8 bytes, and so of the code points. */
const byCodePoints = (one: string, other: string): number => {
  const [a, b] = [one, other].map((text) => new TextEncoder().encode(text).toHex());
  return a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1;
};

describe("user_group_id_prefix", () => {
  it("selects the ids for which JavaScript's startsWith is true", async () => {
    const ids = [
      "a",
      "a%",
      "a_",
      "ab",
      "A",
      "aé",
      "ae\u0301",
      "😀",
      "😀x",
      "😁",
      "\ud7ff",
      "\ue000",
      "ß",
      "ss",
      " a",
      "a\\",
    ];
    const { key, tokenOf } = await newIntegrator();
    for (const id of ids) await tokenOf(id);
    for (const prefix of [...ids, "a*", "?", "abc", "\u{10ffff}"])
      expect(idsIn(await list(key, { user_group_id_prefix: prefix })), prefix).toEqual(
        ids.filter((id) => id.startsWith(prefix)).toSorted(byCodePoints),
      );
  });

  it("is kept from page to page", async () => {
    const { key, tokenOf } = await newIntegrator();
    for (const id of ["x 1", "y 1", "x 2", "y 2", "x 3"]) await tokenOf(id);
    const answers = await pages(key, { user_group_id_prefix: "x ", limit: "1" });
    expect(answers.map(idsIn)).toEqual([["x 1"], ["x 2"], ["x 3"]]);
  });
});

describe("user_group_id", () => {
  const read = (query: Record<string, string>) => issueKey({ access: "read" }).then((key) => list(key, query));

  it("selects the one group with exactly this id, or none", async () => {
    const ids = ["a", "a ", "a!", "aa", "A", "é", "e\u0301", "😀", "\ud7ff"];
    const { key, tokenOf } = await newIntegrator();
    for (const id of ids) await tokenOf(id);
    for (const id of [...ids, "b", "a\u00a0", "\u{10ffff}"]) {
      const answer = await list(key, { user_group_id: id });
      expect(answer).toMatchObject({ status: 200, body: { next_cursor: null } });
      expect(idsIn(answer), id).toEqual(ids.filter((each) => each === id));
    }
  });

  it("selects the group only in the state that is asked for", async () => {
    const { put, remove, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    await put({ user_group_id: "acme", suspended: true });
    const found = async (state: string) => idsIn(await read({ user_group_id: "acme", state }));
    expect([await found("active"), await found("suspended")]).toEqual([[], ["acme"]]);
    await remove(await tokenOf("acme"));
    expect(idsIn(await read({ user_group_id: "acme" }))).toEqual([]);
  });
});

describe("a page ends early", () => {
  it("where it holds 1 MiB, and the pages together hold all", async () => {
    const key = await issueKey();
    // Two bytes for each character in UTF-8, and in an RPC.
    const properties = JSON.stringify({ a: "é".repeat(8000) });
    await insertGroups(100, { properties: `'${properties}'` });
    const answers = await pages(key, { limit: "1000" });
    const sizes = answers.map(({ body }) => body.user_groups.length);
    const bytes = new TextEncoder().encode(properties).length;
    expect(sizes).toEqual([65, 35]);
    expect((sizes[0] ?? 0) * bytes).toBeLessThanOrEqual(1024 * 1024);
    expect(((sizes[0] ?? 0) + 1) * bytes).toBeGreaterThan(1024 * 1024 - 20 * 1024);
    expect(answers.flatMap(idsIn)).toEqual(Array.from({ length: 100 }, (_, index) => `group ${index + 1}`));
    expect(answers[1]?.body.user_groups[0].properties).toEqual(JSON.parse(properties));
  });

  it("in the order of ids too, where a prefix is given", async () => {
    const key = await issueKey();
    await insertGroups(100, { properties: `'${JSON.stringify({ a: "é".repeat(8000) })}'` });
    const answers = await pages(key, { user_group_id_prefix: "group", limit: "1000" });
    expect(answers.length).toBeGreaterThan(1);
    expect(answers.flatMap(idsIn)).toEqual(Array.from({ length: 100 }, (_, index) => `group ${index + 1}`).toSorted());
  });
});

describe("refuses", () => {
  it.for([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=-1", "limit"],
    ["limit=1.5", "limit"],
    ["limit=1e2", "limit"],
    ["limit=010", "limit"],
    ["limit=+5", "limit"],
    ["limit=", "limit"],
    ["limit", "limit"],
    ["limit=5&limit=5", "limit"],
    ["limit=5&%6cimit=6", "limit"],
    ["user_group_id_prefix=", "user_group_id_prefix"],
    [`user_group_id_prefix=${"x".repeat(256)}`, "user_group_id_prefix"],
    ["user_group_id_prefix=%00", "user_group_id_prefix"],
    ["user_group_id_prefix=%ED%A0%BD", "user_group_id_prefix"],
    ["user_group_id_prefix=%F0%9F", "user_group_id_prefix"],
    ["user_group_id_prefix=%ff", "user_group_id_prefix"],
    ["user_group_id_prefix=100%", "user_group_id_prefix"],
    ["user_group_id_prefix=a&user_group_id_prefix=b", "user_group_id_prefix"],
    ["updated_since=2026-03-01T10:30:00Z", "updated_since"],
    ["cursor=", "cursor"],
    ["cursor=1", "cursor"],
    ["cursor=%00", "cursor"],
    ["page=2", "page"],
    ["__proto__=2", "__proto__"],
    ["constructor=2", "constructor"],
    ["user_group_id=", "user_group_id"],
    ["user_group_id=%00", "user_group_id"],
    ["user_group_id=a&user_group_id=b", "user_group_id"],
    ["user_group_id=a&user_group_id_prefix=a", "user_group_id_prefix"],
    ["user_group_id=a&cursor=WzIsMV0", "cursor"],
    ["user_group_id=a&state=deleted", "state"],
    ["%ff=1", "%ff"],
  ] as const)("the query %s, with an issue at its field", async ([query, field]) => {
    const answer = await call("GET", `/api/user_groups?${query}`, { credential: await issueKey() });
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    const issues: { path: string[]; message: string }[] = answer.body.error.issues;
    expect(new Set(issues.map(({ path }) => path.join()))).toEqual(new Set([field]));
    expect(issues[0]?.message).toMatch(/^(Give|Leave|Percent-encode|This) .*\.$/);
  });

  it("all invalid parameters at once", async () => {
    const answer = await call("GET", "/api/user_groups?limit=x&cursor=y&updated_since=z&page=1&limit=2", {
      credential: await issueKey(),
    });
    const paths = answer.body.error.issues.map(({ path }: { path: string[] }) => path.join());
    expect(new Set(paths)).toEqual(new Set(["limit", "cursor", "updated_since", "page"]));
  });

  describe("a cursor", () => {
    const encoded = (bytes: Uint8Array | string) =>
      (typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes).toBase64({ alphabet: "base64url" });

    it.for([
      ["of another version", encoded("[1,1]")],
      ["that names no group", encoded("[2,0]")],
      ["with a number that is not whole", encoded("[2,1.5]")],
      ["with a number above the largest", encoded("[2,1e300]")],
      ["with an element too many", encoded('[2,"a","a",0]')],
      ["with an element too few", encoded("[2]")],
      ["with an id outside of its prefix", encoded('[2,"b","a"]')],
      ["with a number and a prefix", encoded('[2,1,"a"]')],
      ["with an id and no prefix", encoded('[2,"a"]')],
      ["with an empty prefix", encoded('[2,"a",""]')],
      ["in another spelling", encoded("[2, 1]")],
      ["with padding", `${encoded("[2,10]").replace(/=*$/, "")}=`],
      ["of an object", encoded('{"start":1}')],
      ["of null", encoded("null")],
      ["of no JSON", encoded("acme")],
      ["of no UTF-8", encoded(new Uint8Array([0xff, 0xfe]))],
      ["in base64", "+/+/"],
    ] as const)("%s", async ([, cursor]) => {
      expect(await list(await issueKey(), { cursor })).toMatchObject(invalid("cursor"));
    });

    it("of a list with another prefix, or without one", async () => {
      const { key, tokenOf } = await newIntegrator();
      for (const id of ["a 1", "a 2"]) await tokenOf(id);
      const prefixed: string = (await list(key, { user_group_id_prefix: "a", limit: "1" })).body.next_cursor;
      const whole: string = (await list(key, { limit: "1" })).body.next_cursor;
      for (const query of [
        { cursor: prefixed },
        { cursor: prefixed, user_group_id_prefix: "a " },
        { cursor: whole, user_group_id_prefix: "a" },
      ])
        expect((await list(key, query)).body.error).toMatchObject({
          code: "invalid_body",
          issues: [{ path: ["cursor"], message: expect.stringContaining("user_group_id_prefix") }],
        });
      expect(idsIn(await list(key, { user_group_id_prefix: "a", limit: "7", cursor: prefixed }))).toEqual(["a 2"]);
    });
  });
});
