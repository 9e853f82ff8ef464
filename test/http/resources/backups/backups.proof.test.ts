import { expect, inject, it } from "vitest";
import { hasAnotherRound, report } from "../../../proof/effort.ts";
import { backUp, OF_ACME, restore, wipe } from "../../../support/backups.ts";
import { byNumber, rowsOf } from "../../../support/by-number.ts";
import { call } from "../../../support/client.ts";
import { randomOf } from "../../../support/random.ts";
import { mint } from "../../../support/sessions.ts";
import { issueKey, newIntegrator, operator } from "../../../support/states.ts";

const ACME = "acme/Testing";
const GROUPS = 60;
/** So large that a page holds some twenty groups. */
const MAPPING = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${n}`.padEnd(200, "x"), "y".repeat(250)]));

/** The tables that a backup holds. Events that ended since, and ends that were swept, may be in it too. */
const TABLES = ["user_groups", "deleted_groups", "api_keys", "ended_sessions", "events"] as const;

async function contents(): Promise<Record<string, string[]>> {
  const rows = await rowsOf(ACME);
  return Object.fromEntries(TABLES.map((table) => [table, (rows[table] ?? []).map(withoutView).toSorted()]));
}

/** The day of the last view may be that of the time at which a page was read. */
const withoutView = (row: string): string => row.replace(/^last_viewed_on=.*$/m, "");

/** Changes of every kind, each of a group that is drawn. */
function changesOf(key: string, random: (below: number) => number) {
  const by = byNumber(key);
  const teamId = () => 1 + random(GROUPS);
  const sessions: string[] = [];
  let last = 0;
  const next = () => {
    last += 1;
    return last;
  };
  return [
    () => by.update(teamId(), { name: `name ${next()}` }),
    () => by.update(teamId(), { new_user_group_id: `g${random(GROUPS)}` }),
    () => by.update(teamId(), { suspended: random(2) === 0, reason: "why" }),
    () => by.rotate(teamId(), { grace_seconds: random(2) * 60 }),
    () => by.remove(teamId()),
    () => by.remove(teamId()),
    () => by.restore(teamId()),
    () => by.purge(teamId()),
    () => issueKey({ name: `key ${next()}` }),
    () => call("DELETE", `/api/keys/${2 + random(3)}${OF_ACME}`, { credential: operator }),
    () => call("GET", "/api/user", { credential: key, body: { user_group_id: `new ${next()}` } }),
    async () => {
      const { body } = await mint(key, { user_group_id: `g${random(GROUPS)}`, viewer_id: `viewer ${random(3)}` });
      if (body.session) sessions.push(body.session.token);
    },
    async () => {
      const session = sessions[random(Math.max(1, sessions.length))];
      if (session) await call("POST", "/api/viewer_sessions/end", { credential: key, body: { session } });
    },
    () => {
      const body = { user_group_id: `g${random(GROUPS)}`, viewer_id: `viewer ${random(3)}` };
      return call("POST", "/api/viewer_sessions/end", { credential: key, body });
    },
  ];
}

it("a backup that is taken among random changes restores the moment of its footer", async () => {
  const startedAt = Date.now();
  const { seed } = inject("effort");
  const counts = { rounds: 0, pages: 0, changes: 0 };
  for (let round = 0; hasAnotherRound(round, startedAt, 3, 2_000, 0.1); round += 1) {
    const random = randomOf(seed * 1_000_003 + round);
    const workspace = { workspace: "acme" };
    const { key, get } = await newIntegrator(workspace);
    for (let n = 0; n < GROUPS; n += 1) await get({ user_group_id: `g${n}`, mapping: MAPPING });
    const changes = changesOf(key, random);
    const change = async () => {
      for (let left = 5 + random(20); left > 0; left -= 1) {
        await changes[random(changes.length)]?.();
        counts.changes += 1;
      }
    };
    await change();
    const pages = await backUp(OF_ACME, change);
    const before = await contents();
    await change();
    await wipe(ACME);
    expect(await restore(pages)).toMatchObject({ status: 200, body: { done: true } });
    expect(await contents(), `seed ${seed}, round ${round}`).toEqual(before);
    counts.rounds += 1;
    counts.pages += pages.length;
    await wipe(ACME);
    await wipe("registry");
  }
  report("backups", counts);
  expect(counts.pages).toBeGreaterThan(counts.rounds * 2);
});
