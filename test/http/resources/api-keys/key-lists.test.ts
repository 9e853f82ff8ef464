import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { KEYS_PER_ENVIRONMENT_MAX } from "../../../../common/limits.ts";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { byNumber } from "../../../support/by-number.ts";
import { call, codeOf, pagesOf } from "../../../support/client.ts";
import { countRows } from "../../../support/rows.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory, inRegistry, insertGroups } from "../../../support/storage.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");
const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);

/** The lists: their path with a first field of the query, the field of their items, and a table with a thousand rows. */
const LISTS = [
  {
    name: "API keys",
    path: `/api/keys${inEnvironment()}&`,
    field: "api_keys",
    rowsOf: () => countRows(directory()),
    fill: async () => {
      await issueKey();
      await inDirectory(({ sql }) => fill(sql, "api_keys"));
    },
  },
  {
    name: "operators",
    path: "/api/operators?",
    field: "operators",
    rowsOf: () => countRows(registry()),
    fill: async () => {
      await issueOperator("viewer");
      await inRegistry(({ sql }) => fill(sql, "operators"));
    },
  },
  {
    name: "environments",
    path: "/api/environments?",
    field: "environments",
    rowsOf: () => countRows(registry()),
    fill: async () => {
      await issueKey({ workspace: "w-1" });
      await inRegistry(({ sql }) =>
        sql.exec(
          `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO environments (id, name, created_at) SELECT i, 'w-' || i || '/Testing', 1 FROM n`,
          KEYS_PER_ENVIRONMENT_MAX,
        ),
      );
    },
  },
] as const;

/** The number of an item; that of an environment is in its name. */
const numberOf = ({ id, workspace }: { id?: number; workspace?: string }) =>
  id ?? Number(workspace?.slice("w-".length));

const fill = (sql: SqlStorage, table: string) =>
  sql.exec(
    `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO ${table} (id, name, rights, nonce_hash, created_at) SELECT i, 'key ' || i, 'viewer', x'00', 1 FROM n`,
    KEYS_PER_ENVIRONMENT_MAX,
  );

describe.for(LISTS)("the list of $name", ({ path, field, rowsOf, fill: fillTable }) => {
  const get = (query: string) => call("GET", path + query, { credential: operator });

  it("has pages, 100 unless asked otherwise, oldest first, each of them once", async () => {
    await fillTable();
    const first = (await get("")).body;
    expect(first[field]).toHaveLength(100);
    expect((await get("limit=1000")).body).toMatchObject({ next_cursor: null });
    const pages = await pagesOf((cursor) => get(`limit=300&${new URLSearchParams(cursor)}`));
    expect(pages.flatMap(({ body }) => body[field].map(numberOf))).toEqual(
      Array.from({ length: KEYS_PER_ENVIRONMENT_MAX }, (_, index) => index + 1),
    );
  });

  it("reads one row more than its limit", async () => {
    await fillTable();
    const rows = await rowsOf();
    await get("limit=10");
    const statements = rows.statements.filter(({ sql }) => sql.includes("ORDER BY id LIMIT"));
    expect(statements.map(({ read }) => read)).toEqual([11]);
  });

  it.for(["limit=0", "limit=1001", "limit=x", "cursor=x", "name=x", "limit=1&limit=2"])(
    "refuses %s with 422",
    async (query) => {
      await fillTable();
      expect(codeOf(await get(query))).toEqual([422, "invalid_body"]);
    },
  );
});

describe("an operator who is revoked while a list waits for its turn", () => {
  /** An environment where a full page has just been read, and another list waits. `resume` ends the pause between them. */
  async function newPause() {
    const { key } = await newIntegrator();
    await inDirectory(({ sql }) => fill(sql, "api_keys"));
    await insertGroups(1000);
    let isPaused = true;
    const wait = scheduler.wait.bind(scheduler);
    // Each round lets other work run, as the pause itself would.
    vi.spyOn(scheduler, "wait").mockImplementation(async () => {
      do await wait(0);
      while (isPaused);
    });
    await byNumber(key).list({ limit: "1000" });
    const { watched, costs } = watchedEnv();
    const other = call("GET", "/api/user_groups", { credential: key, env: watched });
    await vi.waitUntil(() => costs.rpcs.includes("list"), { interval: 1 });
    return async () => {
      isPaused = false;
      await other;
    };
  }

  it.for([
    [`/api/user_groups${inEnvironment()}`, "list"],
    [`/api/events${inEnvironment()}`, "listEvents"],
    [`/api/keys${inEnvironment()}`, "listKeys"],
  ] as const)("gets 401: %s", async ([path, rpc]) => {
    const resume = await newPause();
    const credential = await issueOperator("viewer");
    const { watched, costs } = watchedEnv();
    const listed = call("GET", path, { credential, env: watched });
    await vi.waitUntil(() => costs.rpcs.includes(rpc), { interval: 1 });
    expect((await call("DELETE", "/api/operators/1", { credential: operator })).status).toBe(200);
    await resume();
    expect(codeOf(await listed)).toEqual([401, "credential_revoked"]);
    expect(costs.rpcs).toEqual(["registry.admit", rpc, "registry.admit"]);
  });

  it("is admitted once more only for a list that has waited", async () => {
    const resume = await newPause();
    await resume();
    const credential = await issueOperator("viewer");
    const { watched, costs } = watchedEnv();
    const list = () => call("GET", `/api/user_groups${inEnvironment()}&limit=5`, { credential, env: watched });
    await list();
    costs.rpcs.length = 0;
    for (const _ of [1, 2, 3]) expect((await list()).status).toBe(200);
    expect(costs.rpcs).toEqual(["registry.admit", "list", "registry.admit", "list", "registry.admit", "list"]);
  });
});
