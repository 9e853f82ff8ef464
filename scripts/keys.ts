/** `npm run keys`: the API keys of an environment. No secret is an argument, because other users can read arguments. */
import type { ApiKey, IssuedKey, IssueKeyInput, LocationHint, Scope } from "../src/client/index.ts";
import { CommandError, runCommand, URL_USAGE, type ValuesOf } from "./command.ts";
import { secondsOf } from "./support/duration.ts";
import { ENVIRONMENT_OPTIONS, environmentOf } from "./support/environment.ts";
import { JSON_USAGE, OUTPUT_OPTIONS, type Output, runSubcommand, type Subcommand } from "./support/operator-command.ts";
import { OPERATOR_CREDENTIAL_USAGE } from "./support/operator-credential.ts";
import { tableOfItems } from "./support/table.ts";
import { toWire } from "./support/wire.ts";

const USAGE = `Usage: npm run --silent keys -- COMMAND --workspace SLUG --environment Customer|Testing|untagged [options]

  issue --name NAME                  issue a key, and show it this once
    --access read|write              write by default: all scopes
    --scopes SCOPE,SCOPE             only these scopes, instead of --access
    --expires-in 90d                 never by default
    --location HINT                  with the first key: where to place the environment, such as weur
  list                               list the keys, never their text
  revoke ID                          revoke a key at once
  roll ID [--grace 1h]               issue a key to replace one, which stays valid for the grace

${URL_USAGE}
${JSON_USAGE}

A time is a number and s, m, h or d.
${OPERATOR_CREDENTIAL_USAGE}`;

const OPTIONS = {
  ...ENVIRONMENT_OPTIONS,
  ...OUTPUT_OPTIONS,
  name: { type: "string" },
  access: { type: "string" },
  scopes: { type: "string" },
  location: { type: "string" },
  "expires-in": { type: "string" },
  grace: { type: "string" },
} as const;

type Values = ValuesOf<typeof OPTIONS>;

const SUBCOMMANDS: Record<string, Subcommand<Values>> = {
  issue: {
    options: ["name", "access", "scopes", "location", "expires-in"],
    takesId: false,
    run: async (operator, values) => issuedOutput(await operator.issueKey(keyToIssue(values))),
  },
  list: {
    options: [],
    takesId: false,
    run: async (operator, values) => {
      const keys = await Array.fromAsync(operator.listKeys({ ...environmentOf(values), pageSize: 1000 }));
      return { body: { success: 1, api_keys: keys.map(toWire) }, text: tableOfKeys(keys) };
    },
  },
  revoke: {
    options: [],
    takesId: true,
    run: async (operator, { id, ...values }) => {
      await operator.revokeKey({ ...environmentOf(values), id });
      return { body: { success: 1 }, text: `Key ${id} is revoked.` };
    },
  },
  roll: {
    options: ["grace"],
    takesId: true,
    run: async (operator, { id, grace, ...values }) =>
      issuedOutput(await operator.rollKey({ ...environmentOf(values), id, graceSeconds: secondsOf(grace) })),
  },
};

function keyToIssue({ name, access, scopes, location, "expires-in": expiresIn, ...values }: Values): IssueKeyInput {
  const environment = environmentOf(values);
  if (name === undefined) throw new CommandError("Give --name, by which lists show the key.");
  if (access !== undefined && access !== "read" && access !== "write")
    throw new CommandError("Give --access as read or write.");
  return {
    ...environment,
    name,
    access,
    // The service knows which scopes and locations there are, and its refusal lists them.
    scopes: scopes?.split(",") as Scope[] | undefined,
    location: location as LocationHint | undefined,
    expiresInSeconds: secondsOf(expiresIn),
  };
}

/** The column `access` has the scopes of a key that was issued with scopes. */
const tableOfKeys = (keys: readonly ApiKey[]): string =>
  tableOfItems(
    ["id", "name", "access", "created_at", "expires_at", "last_used_at", "revoked_at"],
    keys.map((key) => ({ ...toWire(key), access: key.access ?? key.scopes.join(",") })),
  );

const issuedOutput = ({ apiKey, key }: IssuedKey): Output => ({
  body: { success: 1, api_key: toWire(apiKey), key },
  text: `${tableOfKeys([apiKey])}\n\nThe key, shown this once:\n\n${key}`,
  issued: `key ${apiKey.id}`,
});

await runCommand({
  usage: USAGE,
  options: OPTIONS,
  run: (values, positionals) => runSubcommand(SUBCOMMANDS, values, positionals),
});
