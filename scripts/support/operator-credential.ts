import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { type ConnectionOptions, OperatorClient } from "../../src/client/index.ts";
import { CommandError, isLoopback } from "../command.ts";
import { RESPONSE_MS_MAX } from "./http.ts";

/** The lines of a command's usage about the credential of operators. */
export const OPERATOR_CREDENTIAL_USAGE = `The operator's key is read from the environment variable OPERATOR_KEY. Without one, the bootstrap token is read from
OPERATOR_TOKEN, or else, for a service on this machine, from .dev.vars.`;

/** The credential of an operator, and the variable that holds it. */
type OperatorCredential = { variable: "OPERATOR_KEY" | "OPERATOR_TOKEN"; text: string };

/** The calls of an operator, and the error to show when the service refuses the credential. */
export function operatorAccess(url: URL, options: Omit<ConnectionOptions, "url"> = {}) {
  const credential = operatorCredentialFor(url, process.env);
  return {
    operator: new OperatorClient({ timeoutMs: RESPONSE_MS_MAX, ...options, url, operatorKey: credential.text }),
    refused: (code: string) => operatorRefused(url, credential, code),
  };
}

/**
 * Reads the credential to send to `url` from the environment or from .dev.vars. It is never an argument: others can read
 * those. The token in .dev.vars is that of the service on this machine, and is sent to no other.
 */
function operatorCredentialFor(url: URL, env: NodeJS.ProcessEnv): OperatorCredential {
  const variable = env.OPERATOR_KEY ? "OPERATOR_KEY" : "OPERATOR_TOKEN";
  if (!env[variable] && !isLoopback(url))
    throw new CommandError(
      `Set OPERATOR_KEY to the key of an operator of ${url.origin}. The token in .dev.vars is sent to a service on this machine alone.`,
    );
  const text = env[variable] || bootstrapTokenInFile();
  if (!text)
    throw new CommandError(
      "Set OPERATOR_KEY or OPERATOR_TOKEN in the environment, or start the service once to have a .dev.vars.",
    );
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new CommandError(`${variable} cannot be in a header: it holds characters other than printable ASCII.`);
  return { variable, text };
}

const bootstrapTokenInFile = (): string | undefined =>
  existsSync(".dev.vars") ? parseEnv(readFileSync(".dev.vars", "utf8")).OPERATOR_TOKEN : undefined;

/** For a 401: names the variable of the refused credential, and what the command takes. */
const operatorRefused = (url: URL, { variable }: OperatorCredential, code: string): CommandError =>
  new CommandError(
    `The service at ${url.origin} refused ${variable} (${code}). This command takes the key of an operator of that service, which begins with ugo_, in OPERATOR_KEY, or its bootstrap token in OPERATOR_TOKEN or .dev.vars.`,
  );
