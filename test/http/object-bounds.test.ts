import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { ENVIRONMENT_BYTES_MAX, EVENTS_DISPLACED_MAX, RESPONSES_PER_PURGE_MAX } from "../../common/limits.ts";
import { runAlarm } from "../support/alarm.ts";
import { byNumber } from "../support/by-number.ts";
import { call, codeOf, tokenIn } from "../support/client.ts";
import { NOW } from "../support/clock.ts";
import { countRows } from "../support/rows.ts";
import { newIntegrator, withKey } from "../support/states.ts";
import { inDirectory, setDatabaseSize } from "../support/storage.ts";

/** What no call may exceed, however much its environment holds. */

const DIRECTORY = "acme/Testing";
const directory = () => env.GROUP_DIRECTORY.getByName(DIRECTORY);

describe("the purge of a group with many stored responses", () => {
  const MANY = 2 * RESPONSES_PER_PURGE_MAX + 100;

  /** A deleted group with many stored responses, and another group with one. */
  async function newDeletedGroup() {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const integrator = await newIntegrator();
    const rotate = (current: string, idempotencyKey: string) => integrator.rotate(current, {}, withKey(idempotencyKey));
    const [token, other] = [await integrator.tokenOf("acme"), await integrator.tokenOf("other")];
    const rotated = await rotate(token, "first");
    const kept = await rotate(other, "kept");
    await inDirectory(({ sql }) =>
      sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO stored_responses (key, request, expires_at, key_id, team_id)
          SELECT randomblob(32), randomblob(32), ?, 1, 1 FROM n`,
        MANY - 1,
        Date.now() + 60_000,
      ),
    );
    await integrator.remove(tokenIn(rotated));
    return { ...byNumber(integrator.key), token, other, rotate, kept };
  }

  const responsesOf = (teamId: number): Promise<number> =>
    inDirectory(({ sql }) => sql.exec("SELECT 1 FROM stored_responses WHERE team_id = ?", teamId).toArray().length);

  it("writes a few rows, and the alarm erases the responses in bounded steps", async () => {
    const { purge } = await newDeletedGroup();
    const rows = await countRows(directory());
    expect((await purge(1)).status).toBe(200);
    expect(rows.written).toBeLessThan(10);
    expect(rows.read).toBeLessThan(10);

    const left = [await responsesOf(1)];
    while (left.at(-1) !== 0 && (await runAlarm(DIRECTORY))) left.push(await responsesOf(1));
    expect(left).toEqual([MANY, MANY - RESPONSES_PER_PURGE_MAX, 100, 0]);
    expect(await responsesOf(2)).toBe(1);
    expect(await runAlarm(DIRECTORY)).toBe(true);
    expect(rows.plans.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
    expect(await inDirectory(({ sql }) => sql.exec("SELECT * FROM purged_groups").toArray())).toEqual([]);
  });

  it("deletes at most 1 MiB of large responses at a time, purged or expired", async () => {
    const { purge } = await newDeletedGroup();
    const seed = (teamId: number, count: number, expiresAt: number) =>
      inDirectory(({ sql }) => {
        sql.exec("DELETE FROM stored_responses");
        sql.exec(
          `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO stored_responses (key, request, expires_at, key_id, team_id, listed)
            SELECT randomblob(32), randomblob(32), ?, 1, ?, hex(zeroblob(32768)) FROM n`,
          count,
          expiresAt,
          teamId,
        );
      });
    const stepsOf = async (teamId: number): Promise<number[]> => {
      const left = [await responsesOf(teamId)];
      while (left.at(-1) !== 0 && (await runAlarm(DIRECTORY))) left.push(await responsesOf(teamId));
      return left;
    };
    await seed(1, 40, NOW.getTime() + 1000);
    await purge(1);
    expect(await stepsOf(1)).toEqual([40, 24, 8, 0]);
    await runAlarm(DIRECTORY);

    await seed(2, 40, NOW.getTime() - 1);
    await inDirectory((storage) => storage.setAlarm(NOW));
    expect(await stepsOf(2)).toEqual([40, 24, 8, 0]);
  });

  it("ends them at once, and those of other groups are replayed", async () => {
    const { purge, rotate, token, other, kept } = await newDeletedGroup();
    await purge(1);
    expect(codeOf(await rotate(token, "first"))).toEqual([404, "user_group_not_found"]);
    expect((await rotate(other, "kept")).body).toEqual(kept.body);
    expect((await rotate(kept.body.user_group.token, "first")).status).toBe(200);
    while ((await responsesOf(1)) > 0) await runAlarm(DIRECTORY);
    expect(await responsesOf(2)).toBe(2);
  });
});

describe("the events of a full environment", () => {
  const SEEDED = 1000;
  const eventIds = (): Promise<number[]> =>
    inDirectory(({ sql }) => [...sql.exec("SELECT id FROM events WHERE id > 0 ORDER BY id").raw<[number]>()].flat());
  /** The bytes of all rows, without what SQLite adds. */
  const bytes = (): Promise<number> =>
    inDirectory(
      ({ sql }) =>
        sql
          .exec<{ bytes: number }>(
            `SELECT (SELECT coalesce(sum(length(type) + length(actor) + length(request_id) + coalesce(length(provided_id), 0)
              + length(details)), 0) FROM events) + (SELECT sum(length(provided_id) + length(name)) FROM user_groups) AS bytes`,
          )
          .one().bytes,
    );

  /** A group in an environment that has just become full, with a thousand events of the shortest kind. */
  async function newFullEnvironment() {
    const integrator = await newIntegrator();
    await integrator.tokenOf("a".repeat(255));
    await inDirectory(({ sql }) =>
      sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
          SELECT ?, 'user_group.resumed', '{"kind":"api_key","id":1,"name":"backend"}', ?, 1, 'a', '{}' FROM n`,
        SEEDED,
        Date.now(),
        crypto.randomUUID(),
      ),
    );
    await setDatabaseSize(ENVIRONMENT_BYTES_MAX + 1);
    return { ...integrator, ...byNumber(integrator.key) };
  }

  it("do not grow it by suspending, resuming or renaming between long ids", async () => {
    const { update } = await newFullEnvironment();
    let before = await bytes();
    for (let count = 0; count < 10; count += 1) {
      for (const fields of [
        { suspended: true },
        { suspended: false },
        { new_user_group_id: "b".repeat(255) },
        { new_user_group_id: "a".repeat(255) },
      ]) {
        expect((await update(1, fields)).status).toBe(200);
        const after = await bytes();
        expect(after).toBeLessThanOrEqual(before);
        before = after;
      }
    }
    expect(await eventIds()).toHaveLength(2 + SEEDED - 40 * (EVENTS_DISPLACED_MAX - 1));
  });

  it("take the place of the oldest 20, and never of the newest", async () => {
    const { update } = await newFullEnvironment();
    await inDirectory(({ sql }) => sql.exec("DELETE FROM events WHERE id <= 975"));
    const rows = await countRows(directory());
    const left: number[][] = [];
    for (const suspended of [true, false, true]) {
      await update(1, { suspended });
      left.push(await eventIds());
    }
    expect(left.map((ids) => [ids[0], ids.length])).toEqual([
      [996, 8],
      [1004, 1],
      [1005, 1],
    ]);
    expect(rows.plans.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
  });

  it("are read again from the start by a reader from before: 410", async () => {
    const { key, update, events } = await newFullEnvironment();
    const read = (cursor: string) => call("GET", `/api/events?limit=5${cursor}`, { credential: key });
    const cursor = `&cursor=${(await read("")).body.next_cursor}`;
    await update(1, { suspended: true });
    expect(codeOf(await read(cursor))).toEqual([410, "cursor_expired"]);
    expect((await events())[0].id).toBe(EVENTS_DISPLACED_MAX + 1);

    await setDatabaseSize(ENVIRONMENT_BYTES_MAX);
    await update(1, { suspended: false });
    expect((await events())[0].id).toBe(EVENTS_DISPLACED_MAX + 1);
  });

  it("do not displace events of calls that fail or change nothing", async () => {
    const { update, get } = await newFullEnvironment();
    const before = await eventIds();
    await update(1, { suspended: false });
    expect(codeOf(await get({ user_group_id: "new" }))).toEqual([507, "environment_full"]);
    expect(await eventIds()).toEqual(before);
  });
});
