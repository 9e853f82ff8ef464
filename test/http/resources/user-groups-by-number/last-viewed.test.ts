import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { byNumber } from "../../../support/by-number.ts";
import { codeOf } from "../../../support/client.ts";
import { countRows } from "../../../support/rows.ts";
import { mint, sessionOf } from "../../../support/sessions.ts";
import { newIntegrator } from "../../../support/states.ts";
import { query, STALE, view } from "../../../support/viewers.ts";

/** What the first view or new session of a group on a day costs in addition, to store the day. */
const FIRST_VIEW_OF_A_DAY = { rows_written: 1 } as const;

const EVENING = new Date("2026-03-01T23:59:59.999Z");
const MIDNIGHT = new Date("2026-03-02T00:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ now: EVENING, toFake: ["Date"] });
});

async function newGroup() {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme");
  const by = byNumber(integrator.key);
  return { ...integrator, token, by, day: async () => (await by.show(1)).body.user_group.last_viewed_on };
}

describe("last_viewed_on", () => {
  it("is the day in UTC of the last view by a token, a session or a query, or of the last new session", async () => {
    const { key, token, by, day } = await newGroup();
    expect(await day()).toBeNull();
    expect((await by.list()).body.user_groups).toMatchObject([{ last_viewed_on: null }]);
    await view(token);
    expect(await day()).toBe("2026-03-01");
    vi.setSystemTime(MIDNIGHT);
    expect(await day()).toBe("2026-03-01");
    await query(token, { sql: "SELECT {{user_group_id}}" });
    expect(await day()).toBe("2026-03-02");
    vi.setSystemTime(new Date("2026-03-03T23:59:59Z"));
    const session = await sessionOf(key);
    expect(await day()).toBe("2026-03-03");
    vi.setSystemTime(new Date("2026-03-04T00:00:01Z"));
    await view(session);
    expect((await by.list()).body.user_groups).toMatchObject([{ last_viewed_on: "2026-03-04" }]);
  });

  it("is no change of the group: no event, no new ETag, and no call of an integrator sets it", async () => {
    const { get, put, token, by, day } = await newGroup();
    const before = await by.show(1);
    await get({ user_group_id: "acme" });
    await put({ user_group_id: "acme" });
    expect(await day()).toBeNull();
    const events = await by.events();
    await view(token);
    const after = await by.show(1);
    expect(after.headers.get("ETag")).toBe(before.headers.get("ETag"));
    expect(after.body.user_group.updated_at).toBe(before.body.user_group.updated_at);
    expect(await by.events()).toEqual(events);
  });

  it("stays with changes, a deletion and a restoration", async () => {
    const { token, by, day } = await newGroup();
    await view(token);
    await by.update(1, { name: "Other" });
    expect((await by.remove(1)).body.user_group.last_viewed_on).toBe("2026-03-01");
    await by.restore(1);
    expect(await day()).toBe("2026-03-01");
  });

  it("is not set by a viewer who is refused", async () => {
    const { key, token, put, by, day } = await newGroup();
    await put({ user_group_id: "acme", suspended: true });
    expect(codeOf(await view(token))).toEqual([403, "user_group_suspended"]);
    expect(codeOf(await mint(key))).toEqual([403, "user_group_suspended"]);
    await by.update(1, { suspended: false });
    await by.rotate(1);
    expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
    expect(await day()).toBeNull();
  });

  it("does not go back with the clock", async () => {
    const { token, day } = await newGroup();
    vi.setSystemTime(MIDNIGHT);
    await view(token);
    vi.setSystemTime(EVENING);
    await view(token);
    expect(await day()).toBe("2026-03-02");
  });

  it("costs one row a day and group, however many views there are", async () => {
    const { key, token } = await newGroup();
    const rows = await countRows(env.GROUP_DIRECTORY.getByName("acme/Testing"));
    const written = async (job: () => Promise<unknown>) => {
      const before = rows.written;
      await job();
      return rows.written - before;
    };
    const viewOften = async () => {
      for (let views = 0; views < 20; views += 1) await view(token);
      await view(token, STALE);
      await sessionOf(key);
    };
    expect(await written(viewOften)).toBe(FIRST_VIEW_OF_A_DAY.rows_written);
    expect(await written(viewOften)).toBe(0);
    vi.setSystemTime(MIDNIGHT);
    expect(await written(viewOften)).toBe(FIRST_VIEW_OF_A_DAY.rows_written);
  });
});
