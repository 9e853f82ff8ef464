/** `npm run environments`: the environments of the deployment. No secret is an argument. */
import { runCommand, URL_USAGE, type ValuesOf } from "./command.ts";
import { tagOf } from "./support/environment.ts";
import { JSON_USAGE, OUTPUT_OPTIONS, runSubcommand, type Subcommand } from "./support/operator-command.ts";
import { OPERATOR_CREDENTIAL_USAGE } from "./support/operator-credential.ts";
import { tableOfItems } from "./support/table.ts";
import { toWire } from "./support/wire.ts";

const USAGE = `Usage: npm run --silent environments -- list [options]

  list        list the environments of all workspaces, and where each is placed

${URL_USAGE}
${JSON_USAGE}

${OPERATOR_CREDENTIAL_USAGE}`;

const ENVIRONMENTS_PER_PAGE = 1000;

type Values = ValuesOf<typeof OUTPUT_OPTIONS>;

const SUBCOMMANDS: Record<string, Subcommand<Values>> = {
  list: {
    options: [],
    takesId: false,
    run: async (operator) => {
      const environments = await Array.fromAsync(operator.environments({ pageSize: ENVIRONMENTS_PER_PAGE }));
      const text = tableOfItems(
        ["workspace", "environment", "location", "created_at"],
        environments.map((environment) => ({ ...toWire(environment), environment: tagOf(environment) })),
      );
      return { body: { success: 1, environments: environments.map(toWire), next_cursor: null }, text };
    },
  },
};

await runCommand({
  usage: USAGE,
  options: OUTPUT_OPTIONS,
  run: (values, positionals) => runSubcommand(SUBCOMMANDS, values, positionals),
});
