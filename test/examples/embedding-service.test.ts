import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { serve } from "@hono/node-server";
import { createRemoteJWKSet } from "jose";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { queryAs } from "../../examples/embedding/row-level-security.ts";
import { poolOf } from "../../examples/product/pool.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { freePort } from "../support/node/free-port.ts";
import { integratorProject } from "../support/node/integrator-project.ts";
import { waitUntil } from "../support/node/service.ts";
import { standIn } from "../support/node/stand-in.ts";

/** The recipes of embedding with the service itself, in a project with the package of the client, as integrators have it. */

const { url, operatorToken } = inject("service");
const operator = new OperatorClient({ url, operatorKey: operatorToken });
const WORKSPACE = { workspace: "embedding", environment: "Customer" } as const;
const AUDIENCE = "embedding/Customer";

let project: string;
let removeProject: () => void;
let groups: UserGroupClient;
let writerKey: string;
/** A key that can mint sessions and nothing else. */
let mintingKey: { id: number; key: string };

beforeAll(async () => {
  const made = await integratorProject("examples/embedding");
  project = join(made.project, "embedding");
  removeProject = made.remove;
  writerKey = (await operator.issueKey({ ...WORKSPACE, name: "writer" })).key;
  groups = new UserGroupClient({ url, apiKey: writerKey });
  mintingKey = await newMintingKey();
});
afterAll(() => removeProject());

async function newMintingKey() {
  const { apiKey, key } = await operator.issueKey({ ...WORKSPACE, name: "backend", scopes: ["sessions:create"] });
  return { id: apiKey.id, key };
}

/** Runs the recipe of a sign-up. Returns the number of the customer's group. */
async function signUp(customer: string): Promise<number> {
  const env = { ...process.env, SERVICE_URL: url, API_KEY: writerKey, CUSTOMER: customer };
  const { stdout } = await promisify(execFile)(process.execPath, ["sign-up.ts"], { cwd: project, env });
  return JSON.parse(stdout).team_id;
}

/** Runs the backend of the recipe for a customer until the test ends. `log` returns what it has logged besides its address. */
async function startBackend(customer: string, { apiKey = mintingKey.key, serviceUrl = url } = {}) {
  const port = await freePort();
  const env = { ...process.env, SERVICE_URL: serviceUrl, API_KEY: apiKey, PORT: String(port), CUSTOMER: customer };
  const child = spawn(process.execPath, ["backend.ts"], { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => {
    child.kill();
  });
  let logged = "";
  child.stderr.on("data", (chunk) => (logged += chunk));
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  if (child.exitCode !== null) throw new Error(`The backend has ended: ${logged}`);
  return { address: `http://localhost:${port}`, log: () => logged };
}

/** Serves an app until the test ends. Returns its address. */
async function listen(handler: (request: Request) => Response | Promise<Response>): Promise<string> {
  const server = serve({ fetch: handler, hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => {
    server.close();
  });
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

/** Opens the page of a backend, by which this example signs in, and asks for a session as the page does. */
async function askForSession(address: string) {
  const Cookie = (await fetch(address)).headers.get("Set-Cookie")?.split(";")[0] ?? "";
  const response = await fetch(`${address}/session`, { method: "POST", headers: { Origin: address, Cookie } });
  const body = (await response.json()) as { session: { token: string } };
  return { status: response.status, cached: response.headers.get("Cache-Control"), body };
}

/** Debian's chromium; where there is none, these tests are skipped. */

describe("the backend of a page", () => {
  it("says that a suspended customer is suspended, and logs nothing", async ({ expect }) => {
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

  it("does not create a deleted customer again at a sign-in, so a restore works", async ({ expect }) => {
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

  it("asks a person who is signed out to sign in", async ({ expect }) => {
    const { address, log } = await startBackend("");
    expect(await askForSession(address)).toMatchObject({ status: 401, body: { error: { code: "signed_out" } } });
    expect(log()).toBe("");
  });

  it("does not ask people to sign in when its own API key is revoked", async ({ expect }) => {
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

  it("reports a service that is down in one line without a stack trace", async ({ expect }) => {
    const { address, log } = await startBackend("acme", { serviceUrl: `http://localhost:${await freePort()}` });
    expect(await askForSession(address)).toMatchObject({
      status: 503,
      body: { error: { code: "service_unavailable" } },
    });
    expect(log().trim().split("\n")).toEqual([expect.stringMatching(/^No session for "acme": network_error: /)]);
  });
});

describe("a page with a chart", () => {
  let browser: Browser;
  beforeAll(async () => {
    if (hasChromium) browser = await startChromium();
  });
  afterAll(() => browser?.close());

  /** Opens the page with a clock that the test moves. `sent` lists the calls of the page, and `answered` their statuses. */
  async function openPage(address: string) {
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.clock.install();
    const sent: { call: string; credential: string }[] = [];
    const answered: string[] = [];
    page.on("response", (response) => {
      const request = response.request();
      if (request.method() === "OPTIONS") return;
      const call = `${request.method()} ${new URL(request.url()).pathname}`;
      sent.push({ call, credential: request.headers().authorization ?? "" });
      answered.push(`${call} ${response.status()}`);
    });
    await page.goto(address);
    const count = (text: string) => answered.filter((each) => each === text).length;
    return { page, sent, answered, count };
  }

  const bars = (page: Page) =>
    page.evaluate("[...document.querySelectorAll('rect')].map((bar) => Number(bar.getAttribute('height')))");
  const status = (page: Page, text: string) => page.getByRole("status").getByText(text).waitFor();

  it.skipIf(!hasChromium)(
    `draws the customer's data with a session and no other credential${skippedWithoutChromium}`,
    async ({ expect }) => {
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
    `stops when its person signs out, and ends the sessions of other pages${skippedWithoutChromium}`,
    async ({ expect }) => {
      await groups.ensure({ userGroupId: "signing out", name: "Leaving", properties: { orders: [3] } });
      const { address } = await startBackend("signing out");
      const [here, there] = [await openPage(address), await openPage(address)];
      for (const { page } of [here, there]) await status(page, "Leaving");
      await here.page.getByRole("button", { name: "Sign out" }).click();
      await status(here.page, "Sign in to see the chart.");
      expect(await bars(here.page)).toEqual([]);
      expect(here.answered.slice(-2)).toEqual(["POST /sign-out 204", "POST /session 401"]);
      // The other page is of another browser, which is still signed in: only its session has ended.
      await there.page.clock.fastForward("01:00");
      await there.page.waitForFunction("performance.now() > 0");
      await waitUntil(() => there.count("GET /api/viewer 401") === 1, "the other page's session had ended");
      const [ended] = await Array.fromAsync(
        groups.events({ type: "viewer_sessions.ended", userGroupId: "signing out" }),
      );
      expect(ended).toMatchObject({ viewerId: "jane", reason: "signed out", actor: { name: "backend" } });
    },
  );

  it.skipIf(!hasChromium)(
    `goes on after 80 % of its session, and after its token was rotated${skippedWithoutChromium}`,
    async ({ expect }) => {
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

  it.skipIf(!hasChromium)(`ends with the API key of its backend${skippedWithoutChromium}`, async ({ expect }) => {
    await groups.ensure({ userGroupId: "key end", name: "Key end" });
    const own = await newMintingKey();
    const { page, count } = await openPage((await startBackend("key end", { apiKey: own.key })).address);
    await status(page, "Key end");
    await operator.revokeKey({ ...WORKSPACE, id: own.id });
    await page.clock.fastForward("01:00");
    await expect.poll(() => count("GET /api/viewer 401")).toBe(1);
    const shown = async () => {
      // Each step is a wait of the client between two attempts to mint.
      await page.clock.fastForward("00:01");
      return page.getByRole("status").innerText();
    };
    await expect
      .poll(shown, { timeout: 10_000 })
      .toBe("The chart is not available at the moment. Try again in a few minutes.");
  });

  it.skipIf(!hasChromium)(
    `shows one sentence and no chart to a suspended customer${skippedWithoutChromium}`,
    async ({ expect }) => {
      const userGroupId = "chart end";
      await groups.ensure({ userGroupId, name: "Chart end", properties: { orders: [1, 2] } });
      const { page, count } = await openPage((await startBackend(userGroupId)).address);
      await status(page, "Chart end");
      await groups.suspend({ userGroupId });
      await page.clock.fastForward("01:00");
      await status(page, "Your account is suspended. Contact our support.");
      expect(await bars(page)).toEqual([]);

      await page.reload();
      await status(page, "Your account is suspended. Contact our support.");
      expect(count("POST /session 403")).toBe(1);

      await groups.resume({ userGroupId });
      await page.clock.fastForward("01:00");
      await status(page, "Chart end");
      expect(await bars(page)).toEqual([25, 50]);
    },
  );

  it.skipIf(!hasChromium)(
    `has sessions that the page of another site cannot use${skippedWithoutChromium}`,
    async ({ expect }) => {
      await groups.ensure({ userGroupId: "origins", name: "Origins" });
      const { address } = await startBackend("origins");
      const { token } = (await askForSession(address)).body.session;
      const { url: elsewhere } = await standIn(() => ({
        status: 200,
        headers: { "Content-Type": "text/html" },
        body: "<title>x</title>",
      }));
      const viewFrom = async (site: string) => {
        const page = await browser.newPage();
        onTestFinished(() => page.close());
        await page.goto(site);
        return page.evaluate(
          `fetch("${url}/api/viewer", { headers: { Authorization: "Bearer ${token}" } }).then((r) => r.json())`,
        ) as Promise<{ success: number; error?: { code: string } }>;
      };
      expect((await viewFrom(address)).success).toBe(1);
      expect((await viewFrom(elsewhere)).error?.code).toBe("origin_not_allowed");
    },
  );
});

describe("a session of the service", () => {
  it("is verified offline, and selects rows in PostgreSQL", async ({ expect }) => {
    const postgres = new PGlite();
    onTestFinished(() => postgres.close());
    await postgres.exec(
      readFileSync("examples/embedding/row-level-security.sql", "utf8").replaceAll("acme/Customer", AUDIENCE),
    );
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
});

it("selects the rows of one person by viewer_properties, and none without them", async ({ expect }) => {
  const postgres = new PGlite();
  onTestFinished(() => postgres.close());
  await postgres.exec(
    readFileSync("examples/embedding/row-level-security.sql", "utf8").replaceAll("acme/Customer", AUDIENCE),
  );
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

describe("reports", () => {
  const ORDERS = [
    ["report a", "eu", 1],
    ["report a", "us", 2],
    ["report a", "us", 3],
    ["report b", "eu", 10],
  ] as const;

  /** Asks the recipe for a report, as a page does. */
  async function startReports() {
    const postgres = new PGlite();
    onTestFinished(() => postgres.close());
    await postgres.exec("CREATE TABLE orders (customer text, region text, amount int)");
    for (const order of ORDERS) await postgres.query("INSERT INTO orders VALUES ($1, $2, $3)", [...order]);
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

  it("show each customer their own rows, and those of their regions", async ({ expect }) => {
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

  it("are filtered by what the page chooses, within the rows of its customer", async ({ expect }) => {
    const report = await startReports();
    await groups.ensure({ userGroupId: "report a", properties: { regions: ["us"] } });
    const session = await mint("report a");
    expect((await report(session, { name: "orders?region=us" })).body).toEqual({ rows: [{ region: "us", amount: 5 }] });
    for (const region of ["eu", "' OR true --", ""])
      expect((await report(session, { name: `orders?region=${encodeURIComponent(region)}` })).body).toEqual({
        rows: [],
      });
  });

  it("refuse a viewer without a valid session, also right after a rotation", async ({ expect }) => {
    const report = await startReports();
    const { group } = await groups.ensure({ userGroupId: "report c" });
    const session = await mint("report c");
    expect((await report(session)).status).toBe(200);
    await groups.rotateToken({ currentToken: group.token });
    expect((await report(session)).status).toBe(401);
    for (const wrong of [undefined, "eyJ.x.y", mintingKey.key]) expect((await report(wrong)).status).toBe(401);
    expect((await report(await mint("report c"), { name: "salaries" })).status).toBe(404);
  });

  it("refuse a page of another origin, whose script can read why", async ({ expect }) => {
    const report = await startReports();
    await groups.ensure({ userGroupId: "report d" });
    const session = await mint("report d", ["https://app.example"]);
    for (const origin of [undefined, "https://app.example"])
      expect(await report(session, origin === undefined ? {} : { origin })).toMatchObject({ status: 200 });
    for (const origin of ["https://thief.example", "null"])
      expect(await report(session, { origin })).toMatchObject({ status: 403, readableBy: "*" });
  });

  it.skipIf(!hasChromium)(
    `reach a page that presents its current session${skippedWithoutChromium}`,
    async ({ expect }) => {
      await groups.ensure({ userGroupId: "report a" });
      const { address } = await startBackend("report a");
      const { reports } = await import(join(project, "bound-query.ts"));
      const database = { query: async (_sql: string, params: unknown[]) => ({ rows: params }) };
      const api = await listen(reports({ serviceUrl: url, audience: AUDIENCE, database }).fetch);
      const browser = await startChromium();
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      await page.goto(address);
      const rows = await page.evaluate(`(async () => {
        const { ViewerClient } = await import("/viewer.js");
        const session = () => fetch("/session", { method: "POST" }).then((response) => response.json());
        const { token } = await new ViewerClient({ url: "${url}", session }).session();
        const response = await fetch("${api}/reports/orders", { headers: { Authorization: "Bearer " + token } });
        return (await response.json()).rows;
      })()`);
      expect(rows).toContain("report a");
    },
  );
});
