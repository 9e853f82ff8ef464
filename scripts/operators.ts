/** `npm run operators`: the people and jobs that run the deployment. No secret is an argument. */
import type { IssuedOperator, IssueOperatorInput, Operator } from "../src/client/index.ts";
import { CommandError, runCommand, URL_USAGE, type ValuesOf } from "./command.ts";
import { secondsOf } from "./support/duration.ts";
import { JSON_USAGE, OUTPUT_OPTIONS, type Output, runSubcommand, type Subcommand } from "./support/operator-command.ts";
import { OPERATOR_CREDENTIAL_USAGE } from "./support/operator-credential.ts";
import { tableOfItems } from "./support/table.ts";
import { toWire } from "./support/wire.ts";

const USAGE = `Usage: npm run --silent operators -- COMMAND [options]

  issue --name NAME --role viewer|support|admin   issue the key of a new operator, and show it this once
    --expires-in 90d                              never by default
  list                                            list the operators, never their keys
  revoke ID                                       revoke an operator's key at once
  roll ID [--grace 1h]                            issue a key to replace an operator's, which stays valid for the grace

${URL_USAGE}
${JSON_USAGE}

A time is a number and s, m, h or d.
${OPERATOR_CREDENTIAL_USAGE}`;

const OPTIONS = {
  ...OUTPUT_OPTIONS,
  name: { type: "string" },
  role: { type: "string" },
  "expires-in": { type: "string" },
  grace: { type: "string" },
} as const;

type Values = ValuesOf<typeof OPTIONS>;

const SUBCOMMANDS: Record<string, Subcommand<Values>> = {
  issue: {
    options: ["name", "role", "expires-in"],
    takesId: false,
    run: async (client, values) => issuedOutput(await client.issueOperator(operatorToIssue(values))),
  },
  list: {
    options: [],
    takesId: false,
    run: async (client) => {
      const operators = await Array.fromAsync(client.listOperators({ pageSize: 1000 }));
      return { body: { success: 1, operators: operators.map(toWire) }, text: tableOfOperators(operators) };
    },
  },
  revoke: {
    options: [],
    takesId: true,
    run: async (client, { id }) => {
      await client.revokeOperator({ id });
      return { body: { success: 1 }, text: `Operator ${id} is revoked.` };
    },
  },
  roll: {
    options: ["grace"],
    takesId: true,
    run: async (client, { id, grace }) =>
      issuedOutput(await client.rollOperator({ id, graceSeconds: secondsOf(grace) })),
  },
};

function operatorToIssue({ name, role, "expires-in": expiresIn }: Values): IssueOperatorInput {
  if (name === undefined) throw new CommandError("Give --name, by which events show what the operator does.");
  if (role !== "viewer" && role !== "support" && role !== "admin")
    throw new CommandError("Give --role as viewer, support or admin.");
  return { name, role, expiresInSeconds: secondsOf(expiresIn) };
}

const tableOfOperators = (operators: readonly Operator[]): string =>
  tableOfItems(["id", "name", "role", "created_at", "expires_at", "last_used_at", "revoked_at"], operators.map(toWire));

const issuedOutput = ({ operator, key }: IssuedOperator): Output => ({
  body: { success: 1, operator: toWire(operator), key },
  text: `${tableOfOperators([operator])}\n\nThe key, shown this once:\n\n${key}`,
  issued: `the key of operator ${operator.id}`,
});

await runCommand({
  usage: USAGE,
  options: OPTIONS,
  run: (values, positionals) => runSubcommand(SUBCOMMANDS, values, positionals),
});
