import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { createRemoteJWKSet } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { UserGroupClient } from "../../client/src/index.ts";
import { queryAs } from "../../examples/embedding/row-level-security.ts";
import { poolOf } from "../../examples/product/pool.ts";
import { hasChromium, skippedWithoutChromium } from "../../tools/browser.ts";
import {
  AUDIENCE,
  askForSession,
  bars,
  groups,
  mintingKey,
  newMintingKey,
  openPage,
  operator,
  project,
  startBackend,
  status,
  WORKSPACE,
  writerKey,
} from "../support/node/embedding-site.ts";
import { freePort } from "../support/node/free-port.ts";
import { listen } from "../support/node/kit-servers.ts";

/** The recipes of embedding with the service itself, in a project with the package of the client, as integrators have it. */

const { url } = inject("service");
/** Runs the recipe of a sign-up. Returns the number of the customer's group. */
async function signUp(customer: string): Promise<number> {
  const env = { ...process.env, SERVICE_URL: url, API_KEY: writerKey, CUSTOMER: customer };
  const { stdout } = await promisify(execFile)(process.execPath, ["sign-up.ts"], { cwd: project, env });
  return JSON.parse(stdout).team_id;
}

describe("the backend of a page", () => {
  it("says that a suspended customer is suspended, and logs nothing", async () => {
    await groups.ensure({ userGroupId: "overdue" });
    await groups.suspend({ userGroupId: "overdue" });
    const { address, log } = await startBackend("overdue");
    expect(await askForSession(address)).toMatchObject({
      status: 403,
      cached: "no-store",
      body: { error: { code: "user_group_suspended", message: expect.stringMatching(/suspended/) } },
    });
    expect(log()).toBe("");
  });

  it("does not create a deleted customer again at a sign-in, so a restore works", async () => {
    const teamId = await signUp("gone");
    expect(await signUp("gone")).toBe(teamId);
    const { address, log } = await startBackend("gone");
    expect((await askForSession(address)).status).toBe(200);
    await groups.removeByNumber({ teamId });
    expect(await askForSession(address)).toMatchObject({
      status: 404,
      body: { error: { code: "user_group_not_found" } },
    });
    expect(log()).toBe("");
    expect(await groups.restore({ teamId })).toMatchObject({ userGroupId: "gone" });
    expect((await askForSession(address)).status).toBe(200);
  });

  it("asks a person who is signed out to sign in", async () => {
    const { address, log } = await startBackend("");
    expect(await askForSession(address)).toMatchObject({ status: 401, body: { error: { code: "signed_out" } } });
    expect(log()).toBe("");
  });

  it("does not ask people to sign in when its own API key is revoked", async () => {
    await groups.ensure({ userGroupId: "key gone" });
    const own = await newMintingKey();
    await operator.revokeKey({ ...WORKSPACE, id: own.id });
    const { address, log } = await startBackend("key gone", { apiKey: own.key });
    const { status, body } = await askForSession(address);
    // A page does not retry a 500: only a person can repair this.
    expect(status).toBe(500);
    expect(body).toMatchObject({ error: { code: "service_unavailable" } });
    expect(JSON.stringify(body)).not.toMatch(/key|credential|sign in/i);
    expect(log().trim().split("\n")).toEqual([
      expect.stringMatching(/^No session for "key gone": credential_revoked: /),
    ]);
    expect(log()).not.toContain(own.key);
  });

  it("reports a service that is down in one line without a stack trace", async () => {
    const { address, log } = await startBackend("acme", { serviceUrl: `http://localhost:${await freePort()}` });
    expect(await askForSession(address)).toMatchObject({
      status: 503,
      body: { error: { code: "service_unavailable" } },
    });
    expect(log().trim().split("\n")).toEqual([expect.stringMatching(/^No session for "acme": network_error: /)]);
  });
});

describe("a page with a chart", () => {
  it.skipIf(!hasChromium)(
    `draws the customer's data with a session and no other credential${skippedWithoutChromium}`,
    async () => {
      const { group } = await groups.ensure({
        userGroupId: "chart",
        name: "Chart & Co",
        properties: { orders: [3, 6, 12] },
      });
      const { page, sent, answered } = await openPage((await startBackend("chart")).address);
      await status(page, "Chart & Co");
      expect(await bars(page)).toEqual([12.5, 25, 50]);
      expect(answered).toEqual(["GET / 200", "GET /viewer.js 200", "POST /session 200", "GET /api/viewer 200"]);
      expect(sent.at(-1)?.credential).toMatch(/^Token eyJ/);
      const seen = (await page.content()) + JSON.stringify(sent);
      expect([group.token ?? "", mintingKey.key].filter((secret) => seen.includes(secret))).toEqual([]);

      await groups.update({ userGroupId: "chart", properties: { orders: [1] } });
      await page.clock.fastForward("01:00");
      await page.waitForFunction("document.querySelectorAll('rect').length === 1");
    },
  );

  it.skipIf(!hasChromium)(
    `goes on after 80 % of its session, and after its token was rotated${skippedWithoutChromium}`,
    async () => {
      const { group } = await groups.ensure({ userGroupId: "renewal", name: "Renewal", properties: { orders: [1] } });
      const { page, count } = await openPage((await startBackend("renewal")).address);
      await status(page, "Renewal");
      await page.clock.fastForward("03:59");
      await expect.poll(() => count("GET /api/viewer 200")).toBeGreaterThanOrEqual(2);
      expect(count("POST /session 200")).toBe(1);

      await page.clock.fastForward("01:00");
      await expect.poll(() => count("POST /session 200")).toBe(2);
      expect(count("GET /api/viewer 401")).toBe(0);

      await groups.rotateToken({ currentToken: group.token });
      const views = count("GET /api/viewer 200");
      await page.clock.fastForward("01:00");
      // A view from before the rotation may be answered only now.
      await expect.poll(() => count("GET /api/viewer 401")).toBe(1);
      await expect.poll(() => count("POST /session 200")).toBe(3);
      await expect.poll(() => count("GET /api/viewer 200")).toBeGreaterThan(views);
      await status(page, "Renewal");
    },
  );
});

/** The tests share it, because its start takes longer than they do. */
const postgres = new PGlite();
afterAll(() => postgres.close());

describe("a session of the service", () => {
  beforeAll(async () => {
    await postgres.exec(
      readFileSync("examples/embedding/row-level-security.sql", "utf8").replaceAll("acme/Customer", AUDIENCE),
    );
  });
  // In PGlite, RESET leaves the role as it is.
  afterEach(() => postgres.exec("SET SESSION AUTHORIZATION postgres"));

  it("is verified offline, and selects rows in PostgreSQL", async () => {
    const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", url));
    const apiKey = mintingKey.key;
    const [a, b] = [await groups.ensure({ userGroupId: "row a" }), await groups.ensure({ userGroupId: "row b" })];
    const rows = [a.group, b.group].map(({ teamId }) => `(${teamId}, ${teamId * 10})`);
    await postgres.exec(`INSERT INTO orders (customer, amount) VALUES ${rows.join()}`);
    await postgres.exec("SET SESSION AUTHORIZATION backend");
    for (const { teamId, userGroupId } of [a.group, b.group]) {
      const { token } = await new UserGroupClient({ url, apiKey }).mintSession({ userGroupId });
      const verification = { keys, issuer: url, audience: "embedding/Customer", origin: undefined };
      expect(await queryAs(poolOf(postgres), token, verification, { sql: "SELECT amount FROM orders" })).toEqual([
        { amount: teamId * 10 },
      ]);
      await expect(
        queryAs(poolOf(postgres), token, { ...verification, audience: "embedding/Testing" }, { sql: "SELECT 1" }),
      ).rejects.toThrow(/"aud"/);
    }
  });

  it("selects the rows of one person by viewer_properties, and none without them", async () => {
    const [policy = ""] =
      /CREATE POLICY own_store[\s\S]*?;/.exec(readFileSync("docs/integrators/verifying.md", "utf8")) ?? [];
    const { group } = await groups.ensure({ userGroupId: "rows of persons" });
    await postgres.exec(`ALTER TABLE orders ADD store int; ${policy}`);
    await postgres.exec(
      `INSERT INTO orders (customer, amount, store) VALUES (${group.teamId}, 1, 1), (${group.teamId}, 2, 2), (${group.teamId}, 3, NULL)`,
    );
    await postgres.exec("SET SESSION AUTHORIZATION backend");
    const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", url));
    const amountsOf = async (viewer: { viewerProperties?: object }) => {
      const client = new UserGroupClient({ url, apiKey: mintingKey.key });
      const { token } = await client.mintSession({ userGroupId: "rows of persons", ...viewer });
      const verification = { keys, issuer: url, audience: "embedding/Customer", origin: undefined };
      const rows = await queryAs(poolOf(postgres), token, verification, { sql: "SELECT amount FROM orders" });
      return rows.map((row) => (row as { amount: number }).amount);
    };
    expect(await amountsOf({ viewerProperties: { store: 2 } })).toEqual([2]);
    expect(await amountsOf({ viewerProperties: { shop: 2 } })).toEqual([]);
    expect(await amountsOf({})).toEqual([]);
    expect(await amountsOf({ viewerProperties: { store: null } })).toEqual([]);
  });
});

describe("reports", () => {
  const ORDERS = [
    ["report a", "eu", 1],
    ["report a", "us", 2],
    ["report a", "us", 3],
    ["report b", "eu", 10],
  ] as const;

  beforeAll(async () => {
    await postgres.exec("DROP TABLE IF EXISTS orders; CREATE TABLE orders (customer text, region text, amount int)");
    for (const order of ORDERS) await postgres.query("INSERT INTO orders VALUES ($1, $2, $3)", [...order]);
  });

  /** Asks the recipe for a report, as a page does. */
  async function startReports() {
    const { reports } = await import(join(project, "bound-query.ts"));
    const app = reports({ serviceUrl: url, audience: AUDIENCE, database: postgres });
    return async (
      session: string | undefined,
      { name = "orders", origin }: { name?: string; origin?: string } = {},
    ): Promise<{ status: number; body: unknown; readableBy: string | null }> => {
      const headers = {
        ...(session !== undefined && { Authorization: `Bearer ${session}` }),
        ...(origin !== undefined && { Origin: origin }),
      };
      const response = await app.request(`/reports/${name}`, { headers });
      const readableBy = response.headers.get("Access-Control-Allow-Origin");
      return { status: response.status, body: await response.json(), readableBy };
    };
  }
  const mint = async (userGroupId: string, origins?: string[]) =>
    (
      await new UserGroupClient({ url, apiKey: mintingKey.key }).mintSession({
        userGroupId,
        ...(origins && { origins }),
      })
    ).token;

  it("show each customer their own rows, and those of their regions", async () => {
    const report = await startReports();
    await groups.ensure({ userGroupId: "report a" });
    await groups.ensure({ userGroupId: "report b" });
    const session = await mint("report a");
    expect(await report(session)).toMatchObject({
      status: 200,
      body: {
        rows: [
          { region: "eu", amount: 1 },
          { region: "us", amount: 5 },
        ],
      },
    });
    expect((await report(await mint("report b"))).body).toEqual({ rows: [{ region: "eu", amount: 10 }] });

    await groups.update({ userGroupId: "report a", properties: { regions: ["us"] } });
    expect((await report(session)).body).toEqual({ rows: [{ region: "us", amount: 5 }] });
  });

  it("are filtered by what the page chooses, within the rows of its customer", async () => {
    const report = await startReports();
    await groups.ensure({ userGroupId: "report a", properties: { regions: ["us"] } });
    const session = await mint("report a");
    expect((await report(session, { name: "orders?region=us" })).body).toEqual({ rows: [{ region: "us", amount: 5 }] });
    for (const region of ["eu", "' OR true --", ""])
      expect((await report(session, { name: `orders?region=${encodeURIComponent(region)}` })).body).toEqual({
        rows: [],
      });
  });

  it("refuse a viewer without a valid session, also right after a rotation", async () => {
    const report = await startReports();
    const { group } = await groups.ensure({ userGroupId: "report c" });
    const session = await mint("report c");
    expect((await report(session)).status).toBe(200);
    await groups.rotateToken({ currentToken: group.token });
    expect((await report(session)).status).toBe(401);
    for (const wrong of [undefined, "eyJ.x.y", mintingKey.key]) expect((await report(wrong)).status).toBe(401);
    expect((await report(await mint("report c"), { name: "salaries" })).status).toBe(404);
  });

  it("refuse a page of another origin, whose script can read why", async () => {
    const report = await startReports();
    await groups.ensure({ userGroupId: "report d" });
    const session = await mint("report d", ["https://app.example"]);
    for (const origin of [undefined, "https://app.example"])
      expect(await report(session, origin === undefined ? {} : { origin })).toMatchObject({ status: 200 });
    for (const origin of ["https://thief.example", "null"])
      expect(await report(session, { origin })).toMatchObject({ status: 403, readableBy: "*" });
  });

  it.skipIf(!hasChromium)(`reach a page that presents its current session${skippedWithoutChromium}`, async () => {
    await groups.ensure({ userGroupId: "report a" });
    const { address } = await startBackend("report a");
    const { reports } = await import(join(project, "bound-query.ts"));
    const database = { query: async (_sql: string, params: unknown[]) => ({ rows: params }) };
    const api = await listen(reports({ serviceUrl: url, audience: AUDIENCE, database }).fetch);
    const { page } = await openPage(address);
    const rows = await page.evaluate(`(async () => {
        const { ViewerClient } = await import("/viewer.js");
        const session = () => fetch("/session", { method: "POST" }).then((response) => response.json());
        const { token } = await new ViewerClient({ url: "${url}", session }).session();
        const response = await fetch("${api}/reports/orders", { headers: { Authorization: "Bearer " + token } });
        return (await response.json()).rows;
      })()`);
    expect(rows).toContain("report a");
  });
});
