/** `ug erase`: deletes an environment for good. */
import type { Command } from "commander";
import type { OperatorClient } from "../../../client/src/index.ts";
import { CommandError } from "../../../common/command-error.ts";
import { announce, operatorAction, serviceCommand } from "../command.ts";
import { describedTarget } from "../contexts/context-store.ts";
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
      "This command takes the key of an admin, in OPERATOR_KEY. docs/operators/erasing.md says where copies are left, and until when.",
    inEnvironment: true,
    takesReason: true,
  })
    .option(
      "--confirm <workspace/environment>",
      "confirm with the name of the environment; without it, nothing is deleted",
    )
    .action(
      operatorAction(async (operator: OperatorClient, options: ServiceOptions & { confirm?: string }) => {
        const environment = environmentOf(options);
        const name = environmentName(environment);
        if (options.confirm !== name)
          throw new CommandError(
            `This would delete all groups, keys and events of ${name} for good, at ${describedTarget(options.target)}. Nothing was changed. ` +
              `A backup first: ug backup FILE. To erase it, add --confirm ${name}.`,
            { code: "not_confirmed" },
          );
        announce(options, `delete all groups, keys and events of ${name} for good`);
        const { confirm, reason } = options;
        await operator.eraseEnvironment({ ...environment, confirm, reason });
        return { body: { success: 1, erased: name }, text: `Erased ${name}.` };
      }),
    );
