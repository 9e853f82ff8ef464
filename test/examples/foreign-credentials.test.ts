import { symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createRemoteJWKSet } from "jose";
import { afterAll, describe, expect, it } from "vitest";
import { type RequireSessionOptions, requireSession } from "../../client/src/server.ts";
import { runReport } from "../../examples/embedding/customer-databases.ts";
import { queryAs } from "../../examples/embedding/row-level-security.ts";
import { CUSTOMERS } from "../../examples/product/people.ts";
import { openSales } from "../../examples/product/sales.ts";
import {
  AUDIENCE,
  bearer,
  foreign,
  groups,
  NO_DATABASE,
  ORIGIN,
  own,
  type Recipe,
  run,
  teamId,
  testLibraries,
  testRecipes,
  url,
} from "../support/node/foreign-credentials.ts";
import { integratorProject } from "../support/node/integrator-project.ts";

const sales = await openSales([{ ...CUSTOMERS[0], teamId }], AUDIENCE);
const { project, remove: removeProject } = integratorProject("examples/embedding", "examples/product");
symlinkSync(resolve("node_modules/pg"), join(project, "node_modules/pg"));
afterAll(async () => {
  removeProject();
  await sales.close();
});

const database = () => {
  const sales = new DatabaseSync(":memory:");
  sales.exec("CREATE TABLE sales (customer text, amount int); INSERT INTO sales VALUES ('acme', 7)");
  return sales;
};

const presentToKit = (options: () => RequireSessionOptions) => async (credential: string) => {
  const checked = await requireSession(options())(new Request("https://api.example.com/orders", bearer(credential)));
  return checked instanceof Response ? checked.text() : JSON.stringify({ team_id: checked.teamId });
};

const RECIPES: Recipe[] = [
  {
    file: "bound-query.ts",
    takesTokens: true,
    present: async (credential) => {
      const { reports } = await import(join(project, "embedding/bound-query.ts"));
      const shown = { query: async () => ({ rows: [{ amount: 7 }] }) };
      const app = reports({ serviceUrl: url, audience: AUDIENCE, database: shown });
      return (await app.request("/reports/orders", bearer(credential))).text();
    },
  },
  {
    file: "customer-databases.ts",
    takesTokens: true,
    present: async (credential) => {
      const backend = { groups, audience: AUDIENCE, databases: new Map([["eu-1", database()]]) };
      const report = { schema: "sales", sql: "SELECT amount FROM sales WHERE customer = {{user_group_id}}" };
      return JSON.stringify(await runReport(backend, credential, report).catch(String));
    },
  },
  {
    file: "orders.ts",
    // A session that is verified reaches the database, which is not there.
    present: async (credential) => {
      const { stdout, stderr } = await run(
        [process.execPath, join(project, "embedding/orders.ts")],
        credential,
        NO_DATABASE,
      );
      return stderr.includes("ECONNREFUSED") ? '"amount":7' : stdout + stderr;
    },
  },
  {
    file: "verify-jose.ts",
    present: async (credential) =>
      (await run([process.execPath, "examples/embedding/verify-jose.ts"], credential)).stdout,
  },
  {
    file: "row-level-security.ts",
    present: async (credential) => {
      const client = { query: async () => ({ rows: [{ amount: 7 }], command: "COMMIT" }), release: () => undefined };
      const shown = { connect: async () => client };
      const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", url));
      const verification = { keys, issuer: url, audience: AUDIENCE, origin: ORIGIN };
      return JSON.stringify(
        await queryAs(shown, credential, verification, { sql: "SELECT amount FROM orders" }).catch(String),
      );
    },
  },
  {
    file: "requireSession with jwks",
    present: presentToKit(() => ({ jwks: `${url}/.well-known/jwks.json`, audience: AUDIENCE, origins: [ORIGIN] })),
  },
  {
    file: "requireSession with client",
    present: presentToKit(() => ({ client: groups, audience: AUDIENCE, origins: [ORIGIN] })),
  },
  {
    file: "the product",
    present: async (credential) => {
      const { productApp } = await import(join(project, "product/app.ts"));
      const app = productApp({ origin: ORIGIN, serviceUrl: url, audience: AUDIENCE, groups, sales });
      return (await app.request("/report", bearer(credential))).text();
    },
  },
];

testRecipes(RECIPES, /\.ts$/);
testLibraries([{ library: "jose", program: [process.execPath, "examples/embedding/verify-jose.ts"], isThere: true }]);

describe("the client of a server", () => {
  it("names its environment in each call of a viewer", async () => {
    const viewer = groups.asViewer({ session: own.session, audience: AUDIENCE });
    expect((await viewer.view()).audience).toBe(AUDIENCE);
    expect((await viewer.bindQuery({ sql: "{{user_group_id}}" })).params).toEqual(["acme"]);
    for (const { session, token } of Object.values(foreign))
      for (const credential of [session, token]) {
        const other = groups.asViewer({ session: credential, audience: AUDIENCE });
        await expect(other.view()).rejects.toMatchObject({ code: "audience_mismatch", status: 403 });
        await expect(other.bindQuery({ sql: "1" })).rejects.toMatchObject({ code: "audience_mismatch" });
      }
  });

  it.for([undefined, "", null])("refuses an environment that is given as %j", (audience) => {
    const asViewer: (input: object) => unknown = groups.asViewer.bind(groups) as never;
    expect(() => asViewer({ session: own.session, audience })).toThrow(TypeError);
  });
});
