import { readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Pool, type PoolClient, withSession } from "../../client/src/postgres.ts";
import { hasPostgres, type Postgres, startPostgres } from "../support/node/postgres.ts";

const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";

const audience = "acme/Customer";
const sessionOf = (teamId: number, more: object = {}) => ({ claims: { aud: audience, team_id: teamId, ...more } });

/** A pool that nobody may take a connection from. */
const CLOSED: Pool = {
  connect: () => {
    throw new Error("A connection was taken.");
  },
};

describe("withSession", () => {
  it.for([
    ["another environment", sessionOf(1, { aud: "acme/Testing" }), {}, /environment "acme\/Testing".*"acme\/Customer"/],
    ["no environment", { claims: { team_id: 1 } }, {}, /This session is of the environment/],
    ["U+0000 in a claim", sessionOf(1, { viewer_properties: { a: ["x\0"] } }), {}, /contains U\+0000/],
    ["half a character", sessionOf(1, { viewer_id: "\ud800" }), {}, /half a character/],
    ["a role with SQL in it", sessionOf(1), { role: "dashboard; RESET ROLE" }, /role must be the name of a role/],
    ["no role", sessionOf(1), { role: "none" }, /role must be the name of a role/],
    ["a setting of PostgreSQL", sessionOf(1), { setting: "search_path" }, /setting must be the name of a setting/],
  ] as const)("refuses %s before it takes a connection", async ([, session, options, message]) => {
    await expect(withSession(CLOSED, session, () => 1, { audience, ...options })).rejects.toThrow(message);
  });

  it("gives a connection back once, and destroys one whose transaction may be open", async () => {
    const outcomesOf = async (failing: string) => {
      const released: unknown[] = [];
      const client: PoolClient = {
        query: async (sql) => {
          if (sql.startsWith(failing)) throw new Error(`lost in ${sql}`);
          return { rows: [] };
        },
        release: (destroy) => released.push(destroy),
      };
      const error = await withSession({ connect: async () => client }, sessionOf(1), (each) => each.query("SELECT 1"), {
        audience,
      }).catch(String);
      return [released, typeof error === "string" ? error : "done"];
    };
    expect(await outcomesOf("nothing")).toEqual([[undefined], "done"]);
    expect(await outcomesOf("SELECT 1")).toEqual([[undefined], "Error: lost in SELECT 1"]);
    expect(await outcomesOf("COMMIT")).toEqual([[undefined], "Error: lost in COMMIT"]);
    // ROLLBACK fails, too.
    expect(await outcomesOf("")).toEqual([[true], "Error: lost in BEGIN"]);
  });
});

describe.skipIf(!hasPostgres)(`withSession on a server${skipped}`, () => {
  let postgres: Postgres;
  let pool: pg.Pool;
  beforeAll(async () => {
    postgres = await startPostgres();
    await postgres.run(readFileSync("examples/embedding/row-level-security.sql", "utf8"));
    await postgres.run(
      "INSERT INTO orders (customer, amount) VALUES (1, 10), (2, 20); GRANT INSERT ON orders TO dashboard",
    );
    await postgres.run(
      "CREATE POLICY new_orders ON orders FOR INSERT TO dashboard WITH CHECK (customer = session_claim('team_id')::bigint)",
    );
    pool = new pg.Pool({ connectionString: postgres.url("backend"), max: 2 });
  });
  afterAll(async () => {
    await pool?.end();
    await postgres?.stop();
  });

  const AMOUNTS = "SELECT amount FROM orders ORDER BY amount";
  const amounts = (client: pg.PoolClient) => client.query(AMOUNTS).then(({ rows }) => rows.map(({ amount }) => amount));
  const as = <T>(teamId: number, work: (client: pg.PoolClient) => Promise<T>) =>
    withSession(pool, sessionOf(teamId), work, { audience });
  /** Role and claims of each connection that the pool has. */
  const left = async () => {
    const clients = await Promise.all([pool.connect(), pool.connect()]);
    const states = await Promise.all(
      clients.map((client) =>
        client.query(
          "SELECT current_user AS role, coalesce(current_setting('viewer_session.claims', true), '') AS claims",
        ),
      ),
    );
    for (const client of clients) client.release();
    return states.map(({ rows }) => rows[0]);
  };
  const CLEAN = [
    { role: "backend", claims: "" },
    { role: "backend", claims: "" },
  ];

  it("shows each customer their own rows, and leaves nothing", async () => {
    expect(await Promise.all([1, 2, 3].map((teamId) => as(teamId, amounts)))).toEqual([[10], [20], []]);
    expect(await left()).toEqual(CLEAN);
  });

  it("rolls back if the work fails, and leaves nothing", async () => {
    const add = async (client: pg.PoolClient) => {
      await client.query("INSERT INTO orders (customer, amount) VALUES (1, 11)");
      throw new Error("changed my mind");
    };
    await expect(as(1, add)).rejects.toThrow("changed my mind");
    await expect(as(1, (client) => client.query("SELECT 1 / 0"))).rejects.toThrow("division by zero");
    expect(await as(1, amounts)).toEqual([10]);
    expect(await left()).toEqual(CLEAN);
  });

  it("says so if PostgreSQL has rolled back what the work took for done", async () => {
    const careless = (client: pg.PoolClient) => client.query("SELECT 1 / 0").catch(() => "fine");
    await expect(as(1, careless)).rejects.toThrow("PostgreSQL rolled the transaction back");
    expect(await left()).toEqual(CLEAN);
  });

  it("destroys a connection that is lost, and the process goes on", async () => {
    const lost = as(1, async (client) => {
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      await postgres.run(`SELECT pg_terminate_backend(${rows[0].pid})`);
      return amounts(client);
    });
    await expect(lost).rejects.toThrow();
    expect(await as(2, amounts)).toEqual([20]);
    expect(await left()).toEqual(CLEAN);
  });

  it("gives a nested call a connection and a customer of its own", async () => {
    const nested = await as(1, async (client) => [
      await amounts(client),
      await as(2, amounts),
      await withSession(pool, sessionOf(2, { aud: "other/Customer" }), amounts, { audience }).catch(
        ({ message }) => message,
      ),
      await amounts(client),
    ]);
    expect(nested).toEqual([[10], [20], expect.stringContaining("other/Customer"), [10]]);
    expect(await left()).toEqual(CLEAN);
  });

  it("refuses work that goes on after its transaction", async () => {
    let kept: pg.PoolClient | undefined;
    await as(1, async (client) => {
      kept = client;
      expect(() => client.release()).toThrow("withSession releases the connection itself.");
    });
    await as(2, async () => {
      expect(() => kept?.query(AMOUNTS)).toThrow("The transaction of this session has ended.");
    });
  });

  it("sets the claims where PostgREST's policies read them", async () => {
    const options = { audience, role: "dashboard", setting: "request.jwt.claims" };
    const read = (client: pg.PoolClient) =>
      client.query("SELECT current_user AS role, current_setting('request.jwt.claims')::json ->> 'team_id' AS team");
    const { rows } = await withSession(pool, sessionOf(7), read, options);
    expect(rows).toEqual([{ role: "dashboard", team: "7" }]);
  });
});
