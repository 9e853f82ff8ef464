import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, inject, it } from "vitest";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";

/** Each recipe that takes a credential from a request gets those of a customer with the same id and number in other environments. */

const service = inject("service");
export const { url } = service;
const OWN = { workspace: "foreign", environment: "Customer" } as const;
export const AUDIENCE = "foreign/Customer";
const OTHERS = {
  "another tag": { workspace: "foreign", environment: "Testing" },
  "no tag": { workspace: "foreign", environment: null },
  "another workspace": { workspace: "foreign-too", environment: "Customer" },
} as const;
export const ORIGIN = "https://app.example.com";

type Credentials = { session: string; token: string };

/** Makes the environment's first group, so that all of them have the number 1, and its credentials. */
async function newCustomer(environment: typeof OWN | (typeof OTHERS)[keyof typeof OTHERS]) {
  const operator = new OperatorClient({ url, operatorKey: service.operatorToken });
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

const customer = await newCustomer(OWN);
export const { client: groups, credentials: own, teamId } = customer;
/** The credentials of the customer with the same id and number in each other environment. */
export const foreign: Record<string, Credentials> = {};
for (const [name, environment] of Object.entries(OTHERS)) {
  const other = await newCustomer(environment);
  if (other.teamId !== teamId) throw new Error("The groups have different numbers.");
  foreign[name] = other.credentials;
}

export const bearer = (credential: string) => ({ headers: { Authorization: `Bearer ${credential}`, Origin: ORIGIN } });

/** Runs a program of the recipes with the credential on its standard input, without blocking this process. */
export async function run([program = "", ...args]: string[], credential: string, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, args, { env: { ...process.env, SERVICE_URL: url, AUDIENCE, ...env } });
  child.stdin.end(credential);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { stdout, stderr };
}

export type Recipe = {
  file: string;
  /** Presents a credential. Resolves to what the recipe has shown, which has the customer's figure, or their number, in it. */
  present: (credential: string) => Promise<string>;
  needs?: string;
  isThere?: boolean;
  /** Whether the recipe takes the tokens of groups, too. */
  takesTokens?: boolean;
};

export const NO_DATABASE = { DATABASE_URL: "postgresql://127.0.0.1:1/none" };

/** What every recipe shows of its own customer. */
const SHOWN = /"team_id":1\b|"amount":7|amount.*7|"stores":\[\{/;

/** Presents the credentials of all environments to these recipes, which are all that examples/embedding has in their languages. */
export function testRecipes(recipes: readonly Recipe[], language: RegExp): void {
  describe.for(recipes)("$file", ({ present, needs, isThere = true, takesTokens = false }) => {
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
    const takes = readdirSync("examples/embedding").filter(
      (file) =>
        language.test(file) &&
        /stdin|System\.in|session: string|header\("Authorization"\)/.test(
          readFileSync(`examples/embedding/${file}`, "utf8"),
        ),
    );
    expect(recipes.map(({ file }) => file)).toEqual(expect.arrayContaining(takes));
  });
}

type Library = { library: string; program: string[]; isThere: boolean };

/** Programs of libraries that take an empty audience for any. */
export const testLibraries = (libraries: readonly Library[]) =>
  describe.for(libraries)("$library, which takes an empty audience for any", ({ program, isThere, library }) => {
    const skipped = isThere ? "" : `, skipped: ${library} is missing`;

    it.skipIf(!isThere)(`verifies nothing while the environment is not named${skipped}`, async ({ expect }) => {
      for (const env of [{ AUDIENCE: "" }, { AUDIENCE: undefined }]) {
        const { stdout, stderr } = await run(program, own.session, env);
        expect({ stdout, isExplained: stderr.includes("AUDIENCE") }).toEqual({ stdout: "", isExplained: true });
      }
    });
  });
