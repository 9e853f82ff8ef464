/** Measures calls within a directory: their network and their waiting would hide for how long they keep its thread. */
import { GroupDirectory } from "../../../src/index.ts";
import { fillSearched, measureTurns } from "./searched.ts";

export { Registry } from "../../../src/index.ts";

const ADA = { kind: "operator", id: 1, name: "ada", role: "admin", expiresAt: null, requestId: "bench" } as const;
const FIRST_PAGE = { start: undefined, prefix: undefined, state: undefined, limit: 1000 };
/** Longer than the pause after a full page. */
const PAUSE_MS = 40;
const FULL_BYTES = 9_500_000_000;

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
const keyDraft = (n: number) => ({ name: `key ${n}`, rights: "write", nonceHash: new ArrayBuffer(32) });

/** How many milliseconds a call takes until it waits or returns. */
async function timed(call: () => unknown): Promise<number> {
  const startedAt = performance.now();
  const result = call();
  const milliseconds = performance.now() - startedAt;
  await result;
  return milliseconds;
}

export class MeasuredDirectory extends GroupDirectory {
  /** Makes the calls that the path names in a directory of `size`. Answers with the milliseconds of each, by kind. */
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const size = Number(searchParams.get("size"));
    this.issueKey(ADA, keyDraft(0));
    if (pathname === "/purge") return Response.json(await this.#purge(size));
    if (pathname === "/keys") return Response.json(await this.#keys(size));
    if (pathname === "/list") return Response.json(await this.#list(size));
    if (pathname === "/append") return Response.json(await this.#append(size));
    const [, kind = "", action] = /^\/searched-([a-z]+)-\d+\/(fill|measure)$/.exec(pathname) ?? [];
    if (action === "measure") return Response.json(measureTurns(this.ctx.storage, kind));
    if (action === "fill") return Response.json(await fillSearched(this.ctx.storage, kind, size));
    return new Response(null, { status: 404 });
  }

  /** Purges a group with so many stored responses, and lets the alarm delete some of them. */
  async #purge(responses: number): Promise<Record<string, number[]>> {
    const { sql } = this.ctx.storage;
    sql.exec(`INSERT INTO deleted_groups (team_id, provided_id, deleted_at, name, nonce, generation, revision, created_at, updated_at)
      VALUES (1, 'acme', ${Date.now()}, 'Acme', zeroblob(16), zeroblob(16), 1, 1, 1)`);
    sql.exec(`${numbers(responses)} INSERT INTO stored_responses (key, request, expires_at, key_id, team_id)
      SELECT randomblob(32), zeroblob(32), ${Date.now() + 3_600_000}, 1, 1 FROM numbers`);
    // Otherwise the purge would run in the transaction of all these rows, which is larger than SQLite's cache.
    await this.ctx.storage.sync();
    const purge = [await timed(() => this.purge(ADA, 1, {}))];
    const alarm: number[] = [];
    for (let run = 0; run < 100; run += 1) alarm.push(await timed(() => this.alarm()));
    return { purge, "alarm after the purge": alarm };
  }

  /** Issues keys beyond so many ended ones, and lists them. */
  async #keys(keys: number): Promise<Record<string, number[]>> {
    this.ctx.storage.sql.exec(`${numbers(keys - 1)} INSERT INTO api_keys (name, rights, nonce_hash, created_at, revoked_at)
      SELECT 'key ' || n, 'write', zeroblob(32), 1, n FROM numbers`);
    const issue: number[] = [];
    const list: number[] = [];
    for (let n = 0; n < 100; n += 1) issue.push(await timed(() => this.issueKey(ADA, keyDraft(n))));
    for (let n = 0; n < 20; n += 1) {
      list.push(await timed(() => this.listKeys(ADA, { start: 0, limit: 1000 })));
      await scheduler.wait(PAUSE_MS);
    }
    return { "issue a key": issue, "list keys": list };
  }

  /** Lists full pages of so many groups. */
  async #list(groups: number): Promise<Record<string, number[]>> {
    this.ctx.storage.sql.exec(`${numbers(groups)} INSERT INTO user_groups
      (provided_id, name, nonce, generation, revision, created_at, updated_at, mapping, properties)
      SELECT 'group-' || n, 'Group ' || n, randomblob(16), randomblob(16), 1, 0, 0, '{"sales":"warehouse-7"}', '{"region":"eu"}'
      FROM numbers`);
    const times: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const query = n % 2 === 0 ? FIRST_PAGE : { ...FIRST_PAGE, prefix: "group-", state: "suspended" as const };
      times.push(await timed(() => this.list(ADA, query)));
      await scheduler.wait(PAUSE_MS);
    }
    return { "list groups": times };
  }

  /** Renames a group in a directory that reports to be full, and has so many events. */
  async #append(events: number): Promise<Record<string, number[]>> {
    const { sql } = this.ctx.storage;
    sql.exec(`INSERT INTO user_groups (provided_id, name, nonce, generation, revision, created_at, updated_at)
      VALUES ('acme', 'Acme', randomblob(16), randomblob(16), 1, 0, 0)`);
    sql.exec(`${numbers(events)} INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
      SELECT ${Date.now()}, 'user_group.updated', '{"kind":"operator","id":1,"name":"ada"}', 'bench', 1, 'acme', '{}' FROM numbers`);
    Object.defineProperty(sql, "databaseSize", { value: FULL_BYTES });
    const times: number[] = [];
    for (let n = 0; n < 1000; n += 1)
      times.push(
        await timed(() => this.updateByNumber(ADA, 1, { newProvidedId: `acme-${n % 2}` }, { isMergePatch: false })),
      );
    return { "change a group": times };
  }
}

export default {
  fetch: (request: Request, env: Env) => {
    const { pathname } = new URL(request.url);
    return pathname === "/health"
      ? new Response()
      : env.GROUP_DIRECTORY.getByName(pathname.split("/")[1] ?? "").fetch(request);
  },
} satisfies ExportedHandler<Env>;
