import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { adapted, ordersOf } from "../../support/node/orders-database.ts";
import { hasPostgres, type Postgres, skippedWithoutPostgres } from "../../support/node/postgres.ts";
import { KIT_MODULES, skippedWithout, startPython } from "../../support/node/python.ts";
import { keyOfWorkspace } from "../../support/node/workspace.ts";

/** What the guides show in Python, run as it is. */

const { url } = inject("service");
const ORIGIN = "https://app.example.com";
const { environments, recipe, startOrders } = await ordersOf("python-pages");
const { own, audience } = environments;

const blocksOf = (page: string): string[] =>
  [...readFileSync(`docs/integrators/${page}.md`, "utf8").matchAll(/```python\n([\s\S]*?)```/g)].map(([, block = ""]) =>
    adapted(block, audience),
  );
const [endpoints = "", flask = "", fastapi = ""] = blocksOf("server-kit");
const [rows = ""] = blocksOf("verifying");
const [bound = ""] = blocksOf("dashboards");

const apiKey = await keyOfWorkspace("python-pages");
let postgres: Postgres | undefined;
beforeAll(async () => {
  if (!hasPostgres) return;
  postgres = await startOrders(recipe("embedding/row-level-security.sql"));
  await postgres.run(`CREATE SCHEMA bound; GRANT USAGE ON SCHEMA bound TO backend;
    CREATE TABLE bound.orders (customer text, region text, amount int); GRANT SELECT ON bound.orders TO backend;
    INSERT INTO bound.orders VALUES ('acme', 'eu', 1), ('acme', 'us', 2), ('hooli', 'eu', 4)`);
});
afterAll(() => postgres?.stop());

/** Starts what the pages show in a framework. */
async function start(framework: string, app: string) {
  const input = JSON.stringify({ framework, app: [endpoints, app], "/rows": rows, "/bound": bound });
  const env = { API_KEY: apiKey, DATABASE_URL: postgres?.url("backend") ?? "" };
  const { url: address, stop } = await startPython(["test/python/page.py"], env, input);
  onTestFinished(() => void stop());
  const headers = { Cookie: "sid=1", Origin: ORIGIN };
  const post = (path: string) => fetch(`${address}/viewer${path}`, { method: "POST", headers });
  const get = (path: string, token: string) =>
    fetch(address + path, { headers: { Authorization: `Bearer ${token}`, Origin: ORIGIN } });
  return { post, get };
}

describe("the guides in Python", () => {
  for (const [framework, app, modules] of [
    ["Flask", flask, ["flask"]],
    ["FastAPI", fastapi, ["fastapi", "uvicorn"]],
  ] as const) {
    const skipped = skippedWithout(...KIT_MODULES, ...modules);
    it.skipIf(skipped)(`show a product in ${framework} that works${skipped}`, async () => {
      const { post, get } = await start(framework, app);
      const { session } = Object(await (await post("/session")).json());
      expect(await (await get("/orders", session.token)).json()).toEqual([{ team_id: own.teamId }]);
      expect((await get("/orders", "no session")).status).toBe(401);
      expect((await post("/sign-out")).status).toBe(204);
      expect((await post("/session")).status).toBe(401);
      const viewed = await fetch(`${url}/api/viewer`, {
        headers: { Authorization: `Bearer ${session.token}`, Origin: ORIGIN },
      });
      expect(viewed.status).toBe(401);
    });
  }

  const missing = skippedWithoutPostgres || skippedWithout(...KIT_MODULES, "flask", "psycopg");
  it.skipIf(missing)(`show the rows of a customer alone${missing}`, async () => {
    const { post, get } = await start("Flask", flask);
    const { session } = Object(await (await post("/session")).json());
    const shown = async (path: string) => (await get(path, session.token)).json();
    expect(await shown("/rows")).toEqual([
      [expect.any(Number), 1],
      [expect.any(Number), 2],
    ]);
    expect(await shown("/bound")).toEqual([
      ["eu", 1],
      ["us", 2],
    ]);
    expect(await shown("/bound?region=eu")).toEqual([["eu", 1]]);
  });
});
