import { CREDENTIAL_PATTERN } from "../credential-pattern.ts";
import { type Outcome, runCommand } from "./commands.ts";
import type { PlainService } from "./plain-workerd.ts";

/** The variables by which a command calls a service as its first admin. */
export const envOf = ({ url, operatorToken }: PlainService) => ({ SERVICE_URL: url, OPERATOR_TOKEN: operatorToken });

/** Runs commands as the first admin of a service. Throws if one prints a credential. */
export const commandsOf =
  (service: PlainService) =>
  async (...[name = "", ...args]: string[]): Promise<Outcome> => {
    const outcome = await runCommand(name, args, envOf(service));
    if (CREDENTIAL_PATTERN.test(outcome.stdout + outcome.stderr))
      throw new Error("The command has printed a credential.");
    return outcome;
  };
