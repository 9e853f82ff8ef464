import { rmSync } from "node:fs";
import { request } from "undici";
import { expect, inject, it, onTestFinished } from "vitest";
import { type Bundle, bundleOf } from "../../../cli/src/serve/bundle.ts";
import { databasesIn, fill } from "../../../tools/bench/fill.ts";
import { issueKey } from "../../../tools/bench/service.ts";
import { report } from "../../proof/effort.ts";
import { startLoad } from "../../support/node/gated-load.ts";
import { recorded } from "../../support/node/releases.ts";
import { waitUntil } from "../../support/node/service.ts";
import { newState, type State, startSkewed } from "../../support/node/skewed-workerd.ts";

const GROUPS = inject("effort").minutes > 0 ? 1_000_000 : 10_000;
const EVENTS = GROUPS / 5;
/** Higher than the number of any group that the load has made until then. */
const FIRST_NUMBER = 10_000;

/** Writes as many groups and events into the database of 1.0 as years of use would. */
function grow(state: State): void {
  for (const database of databasesIn(state.folder)) {
    // The numbers begin above those of deleted groups, which are never used again.
    database
      .prepare(`
        INSERT INTO user_groups (team_id, provided_id, name, nonce, generation, revision, created_at, updated_at)
        SELECT ?, 'grown', name, nonce, generation, revision, created_at, updated_at FROM user_groups LIMIT 1`)
      .run(FIRST_NUMBER);
    fill(database, { groups: GROUPS });
    const { last } = database.prepare("SELECT max(id) AS last FROM events").get() as { last: number };
    const { actor } = database.prepare("SELECT actor FROM events LIMIT 1").get() as { actor: string };
    database
      .prepare(`
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${EVENTS})
        INSERT INTO events (id, at, type, actor, request_id, team_id, provided_id, details)
        SELECT ? + n, ?, 'user_group.updated', ?, 'grown', team_id, provided_id, '{}'
        FROM numbers JOIN user_groups ON provided_id = 'group-' || n`)
      .run(last, Date.now(), actor);
    database.close();
  }
}

/** What the databases hold of the groups that nobody has changed, and whether SQLite finds them whole. */
function grownIn(state: State) {
  return databasesIn(state.folder).map((database) => {
    const groups = database
      .prepare(`
        SELECT count(*) AS count, sum(revision) AS revisions, sum(length(name)) AS units, sum(team_id) AS numbers,
          sum(length(nonce) + length(generation)) AS bytes, min(mapping) = max(mapping) AS areSame
        FROM user_groups WHERE provided_id GLOB 'group-*'`)
      .get();
    const events = database.prepare("SELECT count(*) AS count FROM events WHERE request_id = 'grown'").get();
    const check = database.prepare("PRAGMA quick_check").get();
    database.close();
    return { groups, events, check };
  });
}

/** Searches all groups for a text that none has. Returns in how many calls. */
async function searchAll(url: string, key: string): Promise<number> {
  let calls = 0;
  for (let cursor: string | null = ""; cursor !== null; calls += 1) {
    const path: string = `/api/user_groups?search=nowhere${cursor && `&cursor=${cursor}`}`;
    const answer = await request(url + path, { headers: { authorization: `Token ${key}` } });
    // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
    const body = (await answer.body.json()) as any;
    if (answer.statusCode !== 200 || body.user_groups.length > 0) throw new Error(JSON.stringify(body));
    cursor = body.next_cursor;
  }
  return calls;
}

it("1.0's database, grown large, is upgraded and rolled back under load without a failed call or a lost row", async () => {
  const before = recorded("1.0.0").worker;
  const now = bundleOf({ isNew: () => undefined });
  const state = newState();
  onTestFinished(() => rmSync(state.folder, { recursive: true, force: true }));
  let service = await startSkewed([before], before, state);
  onTestFinished(() => service.stop());
  const key = await issueKey(service.url, "acme");
  const load = startLoad({ url: service.url, isOlder: true }, { key, operatorToken: service.operatorToken });
  const use = () => waitUntil(() => load.rounds() >= 1, "the service was used");
  const exchange = async (bundle: Bundle, meanwhile = () => {}) => {
    await load.hold();
    await service.stop();
    meanwhile();
    service = await startSkewed([bundle], bundle, state);
    load.release({ url: service.url, isOlder: bundle === before });
    await use();
  };
  await use();
  let grown: ReturnType<typeof grownIn> = [];
  await exchange(before, () => {
    grow(state);
    grown = grownIn(state);
  });
  await exchange(now);
  const searches = await searchAll(service.url, key);
  await exchange(before);
  await exchange(now);
  const failures = await load.stop();
  await service.stop();
  report("grown", { groups: GROUPS, searches, ...load.counts });
  expect(failures).toEqual([]);
  expect(searches).toBeGreaterThanOrEqual(GROUPS / 100_000);
  expect(grown).toMatchObject([{ groups: { count: GROUPS }, events: { count: EVENTS }, check: { quick_check: "ok" } }]);
  expect(grownIn(state)).toEqual(grown);
});
