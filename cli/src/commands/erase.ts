/** `ug erase`: deletes an environment for good. */
import type { Command } from "commander";
import type { OperatorClient } from "../../../client/src/index.ts";
import { operatorAction, requireYes, serviceCommand } from "../command.ts";
import { environmentName, environmentOf } from "../environment-options.ts";
import type { ServiceOptions } from "../service-access.ts";

export const command = (): Command =>
  serviceCommand("erase", {
    summary: "permanently delete all groups, keys and events of an environment",
    examples: {
      "ug erase --workspace acme --environment Testing": "says what it would delete, and changes nothing",
      "ug erase --workspace acme --environment Testing --confirm acme/Testing": "erases it; this has no undo",
    },
    notes:
      "This command takes the key of an admin, in OPERATOR_KEY. docs/operators/customers.md says where copies are left, and until when.",
    inEnvironment: true,
    change: "final",
    lost: "workspace/environment",
  }).action(
    operatorAction(async (operator: OperatorClient, options: ServiceOptions) => {
      const environment = environmentOf(options);
      const name = environmentName(environment);
      const todo = `A backup first: ug backup FILE. To erase it, add --confirm ${name}.`;
      const byName = { ...options, yes: false };
      requireYes(byName, `delete all groups, keys and events of ${name} for good`, { name, todo });
      await operator.eraseEnvironment({ ...environment, confirm: name, reason: options.reason });
      return { body: { success: 1, erased: name }, text: `Erased ${name}.` };
    }),
  );
