import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { outcomeOf } from "./commands.ts";
import { type Customer, environmentsOf } from "./environments.ts";

/** Each recipe that takes a credential from a request gets those of a customer with the same id and number in other environments. */

export const { url } = inject("service");
export const ORIGIN = "https://app.example.com";

const { own: customer, foreign: others, audience } = await environmentsOf("foreign");
export const AUDIENCE = audience;
export const { groups, teamId } = customer;

type Credentials = { session: string; token: string };

/** Stores where the data of a customer is, and mints a session of somebody who may see all of it. */
async function credentialsOf({ groups: client, userGroupId, token }: Customer): Promise<Credentials> {
  await client.update({ userGroupId, mapping: { sales: "eu-1" } });
  const person = { viewerId: "jane", viewerProperties: { store: "*" } };
  return { session: (await client.mintSession({ userGroupId, ...person })).token, token };
}

export const own = await credentialsOf(customer);
/** The credentials of the customer with the same id and number in each other environment. */
export const foreign: Record<string, Credentials> = {};
for (const [name, other] of Object.entries(others))
  if (other.teamId === teamId) foreign[name] = await credentialsOf(other);

export const bearer = (credential: string) => ({ headers: { Authorization: `Bearer ${credential}`, Origin: ORIGIN } });

/** Runs a program of the recipes with the credential on its standard input, without blocking this process. */
export function run([program = "", ...args]: string[], credential: string, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, args, { env: { ...process.env, SERVICE_URL: url, AUDIENCE, ...env } });
  child.stdin.end(credential);
  return outcomeOf(child);
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

    it.skipIf(!isThere)(`shows a customer of its own environment their data${skipped}`, async () => {
      expect(await present(own.session)).toMatch(SHOWN);
      if (takesTokens) expect(await present(own.token)).toMatch(SHOWN);
    });

    it.skipIf(!isThere)(`refuses the same id of each other environment${skipped}`, async () => {
      for (const [name, { session, token }] of Object.entries(foreign))
        for (const credential of [session, token]) {
          const shown = await present(credential);
          expect(shown, name).not.toMatch(SHOWN);
          expect(shown, name).not.toContain(credential);
        }
    });
  });

  it("presents foreign credentials to every recipe that takes one", () => {
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

    it.skipIf(!isThere)(`verifies nothing while the environment is not named${skipped}`, async () => {
      for (const env of [{ AUDIENCE: "" }, { AUDIENCE: undefined }]) {
        const { stdout, stderr } = await run(program, own.session, env);
        expect({ stdout, isExplained: stderr.includes("AUDIENCE") }).toEqual({ stdout: "", isExplained: true });
      }
    });
  });
