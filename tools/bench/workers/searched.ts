/** Fills a directory with what a search examines, and measures each turn of searches, histories and counts without the pauses. */
import { GroupHistory } from "../../../src/domain/feed/group-history.ts";
import { GroupCount, GroupSearch } from "../../../src/domain/search/group-scans.ts";
import type { Step } from "../../../src/domain/turns.ts";
import { EventStore } from "../../../src/storage/event-store.ts";
import { GroupStore } from "../../../src/storage/group-store.ts";

/** What each kind of directory has: the SQL of a name and of the JSON. */
const KINDS: Record<string, { name: string; json: string }> = {
  plain: { name: "'Customer number ' || n", json: `'{"region":"eu"}'` },
  long: { name: "substr(replace(hex(zeroblob(125)), '00', 'Ab') || n, 1, 250)", json: `'{"region":"eu"}'` },
  accents: { name: "substr(replace(hex(zeroblob(125)), '00', 'Äé') || n, 1, 250)", json: `'{"region":"eu"}'` },
  json: { name: "'Customer number ' || n", json: "json_object('filler', hex(zeroblob(1000)))" },
};

const ROWS_PER_STATEMENT = 20_000;
const EVERY = { start: undefined, prefix: undefined, state: undefined };
const ABSENT = "no customer has this";

/** Writes `size` groups of a kind, or with the kind `events` that many events of 1,000 groups. */
export async function fillSearched(storage: DurableObjectStorage, kind: string, size: number) {
  for (let from = 1; from <= size; from += ROWS_PER_STATEMENT) {
    const numbers = `WITH RECURSIVE numbers (n) AS
      (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${Math.min(size, from + ROWS_PER_STATEMENT - 1)})`;
    const { name, json } = KINDS[kind] ?? {};
    storage.sql.exec(
      name && json
        ? `${numbers} INSERT INTO user_groups (provided_id, name, nonce, generation, revision, created_at, updated_at, mapping, properties)
            SELECT 'group-' || n, ${name}, randomblob(16), randomblob(16), 1, 0, 0, '{"sales":"warehouse-7"}', ${json} FROM numbers`
        : `${numbers} INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
            SELECT n, 'user_group.updated', '{"kind":"api_key","id":1,"name":"backend"}', '${crypto.randomUUID()}', 2 + n % 1000,
              'group-' || n % 1000, '{"changed":["name","properties"]}' FROM numbers`,
    );
    // Otherwise all rows would be in one transaction, which is larger than SQLite's cache.
    await storage.sync();
  }
}

/** How many milliseconds each turn takes, by what it is a turn of. */
export function measureTurns({ sql }: DurableObjectStorage, kind: string): Record<string, number[]> {
  const [groups, events] = [new GroupStore(sql), new EventStore(sql)];
  if (kind === "events") return { "history without a hit": absentHistory(events) };
  const search = new GroupSearch({ ...EVERY, search: "group", limit: 50 });
  const count = new GroupCount();
  return {
    "search for an absent word": absentWord(groups),
    "search, first 50 hits": turnsOf(() => search.turn(groups)).times,
    "count of suspended groups": turnsOf(() => count.turn(groups)).times,
  };
}

function absentWord(store: GroupStore): number[] {
  const times: number[] = [];
  for (let start: number | string | null | undefined; start !== null; ) {
    const search = new GroupSearch({ ...EVERY, start, search: ABSENT, limit: 50 });
    const call = turnsOf(() => search.turn(store));
    times.push(...call.times);
    start = call.page.next;
  }
  return times;
}

function absentHistory(store: EventStore): number[] {
  const times: number[] = [];
  const from = { incarnation: store.incarnation(), before: Number.MAX_SAFE_INTEGER };
  for (let next: typeof from | null = from; next !== null; ) {
    const history = new GroupHistory(1, { from: next, limit: 50 });
    const call = turnsOf(() => {
      const turn = history.turn(store);
      if (!turn.ok) throw new Error(turn.failure.code);
      return turn.value;
    });
    times.push(...call.times);
    next = call.page.next;
  }
  return times;
}

/** Takes turns until there is a page. */
function turnsOf<Page>(turn: () => Step<Page>): { times: number[]; page: Page } {
  const times: number[] = [];
  for (;;) {
    const startedAt = performance.now();
    const { page } = turn();
    times.push(performance.now() - startedAt);
    if (page) return { times, page };
  }
}
