import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { createRemoteJWKSet } from "jose";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { type RequireSessionOptions, requireSession } from "../../client/src/server.ts";
import { runReport } from "../../examples/embedding/customer-databases.ts";
import { queryAs } from "../../examples/embedding/row-level-security.ts";
import { CUSTOMERS } from "../../examples/product/people.ts";
import { openSales } from "../../examples/product/sales.ts";
import { integratorProject } from "../support/node/integrator-project.ts";
import { compiledVerifySession, hasJava, succeeds } from "../support/node/verify-session.ts";

/** Each recipe that takes a credential from a request gets those of a customer with the same id and number in other environments. */

const { url, operatorToken } = inject("service");
const OWN = { workspace: "foreign", environment: "Customer" } as const;
const AUDIENCE = "foreign/Customer";
const OTHERS = {
  "another tag": { workspace: "foreign", environment: "Testing" },
  "no tag": { workspace: "foreign", environment: null },
  "another workspace": { workspace: "foreign-too", environment: "Customer" },
} as const;
const ORIGIN = "https://app.example.com";

type Credentials = { session: string; token: string };
let groups: UserGroupClient;
let own: Credentials;
let foreign: Record<keyof typeof OTHERS, Credentials>;
let sales: Awaited<ReturnType<typeof openSales>>;
let project: string;
let removeProject: () => void;

/** Makes the environment's first group, so that all of them have the number 1, and its credentials. */
async function newCustomer(environment: typeof OWN | (typeof OTHERS)[keyof typeof OTHERS]) {
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const { key } = await operator.issueKey({ ...environment, name: "backend" });
  const client = new UserGroupClient({ url, apiKey: key });
  const { group } = await client.ensure({ userGroupId: "acme", mapping: { sales: "eu-1" } });
  const { token: session } = await client.mintSession({
    userGroupId: "acme",
    viewerId: "jane",
    viewerProperties: { store: "*" },
  });
  return { client, teamId: group.teamId, credentials: { session, token: group.token ?? "" } };
}

beforeAll(async () => {
  const { client, teamId, credentials } = await newCustomer(OWN);
  groups = client;
  own = credentials;
  sales = await openSales([{ ...CUSTOMERS[0], teamId }], AUDIENCE);
  const others = await Promise.all(
    Object.entries(OTHERS).map(async ([name, environment]) => {
      const other = await newCustomer(environment);
      if (other.teamId !== teamId) throw new Error("The groups have different numbers.");
      return [name, other.credentials];
    }),
  );
  foreign = Object.fromEntries(others);
  ({ project, remove: removeProject } = await integratorProject("examples/embedding", "examples/product"));
  symlinkSync(resolve("node_modules/pg"), join(project, "node_modules/pg"));
});
afterAll(async () => {
  removeProject();
  await sales.close();
});

const hasJoserfc = succeeds("python3", "-c", "import joserfc");
const inJava = compiledVerifySession();
afterAll(inJava.remove);

const bearer = (credential: string) => ({ headers: { Authorization: `Bearer ${credential}`, Origin: ORIGIN } });

/** Runs a program of the recipes with the credential on its standard input, without blocking this process. */
async function run([program = "", ...args]: string[], credential: string, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, args, { env: { ...process.env, SERVICE_URL: url, AUDIENCE, ...env } });
  child.stdin.end(credential);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { stdout, stderr };
}

const database = () => {
  const sales = new DatabaseSync(":memory:");
  sales.exec("CREATE TABLE sales (customer text, amount int); INSERT INTO sales VALUES ('acme', 7)");
  return sales;
};

type Recipe = {
  file: string;
  /** Presents a credential. Resolves to what the recipe has shown, which has the customer's figure, or their number, in it. */
  present: (credential: string) => Promise<string>;
  needs?: string;
  isThere?: boolean;
  /** Whether the recipe takes the tokens of groups, too. */
  takesTokens?: boolean;
};

const presentToKit = (options: () => RequireSessionOptions) => async (credential: string) => {
  const checked = await requireSession(options())(new Request("https://api.example.com/orders", bearer(credential)));
  return checked instanceof Response ? checked.text() : JSON.stringify({ team_id: checked.teamId });
};

const NO_DATABASE = { DATABASE_URL: "postgresql://127.0.0.1:1/none" };

/** What every recipe shows of its own customer. */
const SHOWN = /"team_id":1\b|"amount":7|amount.*7|"stores":\[\{/;

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
    file: "bound_query.py",
    takesTokens: true,
    needs: "psycopg",
    isThere: succeeds("python3", "-c", "import psycopg"),
    // The service binds the template, and then there is no database.
    present: async (credential) => {
      const { stderr } = await run(["python3", "examples/embedding/bound_query.py"], credential, NO_DATABASE);
      return stderr.includes("OperationalError") ? '"amount":7' : stderr;
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
    file: "orders.py",
    needs: "PyJWT and psycopg",
    isThere: succeeds("python3", "-c", "import jwt, cryptography, psycopg"),
    present: async (credential) => {
      const { stdout, stderr } = await run(["python3", "examples/embedding/orders.py"], credential, NO_DATABASE);
      return stderr.includes("OperationalError") ? '"amount":7' : stdout + stderr;
    },
  },
  {
    file: "verify-jose.ts",
    present: async (credential) =>
      (await run([process.execPath, "examples/embedding/verify-jose.ts"], credential)).stdout,
  },
  {
    file: "verify_pyjwt.py",
    needs: "PyJWT",
    isThere: succeeds("python3", "-c", "import jwt, cryptography"),
    present: async (credential) => {
      const { stdout } = await run(["python3", "examples/embedding/verify_pyjwt.py"], credential);
      return stdout.replace(": ", ":");
    },
  },
  {
    file: "verify-fast-jwt.ts",
    present: async (credential) =>
      (await run([process.execPath, "examples/consumers/verify-fast-jwt.ts"], credential)).stdout,
  },
  {
    file: "verify_joserfc.py",
    needs: "joserfc",
    isThere: hasJoserfc,
    present: async (credential) => {
      const { stdout } = await run(["python3", "examples/consumers/verify_joserfc.py"], credential);
      return stdout.replace(": ", ":");
    },
  },
  {
    file: "VerifySession.java",
    needs: "a JDK, 17 or newer",
    isThere: hasJava,
    present: async (credential) => (await run(inJava.command, credential)).stdout,
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

describe.for(RECIPES)("$file", ({ present, needs, isThere = true, takesTokens = false }) => {
  const skipped = isThere ? "" : `, skipped: ${needs} is missing`;

  it.skipIf(!isThere)(`shows a customer of its own environment their data${skipped}`, async ({ expect }) => {
    expect(await present(own.session)).toMatch(SHOWN);
    if (takesTokens) expect(await present(own.token)).toMatch(SHOWN);
  });

  it.skipIf(!isThere)(`refuses the same id of each other environment${skipped}`, async ({ expect }) => {
    for (const [name, { session, token }] of Object.entries(foreign))
      for (const credential of [session, token]) {
        const shown = await present(credential);
        expect(shown, name).not.toMatch(SHOWN);
        expect(shown, name).not.toContain(credential);
      }
  });
});

it("presents foreign credentials to every recipe that takes one", ({ expect }) => {
  const takes = readdirSync("examples/embedding").filter((file) =>
    /stdin|System\.in|session: string|header\("Authorization"\)/.test(
      readFileSync(`examples/embedding/${file}`, "utf8"),
    ),
  );
  expect(RECIPES.map(({ file }) => file)).toEqual(expect.arrayContaining(takes));
});

describe.for([
  { library: "jose", program: [process.execPath, "examples/embedding/verify-jose.ts"], isThere: true },
  { library: "fast-jwt", program: [process.execPath, "examples/consumers/verify-fast-jwt.ts"], isThere: true },
  { library: "joserfc", program: ["python3", "examples/consumers/verify_joserfc.py"], isThere: hasJoserfc },
])("$library, which takes an empty audience for any", ({ program, isThere, library }) => {
  const skipped = isThere ? "" : `, skipped: ${library} is missing`;

  it.skipIf(!isThere)(`verifies nothing while the environment is not named${skipped}`, async ({ expect }) => {
    for (const env of [{ AUDIENCE: "" }, { AUDIENCE: undefined }]) {
      const { stdout, stderr } = await run(program, own.session, env);
      expect({ stdout, isExplained: stderr.includes("AUDIENCE") }).toEqual({ stdout: "", isExplained: true });
    }
  });
});

describe("the client of a server", () => {
  it("names its environment in each call of a viewer", async ({ expect }) => {
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

  it.for([undefined, "", null])("refuses an environment that is given as %j", (audience, { expect }) => {
    const asViewer: (input: object) => unknown = groups.asViewer.bind(groups) as never;
    expect(() => asViewer({ session: own.session, audience })).toThrow(TypeError);
  });
});
