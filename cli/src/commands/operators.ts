/** `ug operators`: the people and jobs that run the deployment. */
import { type Command, Option } from "commander";
import type { IssuedOperator, Operator, OperatorClient, Role } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { announce, type Output, operatorAction, requireYes, serviceCommand } from "../command.ts";
import { commandGroup } from "../help.ts";
import { endOf, GRACE, issuedOutput, type RollOptions } from "../issued-key.ts";
import { readId, readSeconds } from "../option-values.ts";
import type { ServiceOptions } from "../service-access.ts";
import { given } from "../support/given.ts";
import { quoted } from "../support/printable.ts";
import { tableOfItems } from "../support/table.ts";
import { toWire } from "../wire.ts";

const ROLES = Object.keys({ viewer: 1, support: 1, admin: 1, backup: 1 } satisfies Record<Role, 1>);

export const command = (): Command =>
  commandGroup(
    "operators",
    {
      summary: "issue, list, roll and revoke the keys of operators",
      examples: {
        "ug operators issue anna --role admin": "the key of a new operator",
        "ug operators list": "who there is",
        "ug operators revoke 3 --yes": "end a key at once",
      },
      notes:
        "These commands take the key of an admin, in OPERATOR_KEY. The first admin comes from the bootstrap token, in OPERATOR_TOKEN.",
    },
    [issueCommand(), listCommand(), rollCommand(), revokeCommand()],
  );

type IssueOptions = ServiceOptions & { name?: string; role: Role; email?: string; key: boolean; expiresIn?: number };

const issueCommand = () =>
  serviceCommand("issue", {
    summary: "issue the key of a new operator, and show it this once",
    examples: {
      "ug operators issue anna --role admin": "may do everything",
      "ug operators issue ada --email ada@example.com --no-key": "may read, and signs in with her company alone",
      "ug operators issue nightly --role backup": "may list environments and take backups, and nothing else",
      "ug operators issue night-shift --role support --expires-in 90d":
        "may change, suspend, rotate and restore groups, for 90 days",
    },
    notes: "A time is a number and s, m, h or d.",
    change: "undoable",
  })
    .argument("[name]", "the name by which events show what the operator does")
    .option("--name <name>", "the same, as in release 1.0")
    .addOption(new Option("--role <role>", "what the operator may do").choices(ROLES).default("viewer"))
    .option("--email <address>", "by which the operator signs in to the console with its company")
    .option("--no-key", "issue no key: the operator signs in with its company alone")
    .option("--expires-in <time>", "when the key expires; by default never", readSeconds)
    .action(
      operatorAction(async (client: OperatorClient, options: IssueOptions, argument: string | undefined) => {
        const { role, email, key: hasKey, expiresIn: expiresInSeconds, reason } = options;
        const draft = { name: nameIn(options, argument), role, ...given({ email, expiresInSeconds }), reason };
        if (hasKey) return issuedKey(await client.issueOperator(draft));
        if (email === undefined) throw new UsageError("Give --email with --no-key: otherwise nobody could sign in.");
        const operator = await client.issueOperatorWithoutKey({ ...draft, email });
        const text = `${tableOfOperators([operator])}\n\nThis operator has no key, and signs in to the console with its company.`;
        return { body: { success: 1, operator: toWire(operator) }, text };
      }),
    );

function nameIn({ name }: IssueOptions, argument: string | undefined): string {
  const given = argument ?? name;
  if (given === undefined || (argument !== undefined && name !== undefined))
    throw new UsageError("Give the name of the operator once, such as: ug operators issue anna");
  return given;
}

const listCommand = () =>
  serviceCommand("list", {
    summary: "list the operators, revoked and expired ones included, never their keys",
    examples: {
      "ug operators list": "a table",
      "ug operators list --json | jq '.operators[] | select(.role == \"admin\")'": "the admins",
    },
  }).action(
    operatorAction(async (client: OperatorClient) => {
      const operators = await operatorsOf(client);
      return { body: { success: 1, operators: operators.map(toWire) }, text: tableOfOperators(operators) };
    }),
  );

const operatorsOf = (client: OperatorClient) => Array.fromAsync(client.listOperators({ pageSize: LIST_ITEMS_MAX }));

const rollCommand = () =>
  serviceCommand("roll", {
    summary: "issue a key in place of an operator's, which stays valid for the grace",
    examples: { "ug operators roll 3 --grace 1h": "the old key works for one more hour" },
    change: "undoable",
  })
    .argument("<id>", "the number of the operator", readId)
    .option(...GRACE)
    .action(
      operatorAction(async (client: OperatorClient, options: RollOptions, id: number) => {
        const { grace: graceSeconds, reason } = options;
        announce(options, `replace the key of operator ${id}, ${endOf(graceSeconds)}`);
        return issuedKey(await client.rollOperator({ id, graceSeconds, reason }));
      }),
    );

const revokeCommand = () =>
  serviceCommand("revoke", {
    summary: "revoke an operator's key at once",
    examples: {
      "ug operators revoke 3": "shows who it is, and changes nothing",
      "ug operators revoke 3 --yes": "revokes the key; this has no undo",
      "ug operators revoke 1 --yes --force": "even that of the last admin",
    },
    change: "final",
  })
    .argument("<id>", "the number of the operator", readId)
    .option("--force", "revoke the last admin too: after that, only the bootstrap token can issue operators")
    .action(
      operatorAction(async (client: OperatorClient, options: ServiceOptions & { force?: boolean }, id: number) => {
        const operators = await operatorsOf(client);
        const operator = operators.find((each) => each.id === id);
        if (!operator)
          throw new CommandError("There is no such operator. ug operators list shows them all.", {
            code: "operator_not_found",
          });
        const what = `operator ${id} ${quoted(operator.name)}, ${operator.role}`;
        if (isLastAdmin(operator, operators) && !options.force)
          throw new CommandError(
            `${quoted(operator.name)} is the last admin. After that, only the bootstrap token could issue operators. Issue another admin first, or add --force.`,
            { code: "last_admin" },
          );
        requireYes(options, `revoke ${what}`, { name: operator.name });
        await client.revokeOperator({ id, reason: options.reason });
        return { body: { success: 1, operator: toWire(operator) }, text: `Revoked ${what}.` };
      }),
    );

function isLastAdmin(operator: Operator, operators: readonly Operator[]): boolean {
  const isLive = ({ revokedAt, expiresAt }: Operator) =>
    revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.now());
  const admins = operators.filter((each) => each.role === "admin" && isLive(each));
  return admins.length === 1 && admins[0]?.id === operator.id;
}

const tableOfOperators = (operators: readonly Operator[]): string =>
  tableOfItems(
    ["id", "name", "role", "email", "key", "created_at", "expires_at", "last_used_at", "revoked_at"],
    operators.map((operator) => ({ ...toWire(operator), key: operator.hasKey ? "yes" : "no key" })),
  );

const issuedKey = ({ operator, key }: IssuedOperator): Output =>
  issuedOutput(key, { operator: toWire(operator) }, tableOfOperators([operator]), `the key of operator ${operator.id}`);
