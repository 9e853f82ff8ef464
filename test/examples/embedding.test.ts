import { readdirSync, readFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { createRemoteJWKSet, type JWTVerifyGetKey } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queryAs } from "../../examples/embedding/row-level-security.ts";
import { poolOf } from "../../examples/product/pool.ts";
import { forgedSessions } from "../support/node/sessions.ts";
import { AUDIENCE, HOSTILE_ID, serveKeys, testVerifiers } from "../support/node/verifiers.ts";

testVerifiers([
  {
    name: "jose in Node",
    needs: "the package jose",
    command: [process.execPath, "examples/embedding/verify-jose.ts"],
    isThere: true,
  },
]);

describe("row-level security", () => {
  let postgres: PGlite;
  beforeAll(async () => {
    postgres = new PGlite();
    await postgres.exec(
      readFileSync("examples/embedding/row-level-security.sql", "utf8").replaceAll("acme/Customer", AUDIENCE),
    );
    const rows = [
      [1, 1],
      [1, 2],
      [2, 10],
      [3, 100],
    ];
    for (const row of rows) await postgres.query("INSERT INTO orders (customer, amount) VALUES ($1, $2)", row);
    await postgres.exec("SET SESSION AUTHORIZATION backend");
  });
  afterAll(() => postgres.close());

  /** Queries as the customer of a session. */
  const asCustomer = async (claims: Parameters<Awaited<ReturnType<typeof serveKeys>>["mint"]>[0]) => {
    const { url, mint } = await serveKeys();
    const session = mint(claims);
    const keys: JWTVerifyGetKey = createRemoteJWKSet(new URL("/.well-known/jwks.json", url));
    const verification = { keys, issuer: url, audience: AUDIENCE, origin: undefined };
    return {
      session,
      url,
      verification,
      query: (sql: string, params: unknown[] = []) => queryAs(poolOf(postgres), session, verification, { sql, params }),
    };
  };
  const amounts = (rows: unknown[]) => rows.map((row) => Object(row).amount);

  it.for([
    [1, [1, 2]],
    [2, [10]],
    [3, [100]],
    [4, []],
  ] as const)("shows customer %j their own rows alone", async ([teamId, own]) => {
    // The id of another customer, or one that is not what it seems to be, makes no difference.
    const { query } = await asCustomer({ teamId, providedId: teamId === 3 ? HOSTILE_ID : "2" });
    expect(amounts(await query("SELECT amount FROM orders ORDER BY id"))).toEqual(own);
    for (const attempt of [
      "SELECT amount FROM orders WHERE customer = 2 OR true ORDER BY id",
      "SELECT amount FROM orders UNION SELECT amount FROM orders ORDER BY amount",
      "SELECT amount FROM (TABLE orders) AS everything ORDER BY id",
    ])
      expect(amounts(await query(attempt))).toEqual(own);
    expect(amounts(await query("SELECT amount FROM orders WHERE customer = $1", [2]))).toEqual(
      teamId === 2 ? [10] : [],
    );
  });

  it("lets nobody write, and counts the rows of nobody else", async () => {
    const { query } = await asCustomer({ teamId: 1, providedId: "a" });
    expect(await query("SELECT count(*)::int AS amount FROM orders")).toEqual([{ amount: 2 }]);
    for (const write of [
      "UPDATE orders SET amount = 0",
      "DELETE FROM orders",
      "INSERT INTO orders (customer) VALUES (1)",
    ])
      await expect(query(write)).rejects.toThrow(/permission denied/);
    expect(amounts(await query("SELECT amount FROM orders ORDER BY id"))).toEqual([1, 2]);
  });

  it("shows no row to the backend's role or the table's owner without a session", async () => {
    await expect(postgres.query("SELECT amount FROM orders")).rejects.toThrow(/permission denied/);
    await postgres.exec(
      "SET SESSION AUTHORIZATION postgres; CREATE ROLE owner; ALTER TABLE orders OWNER TO owner; SET ROLE owner",
    );
    const { rows } = await postgres.query("SELECT amount FROM orders");
    await postgres.exec("RESET ROLE; ALTER TABLE orders OWNER TO postgres; SET SESSION AUTHORIZATION backend");
    expect(rows).toEqual([]);
  });

  it.for([
    ["an expired session", { providedId: "a", expiresInSeconds: -1 }, /"exp"/],
    ["a customer of the same id in another workspace", { providedId: "a", workspace: "other" }, /"aud"/],
  ] as const)("refuses %s before any query", async ([, claims, reason]) => {
    const { query } = await asCustomer(claims);
    await expect(query("SELECT amount FROM orders")).rejects.toThrow(reason);
  });

  it("refuses a page of another origin before any query", async () => {
    const { session, verification } = await asCustomer({
      teamId: 1,
      providedId: "a",
      origins: ["https://app.example"],
    });
    const query = { sql: "SELECT amount FROM orders WHERE id = 1" };
    expect(
      await queryAs(poolOf(postgres), session, { ...verification, origin: "https://app.example" }, query),
    ).toHaveLength(1);
    for (const origin of ["https://thief.example", "null"])
      await expect(queryAs(poolOf(postgres), session, { ...verification, origin }, query)).rejects.toThrow(
        "other origins",
      );
  });

  it("refuses every text that is no session", async () => {
    const { url, verification } = await asCustomer({ teamId: 1, providedId: "a" });
    const { valid, wrong } = forgedSessions(url, 1);
    expect(
      await queryAs(poolOf(postgres), valid, verification, { sql: "SELECT amount FROM orders WHERE id = 1" }),
    ).toHaveLength(1);
    for (const [what, forged] of Object.entries(wrong))
      await expect(
        queryAs(poolOf(postgres), forged, verification, { sql: "SELECT amount FROM orders" }),
        what,
      ).rejects.toThrow();
  });
});

it("docs/integrators/verifying.md shows row-level-security.sql as it is", () => {
  const recipe = readFileSync("examples/embedding/row-level-security.sql", "utf8");
  expect(readFileSync("docs/integrators/verifying.md", "utf8")).toContain(`\n${recipe}\`\`\`\n`);
});

it("runs every file of examples/embedding", () => {
  expect(readdirSync("examples/embedding").toSorted()).toEqual([
    "VerifySession.java",
    "backend.ts",
    "bound-query.ts",
    "customer-databases.ts",
    "orders.py",
    "orders.ts",
    "page.html",
    "row-level-security.sql",
    "row-level-security.ts",
    "sign-up.ts",
    "verify-jose.ts",
  ]);
});
