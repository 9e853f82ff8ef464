import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { RESPONSES_PER_PURGE_MAX } from "../../src/limits.ts";
import { runAlarm } from "../support/alarm.ts";
import { byNumber } from "../support/by-number.ts";
import { call, codeOf } from "../support/client.ts";
import { NOW } from "../support/clock.ts";
import { countRows } from "../support/rows.ts";
import { newIntegrator } from "../support/states.ts";

/** What no call may exceed, however much its environment holds. */

const DIRECTORY = "acme/Testing";
const directory = () => env.GROUP_DIRECTORY.getByName(DIRECTORY);
const inDirectory = <Value>(job: (storage: DurableObjectStorage) => Value): Promise<Value> =>
  runInDurableObject(directory(), (_, { storage }) => job(storage));

describe("the purge of a group with many stored responses", () => {
  const MANY = 2 * RESPONSES_PER_PURGE_MAX + 100;

  /** A deleted group with many stored responses, and another group with one. */
  async function newDeletedGroup() {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const integrator = await newIntegrator();
    const rotate = (current_token: string, idempotencyKey: string) =>
      call("POST", "/api/user", {
        credential: integrator.key,
        body: { current_token },
        headers: { "Idempotency-Key": idempotencyKey },
      });
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
    await integrator.remove(rotated.body.user_group.token);
    return { ...byNumber(integrator.key), token, other, rotate, kept };
  }

  const responsesOf = (teamId: number): Promise<number> =>
    inDirectory(
      ({ sql }) =>
        sql.exec<{ count: number }>("SELECT count(*) AS count FROM stored_responses WHERE team_id = ?", teamId).one()
          .count,
    );

  it("writes a few rows, and the alarm erases the responses in bounded steps", async ({ expect }) => {
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

  it("ends them at once, and those of other groups are replayed", async ({ expect }) => {
    const { purge, rotate, token, other, kept } = await newDeletedGroup();
    await purge(1);
    expect(codeOf(await rotate(token, "first"))).toEqual([404, "user_group_not_found"]);
    expect((await rotate(other, "kept")).body).toEqual(kept.body);
    expect((await rotate(kept.body.user_group.token, "first")).status).toBe(200);
    while ((await responsesOf(1)) > 0) await runAlarm(DIRECTORY);
    expect(await responsesOf(2)).toBe(2);
  });
});
