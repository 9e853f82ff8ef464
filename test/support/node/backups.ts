import { type Outcome, runCommand, withoutCredential } from "./commands.ts";
import type { PlainService } from "./plain-workerd.ts";

/** The variables by which a command calls a service as its first admin. */
export const envOf = ({ url, operatorToken }: PlainService) => ({ SERVICE_URL: url, OPERATOR_TOKEN: operatorToken });

/** Runs commands as the first admin of a service. Throws if one prints a credential. */
export const commandsOf =
  (service: PlainService) =>
  (...[name = "", ...args]: string[]): Promise<Outcome> =>
    withoutCredential(runCommand(name, args, envOf(service)));
