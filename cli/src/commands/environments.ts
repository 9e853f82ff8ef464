/** `ug environments`: the environments of the deployment. */
import type { Command } from "commander";
import type { OperatorClient } from "../../../client/src/index.ts";
import { tagWord } from "../../../common/environment.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { operatorAction, serviceCommand } from "../command.ts";
import { commandGroup } from "../help.ts";
import { tableOfItems } from "../support/table.ts";
import { toWire } from "../wire.ts";

export const command = (): Command =>
  commandGroup(
    "environments",
    {
      summary: "list the environments of the deployment",
      examples: { "ug environments list": "all workspaces, and where each environment is placed" },
      notes: "The first API key creates an environment: ug keys issue --create.",
    },
    [listCommand()],
  );

const listCommand = () =>
  serviceCommand("list", {
    summary: "list the environments of all workspaces, and where each is placed",
    examples: {
      "ug environments list": "a table",
      "ug environments list --json | jq -r '.environments[].workspace'": "the workspaces",
    },
    notes: "This command takes the key of an operator, in OPERATOR_KEY.",
  }).action(
    operatorAction(async (operator: OperatorClient) => {
      const environments = await Array.fromAsync(operator.environments({ pageSize: LIST_ITEMS_MAX }));
      const text = tableOfItems(
        ["workspace", "environment", "location", "created_at"],
        environments.map((environment) => ({ ...toWire(environment), environment: tagWord(environment.environment) })),
      );
      return { body: { success: 1, environments: environments.map(toWire), next_cursor: null }, text };
    }),
  );
