/** `ug prove`: whether two customers see each other's rows in an integrator's PostgreSQL. */
import { readFileSync } from "node:fs";
import { styleText } from "node:util";
import type { Command } from "commander";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { withDatabase } from "../../../prove/src/database.ts";
import { type Proof, prove } from "../../../prove/src/prove.ts";
import { readSetup, type Setup } from "../../../prove/src/setup.ts";
import { described } from "../help.ts";
import { collected } from "../option-values.ts";
import { explainErrors } from "../support/errors.ts";
import { print } from "../support/output.ts";
import { escapeInvisible, jsonLineOf } from "../support/printable.ts";
import { tableOf } from "../support/table.ts";

type Options = {
  as?: string[];
  asFile?: string[];
  allow?: string[];
  accept?: string[];
  anyEnvironment?: boolean;
  json?: boolean;
};

const EXIT_CODES = { proven: 0, mistakes: 1, not_judged: 4 } as const;

const asCustomer = (id: number) => `--as "SET LOCAL ROLE dashboard; SET LOCAL app.customer = '${id}'"`;

export const command = (): Command =>
  described("prove", {
    summary:
      "prove that two customers do not see each other's rows in your PostgreSQL, or name the mistakes and their fixes",
    examples: {
      [`ug prove ${asCustomer(1)} ${asCustomer(2)}`]: "two customers who have rows, each by the SQL of your backend",
      "ug prove --as-file one.sql --as-file two.sql --accept public.countries": "a table that all customers share",
      "ug prove --as-file ann.sql --as-file ben.sql": "two people of one customer",
    },
    notes: `DATABASE_URL has the connection, with the user of your dashboards' backend: postgres://USER@HOST:5432/DATABASE. Set it in the environment; the
password can also be in PGPASSWORD or ~/.pgpass. sslmode and sslrootcert in it work as in psql. The command changes nothing: its transactions are
read-only, and it prints no value of a row.
Exit codes: 0 proven, 1 mistakes found or could not tell, 2 wrong usage, 4 no mistake found, but something is not judged. With --json, outcome
is proven, mistakes or not_judged, or there is an error with the code could_not_tell.`,
  })
    .option("--as <sql>", "the SQL with which your backend becomes a customer; give it twice", collected)
    .option("--as-file <file>", "read that SQL from a file; give it twice", collected)
    .option(
      "--accept <name>",
      "accept what you have judged, by its name in the output, such as a table that all customers share",
      collected,
    )
    .option("--allow <name>", "the same as --accept", collected)
    .option("--any-environment", "do not ask for policies that name an environment: the database's numbers are its own")
    .option("--json", "print JSON, for failures too")
    .action(async (options: Options) => {
      const setups = setupsOf(options);
      const { DATABASE_URL: url = "" } = process.env;
      if (!/^postgres(?:ql)?:\/\//.test(url))
        throw new CommandError(
          "Set DATABASE_URL in the environment, as postgres://USER:PASSWORD@HOST:5432/DATABASE, with the user of your dashboards' backend.",
        );
      const { allow = [], accept = [], anyEnvironment = false } = options;
      const question = { setups, accept: [...accept, ...allow], anyEnvironment };
      const proof = await prove((use) => withDatabase(url, use), question);
      await print(options.json ? jsonLineOf(bodyOf(proof)) : textOf(proof));
      process.exitCode = EXIT_CODES[proof.outcome];
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
  return [readSetup(first.sql, `the first ${first.option}`), readSetup(second.sql, `the second ${second.option}`)];
}

const contentOf = (file: string): string =>
  explainErrors(
    () => readFileSync(file, "utf8"),
    () => new CommandError(`${file} cannot be read.`),
  );

const bodyOf = ({ outcome, serverVersion, roles, compared, mistakes, notJudged, limits }: Proof) => ({
  success: outcome === "proven" ? 1 : 0,
  outcome,
  server_version: serverVersion,
  login_role: roles.login,
  customer_roles: roles.customers,
  compared: compared.map(({ table, rows }) => ({ table, rows })),
  mistakes,
  not_judged: notJudged,
  limits,
});

const style = (format: Parameters<typeof styleText>[0], text: string) =>
  styleText(format, text, { stream: process.stdout });

const counted = (count: number, [one, several]: readonly [string, string]) =>
  count === 1 ? one : `${count} ${several}`;

function verdictOf({ outcome, mistakes, notJudged, arePeople, anyEnvironment }: Proof): string {
  const whose = arePeople ? "person" : "customer";
  switch (outcome) {
    case "proven":
      return style(
        "green",
        `Proven: neither ${whose} sees a row of the other, and without a ${whose} nobody sees any.${anyEnvironment ? " Nothing is proven of other environments (--any-environment)." : ""}`,
      );
    case "mistakes":
      return style("red", `${counted(mistakes.length, ["1 mistake", "mistakes"])}.`);
    case "not_judged":
      return style(
        "yellow",
        `Not proven: no mistake was found, and ${counted(notJudged.length, ["1 object was", "objects were"])} not judged.`,
      );
  }
}

function textOf(proof: Proof): string {
  const { mistakes, notJudged, limits, compared, arePeople } = proof;
  const whose = arePeople ? "person" : "customer";
  const found = [...mistakes, ...notJudged].map((each, index) => {
    const code = "code" in each ? String(each.code) : "not judged";
    return `${index + 1}. ${style("bold", escapeInvisible(each.object))} (${code})\n   ${escapeInvisible(each.message)}\n   Fix: ${escapeInvisible(each.fix)}`;
  });
  const rows = compared.map(({ table, rows }) => [table, ...rows.map(String)]);
  return [
    verdictOf(proof),
    ...found,
    ...(rows.length > 0 ? [tableOf([["compared", `rows of ${whose} 1`, `rows of ${whose} 2`], ...rows])] : []),
    ["Never judged:", ...limits.map((sentence) => `- ${escapeInvisible(sentence)}`)].join("\n"),
  ].join("\n\n");
}
