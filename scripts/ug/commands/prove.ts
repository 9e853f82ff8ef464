/** `ug prove`: whether two customers see each other's rows in an integrator's PostgreSQL. */
import { readFileSync } from "node:fs";
import { styleText } from "node:util";
import { Command } from "commander";
import { print } from "../../support/output.ts";
import { escapeInvisible, jsonLineOf } from "../../support/printable.ts";
import { tableOf } from "../../support/table.ts";
import { helpOf } from "../command.ts";
import { CommandError, UsageError } from "../errors.ts";
import { statementsOf } from "../prove/customer-sql.ts";
import type { Setup } from "../prove/customers.ts";
import { withDatabase } from "../prove/database.ts";
import { type Proof, prove } from "../prove/prove.ts";

type Options = { as?: string[]; asFile?: string[]; allow?: string[]; json?: boolean };

const collected = (value: string, before: string[] = []): string[] => [...before, value];

export const proveCommand = (): Command =>
  new Command("prove")
    .description(
      "Prove that two customers do not see each other's rows in your PostgreSQL, or name the mistakes and their fixes.",
    )
    .option("--as <sql>", "the SQL with which your backend becomes a customer; give it twice", collected)
    .option("--as-file <file>", "the same from a file", collected)
    .option("--allow <name>", "a table, view or function that you have checked, and all customers may use", collected)
    .option("--json", "print JSON, also for a failure")
    .addHelpText(
      "after",
      helpOf({
        examples: [
          [
            `ug prove --as "SET LOCAL ROLE dashboard; SET LOCAL app.customer = '1'" --as "SET LOCAL ROLE dashboard; SET LOCAL app.customer = '2'"`,
            "two customers who have rows, each by the SQL of your backend",
          ],
          ["ug prove --as-file one.sql --as-file two.sql --allow public.countries", "a table that all customers share"],
        ],
        notes: `DATABASE_URL has the connection, with the user of your dashboards' backend: postgres://USER@HOST:5432/DATABASE. Set it in the environment; the
password can also be in PGPASSWORD or ~/.pgpass. It changes nothing: it reads in transactions that are read-only, and prints no value of a row.
Exit codes: 0 proven, 1 mistakes found or could not tell, 2 wrong usage. With --json, outcome is proven or mistakes, and what it could not
tell is an error with the code could_not_tell.`,
      }),
    )
    .action(async (options: Options) => {
      const setups = setupsOf(options);
      const { DATABASE_URL: url = "" } = process.env;
      if (!/^postgres(?:ql)?:\/\//.test(url))
        throw new CommandError(
          "Set DATABASE_URL in the environment, as postgres://USER:PASSWORD@HOST:5432/DATABASE, with the user of your dashboards' backend.",
        );
      const proof = await prove((use) => withDatabase(url, use), { setups, allow: options.allow ?? [] });
      await print(options.json ? jsonLineOf(bodyOf(proof)) : textOf(proof));
      if (proof.mistakes.length > 0) process.exitCode = 1;
    });

/** @throws UsageError unless there are two different customers. */
function setupsOf({ as = [], asFile = [] }: Options): [Setup, Setup] {
  const texts = [
    ...as.map((sql) => ({ option: "--as", sql })),
    ...asFile.map((file) => ({ option: "--as-file", sql: contentOf(file) })),
  ];
  const [first, second] = texts;
  if (!first || !second || texts.length > 2)
    throw new UsageError(
      `Give --as or --as-file twice, once for each of two customers, not ${texts.length === 1 ? "once" : `${texts.length} times`}.`,
    );
  if (first.sql.trim() === second.sql.trim())
    throw new UsageError("Both customers have the same SQL. Give two customers.");
  const setupOf = ({ option, sql }: typeof first, place: string): Setup => ({
    option: `the ${place} ${option}`,
    statements: statementsOf(sql, `the ${place} ${option}`),
  });
  return [setupOf(first, "first"), setupOf(second, "second")];
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new CommandError(`${file} cannot be read.`);
  }
}

const bodyOf = ({ serverVersion, roles, compared, mistakes, unjudged }: Proof) => ({
  success: mistakes.length === 0 ? 1 : 0,
  outcome: mistakes.length === 0 ? "proven" : "mistakes",
  server_version: serverVersion,
  login_role: roles.login,
  customer_roles: roles.customers,
  compared: compared.map(({ table, rows }) => ({ table, rows })),
  mistakes,
  not_judged: unjudged,
});

/** What people read. */
function textOf({ mistakes, unjudged, compared }: Proof): string {
  const style = (format: Parameters<typeof styleText>[0], text: string) =>
    styleText(format, text, { stream: process.stdout });
  const verdict =
    mistakes.length === 0
      ? style("green", "Proven: neither customer sees a row of the other, and without a customer nobody sees any.")
      : style("red", mistakes.length === 1 ? "1 mistake." : `${mistakes.length} mistakes.`);
  const found = mistakes.map(
    ({ code, object, message, fix }, index) =>
      `${index + 1}. ${style("bold", escapeInvisible(object))} (${code})\n   ${escapeInvisible(message)}\n   Fix: ${escapeInvisible(fix)}`,
  );
  const rows = compared.map(({ table, rows }) => [table, ...rows.map(String)]);
  return [
    verdict,
    ...found,
    ...(rows.length > 0 ? [tableOf([["compared", "rows of customer 1", "rows of customer 2"], ...rows])] : []),
    ["Not judged:", ...unjudged.map((sentence) => `- ${escapeInvisible(sentence)}`)].join("\n"),
  ].join("\n\n");
}
