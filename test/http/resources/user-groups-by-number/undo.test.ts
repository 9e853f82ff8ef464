import { evictAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ENVIRONMENT_BYTES_MAX, GROUPS_PER_PURGE_MAX } from "../../../../common/limits.ts";
import { Registry } from "../../../../src/domain/registry.ts";
import { runAlarm } from "../../../support/alarm.ts";
import { byNumber, rowsOf } from "../../../support/by-number.ts";
import { call, codeOf, idsIn, invalid, pagesOf, tagOf, tokenIn } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { newIntegrator, withKey } from "../../../support/states.ts";
import { inDirectory, insertGroups, setDatabaseSize } from "../../../support/storage.ts";
import { view } from "../../../support/viewers.ts";

const DIRECTORY = "acme/Testing";
const DAY_MS = 24 * 60 * 60 * 1000;
const UNDO_MS = 30 * DAY_MS;
const FIELDS = { name: "Name of Acme", mapping: { m: "mapped-source" }, properties: { plan: "value-of-plan" } };
const NOT_FOUND = [404, "user_group_not_found"];
const REVOKED = [401, "credential_revoked"];
const TAKEN = [409, "user_group_id_taken"];

/** Lets `milliseconds` pass on the clock, which stands still otherwise. */
const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** An integrator with the group `acme`, number 1, in an environment where the clock stands still at `NOW`. */
async function newCustomer() {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", FIELDS);
  const numbered = byNumber(integrator.key);
  return { ...numbered, ...integrator, numbered, token, mintSession: () => sessionOf(integrator.key) };
}

/** The same with the group deleted, a second after it was created. */
async function newDeletedCustomer() {
  const customer = await newCustomer();
  pass(1000);
  await customer.remove(customer.token);
  return customer;
}

const typesIn = (events: { type: string }[]): string[] => events.map(({ type }) => type.replace("user_group.", ""));

const alarmAt = () => inDirectory((storage) => storage.getAlarm());

describe("a deleted group", () => {
  it("is shown only where deleted ones are asked for, with its times", async () => {
    const { list, show, showDeleted } = await newDeletedCustomer();
    const at = new Date(NOW.getTime() + 1000);
    const deleted = {
      team_id: 1,
      provided_id: "acme",
      ...FIELDS,
      api_environment_tag: "Testing",
      state: "deleted",
      created_at: NOW.toISOString(),
      updated_at: NOW.toISOString(),
      last_viewed_on: null,
      deleted_at: at.toISOString(),
      purge_at: new Date(at.getTime() + UNDO_MS).toISOString(),
    };
    const shown = await showDeleted(1);
    const { deleted_by: deletedBy, ...listed } = shown.body.user_group;
    expect(listed).toEqual(deleted);
    expect(deletedBy).toMatchObject({ kind: "api_key", name: "backend" });
    expect(Object.keys(listed)).toEqual(Object.keys(deleted));
    expect(tagOf(shown)).toBe('"1.2"');
    expect((await list({ state: "deleted" })).body).toEqual({ success: 1, user_groups: [deleted], next_cursor: null });
    expect(codeOf(await show(1))).toEqual(NOT_FOUND);
    for (const query of [{}, { state: "active" }, { state: "suspended" }, { user_group_id_prefix: "a" }])
      expect((await list(query)).body.user_groups).toEqual([]);
  });
});

it("If-Match keeps a restore and a purge from a group that somebody has changed", async () => {
  const { numbered, show, showDeleted } = await newDeletedCustomer();
  const withTag = (tag: string | null) => ({ headers: { "If-Match": tag ?? "" } });
  const tag = tagOf(await showDeleted(1));
  for (const stale of ['"1.1"', '"2.2"'])
    for (const call of [numbered.restore, numbered.purge])
      expect(codeOf(await call(1, undefined, withTag(stale)))).toEqual([412, "revision_mismatch"]);
  expect(codeOf(await numbered.purge(1, undefined, withTag("1.2")))).toEqual([422, "invalid_body"]);
  expect((await numbered.restore(1, undefined, withTag(tag))).status).toBe(200);
  expect(codeOf(await numbered.restore(1, undefined, withTag(tag)))).toEqual([412, "revision_mismatch"]);
  expect(tagOf(await show(1))).toBe('"1.3"');
  await numbered.remove(1);
  expect((await numbered.purge(1, undefined, withTag('"1.4"'))).status).toBe(200);
});

describe("a restore", () => {
  it("brings the group back as it was: token, sessions, grace, times and all", async () => {
    const customer = await newCustomer();
    const { get, list, rotate, numbered, restore, mintSession } = customer;
    const current = tokenIn(await rotate(customer.token, { grace_seconds: 3600 }));
    const session = await mintSession();
    const everything = async () => {
      const viewed = [customer.token, current, session].map((credential) => view(credential));
      const answers = [await get({ user_group_id: "acme" }), await list(), await list({ state: "active" })];
      return JSON.stringify([...answers, ...(await Promise.all(viewed))].map(({ status, body }) => [status, body]));
    };
    const before = await everything();
    expect(before.match(/\[200,/g)).toHaveLength(6);
    pass(1000);
    await numbered.remove(1);
    for (const credential of [customer.token, current, session])
      expect(codeOf(await view(credential))).toEqual(REVOKED);
    pass(1000);
    const restored = await restore(1);
    expect(restored.body.user_group).toEqual((await list()).body.user_groups[0]);
    expect([restored.status, tagOf(restored)]).toEqual([200, '"1.4"']);
    expect(await everything()).toBe(before);
  });

  it("does not prolong a grace", async () => {
    const { rotate, remove, restore, token } = await newCustomer();
    await remove(tokenIn(await rotate(token, { grace_seconds: 60 })));
    pass(30_000);
    await restore(1);
    expect((await view(token)).status).toBe(200);
    pass(30_000);
    expect(codeOf(await view(token))).toEqual(REVOKED);
  });

  it("is 409 where another group has the id, and changes nothing", async () => {
    const { tokenOf, restore, token } = await newDeletedCustomer();
    const newer = await tokenOf("acme");
    const before = await rowsOf(DIRECTORY);
    for (const body of [undefined, {}, { rotate_token: true }, { new_user_group_id: "acme" }])
      expect(codeOf(await restore(1, body))).toEqual(TAKEN);
    expect(await rowsOf(DIRECTORY)).toEqual(before);
    expect(codeOf(await view(token))).toEqual(REVOKED);
    expect((await view(newer)).body.user_group.team_id).toBe(2);
  });

  it("under a new id succeeds where the old id is taken, with both ids in its event", async () => {
    const { tokenOf, restore, list, token, events } = await newDeletedCustomer();
    await tokenOf("acme");
    const restored = await restore(1, { new_user_group_id: "acme-old" });
    expect(restored.body.user_group).toMatchObject({ team_id: 1, provided_id: "acme-old", ...FIELDS });
    expect((await view(token)).body.user_group.provided_id).toBe("acme-old");
    expect(idsIn(await list())).toEqual(["acme-old", "acme"]);
    expect(idsIn(await list({ user_group_id_prefix: "acme-" }))).toEqual(["acme-old"]);
    expect((await events()).at(-1)).toMatchObject({
      type: "user_group.restored",
      user_group: { team_id: 1, provided_id: "acme-old" },
      previous_provided_id: "acme",
    });
  });

  it("under its own id is a plain one, and its event names no previous id", async () => {
    const { restore, events } = await newDeletedCustomer();
    expect((await restore(1, { new_user_group_id: "acme" })).status).toBe(200);
    expect(Object.keys((await events()).at(-1))).toEqual(["id", "at", "type", "actor", "request_id", "user_group"]);
  });

  it("with rotate_token gives a new token, and the old ones stay revoked", async () => {
    const customer = await newCustomer();
    const { get, rotate, remove, restore, mintSession } = customer;
    const current = tokenIn(await rotate(customer.token, { grace_seconds: 3600 }));
    const session = await mintSession();
    await remove(current);
    const restored = await restore(1, { rotate_token: true });
    expect(restored.status).toBe(200);
    expect(restored.body.user_group).not.toHaveProperty("token");
    const fresh = tokenIn(await get({ user_group_id: "acme" }));
    expect((await view(fresh)).body.user_group.team_id).toBe(1);
    for (const credential of [customer.token, current, session])
      expect(codeOf(await view(credential))).toEqual(REVOKED);
    for (const token of [customer.token, current])
      expect([codeOf(await rotate(token)), codeOf(await remove(token))]).toEqual([
        [409, "token_superseded"],
        [409, "token_superseded"],
      ]);
  });

  it.for([undefined, {}, { rotate_token: true }, { new_user_group_id: "other", rotate_token: true }])(
    "of a group that exists answers it and changes nothing, with %j",
    async (body) => {
      const { restore, show, put } = await newCustomer();
      await put({ user_group_id: "acme", suspended: true });
      const before = await rowsOf(DIRECTORY);
      const shown = await show(1);
      const restored = await restore(1, body);
      expect([restored.status, restored.body, tagOf(restored)]).toEqual([200, shown.body, tagOf(shown)]);
      expect(await rowsOf(DIRECTORY)).toEqual(before);
    },
  );

  it("made twice answers the same, and counts one revision and one event", async () => {
    const { restore, events } = await newDeletedCustomer();
    const [first, second] = [await restore(1, { rotate_token: true }), await restore(1, { rotate_token: true })];
    expect([second.status, second.body, tagOf(second)]).toEqual([200, first.body, '"1.3"']);
    expect(typesIn(await events({ user_group_id: "acme" }))).toEqual(["created", "deleted", "restored"]);
  });

  it.for(["2", "0", "01", "1.0", "x", "-1", "9".repeat(30)])("of %s is 404", async (teamId) => {
    const { restore, purge, showDeleted } = await newDeletedCustomer();
    const before = await rowsOf(DIRECTORY);
    for (const answer of [await restore(teamId), await purge(teamId), await showDeleted(teamId)])
      expect(codeOf(answer)).toEqual(NOT_FOUND);
    expect(await rowsOf(DIRECTORY)).toEqual(before);
  });

  it.for([
    [{ new_user_group_id: null }, "new_user_group_id"],
    [{ new_user_group_id: "" }, "new_user_group_id"],
    [{ new_user_group_id: "x".repeat(256) }, "new_user_group_id"],
    [{ rotate_token: "true" }, "rotate_token"],
    [{ rotate_token: null }, "rotate_token"],
    [{ grace_seconds: 1 }, "grace_seconds"],
    [{ user_group_id: "acme" }, "user_group_id"],
  ] as const)("with the body %j is 422, with an issue at its field", async ([body, field]) => {
    const { restore, showDeleted } = await newDeletedCustomer();
    const refused = await restore(1, body);
    expect(refused).toMatchObject(invalid(field));
    expect((await showDeleted(1)).status).toBe(200);
  });
});

describe("a purge", () => {
  /** All that could name the group or one of its tokens: texts, and bytes in hex. */
  const tracesOf = (rows: Record<string, string[]>): string[] => [
    "acme",
    "formerly",
    ...Object.values(FIELDS).map((value) => (typeof value === "string" ? value : (Object.values(value)[0] ?? ""))),
    ...new Set(
      ["user_groups", "stored_responses"]
        .flatMap((table) => rows[table] ?? [])
        .flatMap((row) => row.split("\n"))
        .flatMap((line) => /^(?:grace_)?(?:nonce|generation)=([0-9a-f]{32})$/.exec(line)?.[1] ?? []),
    ),
  ];

  it("leaves no trace of the group in any table but the ids in its events", async () => {
    const { put, rotate, token, numbered, restore, purge } = await newCustomer();
    await put({ user_group_id: "acme", new_user_group_id: "formerly" });
    await put({ user_group_id: "formerly", new_user_group_id: "acme" });
    const rotated = await rotate(token, {}, withKey("k-1"));
    for (const _ of [1, 2]) await numbered.rotate(1, { grace_seconds: 3600 });
    await numbered.remove(1);
    await restore(1);
    const traces = tracesOf(await rowsOf(DIRECTORY));
    // Two ids, three values, the current and the previous token's nonce and generation, and the stored response's nonce.
    expect(traces).toHaveLength(2 + 3 + 4 + 1);
    expect(rotated.status).toBe(200);
    await numbered.remove(1);
    const found = async () => {
      const { events, ...others } = await rowsOf(DIRECTORY);
      return { events: String(events), others: JSON.stringify(others) };
    };
    const before = await found();
    expect(traces.filter((trace) => before.others.includes(trace))).toEqual(
      traces.filter((trace) => trace !== "formerly"),
    );
    expect(await purge(1)).toMatchObject({ status: 200, body: { success: 1 } });
    await runAlarm(DIRECTORY);
    const after = await found();
    expect(traces.filter((trace) => after.others.includes(trace))).toEqual([]);
    expect(traces.filter((trace) => after.events.includes(trace))).toEqual(["acme", "formerly"]);
  });

  it("of an old group leaves the new one with its id alone, and its responses", async () => {
    const { tokenOf, purge, rotate, show } = await newDeletedCustomer();
    const first = await rotate(await tokenOf("acme"), {}, withKey("k"));
    expect((await purge(1)).status).toBe(200);
    expect((await show(2)).body.user_group).toMatchObject({ provided_id: "acme" });
    expect((await view(tokenIn(first))).status).toBe(200);
  });

  it("of the newest group does not free its number, after a restart either", async () => {
    const { purge, get } = await newDeletedCustomer();
    await purge(1);
    await evictAllDurableObjects();
    expect((await get({ user_group_id: "acme" })).body.user_group.team_id).toBe(2);
  });
});

describe("the alarm", () => {
  it("purges a deleted group at its purge_at without traffic, and not before", async () => {
    const { showDeleted, restore, events, purge } = await newDeletedCustomer();
    const purgeAt = Date.parse((await showDeleted(1)).body.user_group.purge_at);
    expect(await alarmAt()).toBe(purgeAt);
    await evictAllDurableObjects();
    vi.setSystemTime(purgeAt - 1);
    await runAlarm(DIRECTORY);
    expect(await alarmAt()).toBe(purgeAt);
    expect((await showDeleted(1)).status).toBe(200);
    await evictAllDurableObjects();
    vi.setSystemTime(purgeAt);
    await runAlarm(DIRECTORY);
    const { deleted_groups: deleted } = await rowsOf(DIRECTORY);
    expect(deleted).toEqual([]);
    expect((await events()).at(-1)).toEqual({
      id: expect.any(Number),
      at: new Date(purgeAt).toISOString(),
      type: "user_group.purged",
      actor: { kind: "system", id: null, name: "purge" },
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      user_group: { team_id: 1, provided_id: "acme" },
    });
    for (const answer of [await restore(1), await purge(1)]) expect(codeOf(answer)).toEqual(NOT_FOUND);
  });

  it("hands a purged group to the registry again a minute after the registry has failed", async () => {
    const { purge } = await newDeletedCustomer();
    await purge(1);
    vi.spyOn(Registry.prototype, "bury").mockImplementationOnce(() => {
      throw new Error("The machine has stopped.");
    });
    await runAlarm(DIRECTORY);
    expect(await alarmAt()).toBe(Date.now() + 60_000);
    pass(60_000);
    await runAlarm(DIRECTORY);
    expect((await rowsOf(DIRECTORY)).tombstones).toEqual([]);
  });

  it("keeps what was restored, and counts from the last deletion", async () => {
    const { restore, numbered, show, showDeleted } = await newDeletedCustomer();
    pass(10 * DAY_MS);
    await restore(1);
    vi.setSystemTime(NOW.getTime() + 1000 + UNDO_MS);
    await runAlarm(DIRECTORY);
    expect((await show(1)).status).toBe(200);
    await numbered.remove(1);
    pass(UNDO_MS - 1);
    await runAlarm(DIRECTORY);
    expect((await showDeleted(1)).status).toBe(200);
    pass(1);
    await runAlarm(DIRECTORY);
    expect(codeOf(await showDeleted(1))).toEqual(NOT_FOUND);
  });

  it("purges many in batches, one event each, and leaves those whose time has not come", async () => {
    const { tokenOf, remove, list, events } = await newDeletedCustomer();
    const count = 2 * GROUPS_PER_PURGE_MAX + 50;
    await inDirectory(({ sql }) =>
      sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 99 + ?)
          INSERT INTO deleted_groups (team_id, provided_id, deleted_at, name, nonce, generation, revision, created_at, updated_at)
          SELECT i, 'group ' || i, ?, 'G', zeroblob(16), zeroblob(16), 1, 1, 1 FROM n`,
        count - 1,
        NOW.getTime() + 1000,
      ),
    );
    pass(DAY_MS);
    await remove(await tokenOf("later"));
    vi.setSystemTime(NOW.getTime() + 1000 + UNDO_MS);
    const left: number[] = [];
    // One batch more than there are, so that an alarm that purges nothing does not run for ever.
    for (let at = await alarmAt(); at !== null && at <= Date.now() && left.length < 4; at = await alarmAt()) {
      await runAlarm(DIRECTORY);
      left.push((await rowsOf(DIRECTORY)).deleted_groups?.length ?? 0);
    }
    expect(left).toEqual([count + 1 - GROUPS_PER_PURGE_MAX, 51, 1]);
    expect(await alarmAt()).toBe(NOW.getTime() + 1000 + DAY_MS + UNDO_MS);
    expect(idsIn(await list({ state: "deleted" }))).toEqual(["later"]);
    expect(await events({ type: "user_group.purged" })).toHaveLength(count);
  });

  it("erases a group's stored responses with it", async () => {
    const { remove, token } = await newCustomer();
    pass(1000);
    await remove(token, {}, withKey("k"));
    await inDirectory(({ sql }) => sql.exec("UPDATE stored_responses SET expires_at = expires_at + ?", 2 * UNDO_MS));
    pass(UNDO_MS);
    await runAlarm(DIRECTORY);
    expect((await rowsOf(DIRECTORY)).stored_responses).toEqual([]);
    expect(codeOf(await remove(token, {}, withKey("k")))).toEqual(NOT_FOUND);
  });
});

describe("UNDO_DAYS", () => {
  /** A customer whose group is deleted where UNDO_DAYS is `days`. */
  async function customerWith(days: string) {
    const { UNDO_DAYS } = env;
    onTestFinished(() => void Object.assign(env, { UNDO_DAYS }));
    Object.assign(env, { UNDO_DAYS: days });
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const calls = byNumber(key);
    const { purge_at: purgeAt } = (await calls.remove(1)).body.user_group;
    return { ...calls, purgeAt };
  }

  it("of a second purges by the alarm itself, without traffic", async () => {
    const { events, list, purgeAt } = await customerWith(String(1 / 86_400));
    await expect.poll(async () => (await rowsOf(DIRECTORY)).deleted_groups).toEqual([]);
    const purged = (await events({ user_group_id: "acme" })).at(-1);
    expect(purged).toMatchObject({ type: "user_group.purged", actor: { kind: "system" } });
    expect(Date.parse(purged.at)).toBeGreaterThanOrEqual(Date.parse(purgeAt));
    expect((await list({ state: "deleted" })).body.user_groups).toEqual([]);
  });

  it.for([
    ["1e9", 36_500],
    ["45.5", 45.5],
    ["", 30],
    [" ", 36_500],
    ["-3", 36_500],
    ["a month", 36_500],
  ] as const)("of %j keeps a deleted group for %f days", async ([text, days]) => {
    const { showDeleted, restore } = await customerWith(text);
    const { deleted_at: deletedAt, purge_at: purgeAt } = (await showDeleted(1)).body.user_group;
    expect(Date.parse(purgeAt) - Date.parse(deletedAt)).toBe(days * DAY_MS);
    await runAlarm(DIRECTORY);
    expect((await restore(1)).status).toBe(200);
  });
});

describe("a list with a state", () => {
  it("shows that state alone, page by page, at any size of page", async () => {
    const { list, put, remove, tokenOf } = await newCustomer();
    const states = ["active", "suspended", "deleted"] as const;
    const expected: Record<string, string[]> = { active: ["acme"], suspended: [], deleted: [] };
    for (const index of Array.from({ length: 20 }, (_, each) => each)) {
      const [id, state] = [`group ${String(index).padStart(2, "0")}`, states[(index * index + 1) % 3] ?? "active"];
      const token = await tokenOf(id);
      await {
        active: async () => undefined,
        suspended: () => put({ user_group_id: id, suspended: true }),
        deleted: () => remove(token),
      }[state]();
      expected[state]?.push(id);
    }
    for (const state of states)
      for (const limit of [1, 2, 3, 7, 100]) {
        const pages = await pagesOf((cursor) => list({ state, limit: String(limit), ...cursor }));
        for (const { body } of pages) {
          expect(body.user_groups.length).toBeLessThanOrEqual(limit);
          expect(new Set(body.user_groups.map((group: { state: string }) => group.state)).size).toBeLessThan(2);
        }
        expect({ state, limit, ids: pages.flatMap(idsIn) }).toEqual({ state, limit, ids: expected[state] });
      }
    const prefixed = await list({ state: "suspended", user_group_id_prefix: "group 0" });
    expect(idsIn(prefixed)).toEqual(expected.suspended?.filter((id) => id.startsWith("group 0")));
    expect(idsIn(await list({ limit: "1000" }))).toEqual(
      ["acme", ...(expected.active ?? []).slice(1), ...(expected.suspended ?? [])].toSorted(),
    );
  });

  it("examines 1,000 groups a page, so that a page may be empty", async () => {
    const { list, put, tokenOf } = await newCustomer();
    await insertGroups(2499, { first: 2 });
    await evictAllDurableObjects();
    await tokenOf("last");
    await put({ user_group_id: "last", suspended: true });
    const pages = await pagesOf((cursor) => list({ state: "suspended", limit: "5", ...cursor }));
    expect(pages.map(idsIn)).toEqual([[], [], ["last"]]);
  });

  it.for(["state=", "state=Deleted", "state=purged", "state=active&state=deleted"])(
    "refuses %s, with an issue at its field",
    async (search) => {
      const { key } = await newCustomer();
      const answer = await call("GET", `/api/user_groups?${search}`, { credential: key });
      expect(answer).toMatchObject(invalid("state"));
    },
  );

  it.for(["active", "suspended", "x", ""])("of one group takes only deleted, not %j", async (state) => {
    const { key } = await newCustomer();
    const answer = await call("GET", `/api/user_groups/1?state=${state}`, { credential: key });
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
  });
});

it("an environment above its size goes on suspending, deleting, restoring and purging", async () => {
  const { put, update, numbered, restore, purge, show } = await newCustomer();
  await setDatabaseSize(ENVIRONMENT_BYTES_MAX + 1);
  const answers = [
    await put({ user_group_id: "acme", suspended: true }),
    await update(1, { suspended: false }),
    await numbered.remove(1),
    await restore(1, { new_user_group_id: "a-longer-id", rotate_token: true }),
    await numbered.remove(1),
    await purge(1),
  ];
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(codeOf(await show(1))).toEqual(NOT_FOUND);
});
