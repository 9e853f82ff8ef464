import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { text } from "node:stream/consumers";
import { PGlite } from "@electric-sql/pglite";
import { createRemoteJWKSet, type JWTVerifyGetKey } from "jose";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { queryAs } from "../../examples/embedding/row-level-security.ts";
import { poolOf } from "../../examples/product/pool.ts";
import { forgedSessions, mintSessions } from "../support/node/sessions.ts";
import { standIn } from "../support/node/stand-in.ts";
import { compiledVerifySession, hasJava, succeeds } from "../support/node/verify-session.ts";

const AUDIENCE = "verifiers/Customer";
/** An id that is not what it seems to be, in SQL, in JSON and in a terminal. */
const HOSTILE_ID = `o'hara", "sub": "acme é€\\`;

const inJava = compiledVerifySession();
afterAll(inJava.remove);

const VERIFIERS = [
  {
    name: "jose in Node",
    needs: "the package jose",
    command: [process.execPath, "examples/embedding/verify-jose.ts"],
    isThere: true,
  },
  {
    name: "PyJWT",
    needs: "python3 with PyJWT and cryptography",
    command: ["python3", "examples/embedding/verify_pyjwt.py"],
    isThere: succeeds("python3", "-c", "import jwt, cryptography"),
  },
  {
    name: "fast-jwt",
    needs: "the package fast-jwt",
    command: [process.execPath, "examples/consumers/verify-fast-jwt.ts"],
    isThere: true,
  },
  {
    name: "joserfc",
    needs: "python3 with joserfc",
    command: ["python3", "examples/consumers/verify_joserfc.py"],
    isThere: succeeds("python3", "-c", "import joserfc"),
  },
  {
    name: "java.security",
    needs: "a JDK, 17 or newer",
    command: inJava.command,
    isThere: hasJava,
  },
];

/** Serves public keys, as the service does at the path that is published. */
async function serveKeys() {
  let jwks = {};
  const { url, received } = await standIn(({ path }) => ({
    status: path === "/.well-known/jwks.json" ? 200 : 404,
    headers: { "Content-Type": "application/json", "Cache-Control": "max-age=300" },
    body: jwks,
  }));
  const mint = (session: Omit<Parameters<typeof mintSessions>[0][number], "issuer">): string => {
    const minted = mintSessions([{ issuer: url, ...session }]);
    jwks = minted.jwks;
    return minted.tokens[0] ?? "";
  };
  return { url, received, mint };
}

/** Runs a verifier on a token, without blocking this process, which serves the keys. */
async function verify([program = "", ...args]: string[], token: string, issuer: string, origin?: string) {
  const env = {
    ...process.env,
    SERVICE_URL: issuer,
    AUDIENCE,
    ...(origin !== undefined && { ORIGIN: origin }),
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
  };
  const child = spawn(program, args, { env });
  child.stdin.end(token);
  const [stdout, stderr, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on("close", resolve)),
  ]);
  return { stdout, stderr, status };
}

/** Maps with as many runs at a time as there are processors. */
async function inParallel<Item>(items: Item[], run: (item: Item) => Promise<[string, object]>) {
  const queue = [...items];
  const results: [string, object][] = [];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) results.push(await run(item));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return results;
}

describe.for(VERIFIERS)("$name", ({ name, command, needs, isThere }) => {
  const skipped = isThere ? "" : `, skipped: ${needs} is missing`;

  it.skipIf(!isThere)(`verifies sessions with nothing but the public keys${skipped}`, async ({ expect }) => {
    const { url, received, mint } = await serveKeys();
    for (const claims of [
      { providedId: "initech", teamId: 12, viewerId: "jane" },
      { providedId: "initech", teamId: 4_000_000_000 },
      { providedId: HOSTILE_ID, teamId: 1, viewerId: HOSTILE_ID },
    ]) {
      const { stdout, stderr, status } = await verify(command, mint(claims), url);
      expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
      expect(JSON.parse(stdout)).toEqual({ team_id: claims.teamId, viewer: claims.viewerId ?? null });
    }
    expect(new Set(received.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(["GET /.well-known/jwks.json"]),
    );
  });

  it.skipIf(!isThere)(`names the same group after its id went to another one${skipped}`, async ({ expect }) => {
    const { url, operatorToken } = inject("service");
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    const environment = { workspace: "verifiers", environment: "Customer" } as const;
    const groups = new UserGroupClient({ url, apiKey: (await operator.issueKey({ ...environment, name })).key });
    const { group } = await groups.ensure({ userGroupId: HOSTILE_ID });
    const { token } = await groups.mintSession({ userGroupId: HOSTILE_ID, viewerId: "jane", includeVariables: true });
    await groups.update({ userGroupId: HOSTILE_ID, newUserGroupId: `renamed ${group.teamId}` });
    const { group: other } = await groups.ensure({ userGroupId: HOSTILE_ID });
    expect(other.teamId).not.toBe(group.teamId);
    const { stdout, stderr } = await verify(command, token, url);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({ team_id: group.teamId, viewer: "jane" });
  });

  it.skipIf(!isThere)(`accepts a session from the pages of its origins alone${skipped}`, async ({ expect }) => {
    const { url, mint } = await serveKeys();
    const anywhere = mint({ providedId: "initech" });
    const limited = mint({ providedId: "initech", origins: ["https://app.example", "https://other.example"] });
    for (const [session, origin, status] of [
      [anywhere, "https://thief.example", 0],
      [limited, undefined, 0],
      [limited, "https://other.example", 0],
      [limited, "https://thief.example", 1],
      [limited, "null", 1],
    ] as const) {
      const outcome = await verify(command, session, url, origin);
      expect(outcome, origin).toMatchObject({
        status,
        stderr: status === 0 ? "" : expect.stringContaining("The session is for pages of other origins."),
      });
    }
  });

  it.skipIf(!isThere)(`refuses every text that is no session of this environment${skipped}`, async ({ expect }) => {
    const { url, mint } = await serveKeys();
    const { valid, wrong } = forgedSessions(url, 4);
    const texts = {
      ...wrong,
      "an expired session": mint({ providedId: "initech", expiresInSeconds: -1 }),
      "a session of another workspace": mint({ providedId: "initech", workspace: "other" }),
    };
    expect(await verify(command, valid, url)).toMatchObject({ stderr: "", status: 0 });

    const outcomes = await inParallel(Object.entries(texts), async ([what, forged]) => {
      const { stdout, stderr, status } = await verify(command, forged, url);
      const shows = forged.length > 20 && (stdout + stderr).includes(forged.slice(-20));
      return [what, { stdout, status, shows, isExplained: stderr !== "" && !stderr.includes("    at ") }];
    });
    const refused = { stdout: "", status: 1, shows: false, isExplained: true };
    expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(Object.keys(texts).map((what) => [what, refused])));
  });
});

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
  ] as const)("shows customer %j their own rows alone", async ([teamId, own], { expect }) => {
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

  it("lets nobody write, and counts the rows of nobody else", async ({ expect }) => {
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

  it("ends with the query, also with one that fails", async ({ expect }) => {
    const { query } = await asCustomer({ teamId: 1, providedId: "a" });
    const visible = async () => {
      await postgres.query("SET ROLE dashboard");
      const { rows } = await postgres.query("SELECT amount FROM orders");
      await postgres.query("RESET ROLE");
      return rows;
    };
    expect(await visible()).toEqual([]);
    await query("SELECT amount FROM orders");
    expect(await visible()).toEqual([]);
    await expect(query("SELECT 1 / 0 FROM orders")).rejects.toThrow(/division by zero/);
    expect(await visible()).toEqual([]);
    expect((await postgres.query("SELECT current_user::text AS role")).rows).toEqual([{ role: "backend" }]);
  });

  it("shows no row to the backend's role or the table's owner without a session", async ({ expect }) => {
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
  ] as const)("refuses %s before any query", async ([, claims, reason], { expect }) => {
    const { query } = await asCustomer(claims);
    await expect(query("SELECT amount FROM orders")).rejects.toThrow(reason);
  });

  it("refuses a page of another origin before any query", async ({ expect }) => {
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

  it("refuses every text that is no session", async ({ expect }) => {
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

it.for([
  ["embedding.md", "sign-up.ts"],
  ["embedding.md", "backend.ts"],
  ["verifying.md", "row-level-security.sql"],
  ["verifying.md", "bound_query.py"],
  ["verifying.md", "customer-databases.ts"],
] as const)("docs/integrators/%s shows %s as it is", ([page, file], { expect }) => {
  expect(readFileSync(`docs/integrators/${page}`, "utf8")).toContain(
    `\n${readFileSync(`examples/embedding/${file}`, "utf8")}\`\`\`\n`,
  );
});

it("runs every file of examples/embedding", ({ expect }) => {
  expect(readdirSync("examples/embedding").toSorted()).toEqual([
    "VerifySession.java",
    "backend.ts",
    "bound-query.ts",
    "bound_query.py",
    "customer-databases.ts",
    "orders.py",
    "orders.ts",
    "page.html",
    "requirements.txt",
    "row-level-security.sql",
    "row-level-security.ts",
    "session_endpoints.py",
    "sign-up.ts",
    "verify-jose.ts",
    "verify_pyjwt.py",
  ]);
});
