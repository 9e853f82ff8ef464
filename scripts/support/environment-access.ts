import { type EnvironmentClient, OperatorClient, UserGroupClient } from "../../src/client/index.ts";
import { apiKeyFrom, apiKeyRefused, type CommandError } from "../command.ts";
import { environmentOf } from "./environment.ts";
import { RESPONSE_MS_MAX } from "./http.ts";
import { operatorCredentialFor, operatorRefused } from "./operator-credential.ts";

/** The calls of one environment, and the error to show when the service refuses the credential. */
export type EnvironmentAccess = { client: EnvironmentClient; refused: (code: string) => CommandError };

type Named = { workspace?: string | undefined; environment?: string | undefined };

const RETRIES = 5;

/** How a command connects to the service at `url`. */
export const connectionTo = (url: URL) => ({ url, retries: RETRIES, timeoutMs: RESPONSE_MS_MAX });

/** Whether the options name an environment, which only operators do. */
export const namesEnvironment = ({ workspace, environment }: Named): boolean =>
  workspace !== undefined || environment !== undefined;

/** Access as an operator to the environment that the options name, or with API_KEY to that of the key. */
export function environmentAccess(named: Named, url: URL): EnvironmentAccess {
  if (!namesEnvironment(named))
    return {
      client: new UserGroupClient({ ...connectionTo(url), apiKey: apiKeyFrom(process.env) }),
      refused: (code) => apiKeyRefused(url, code),
    };
  const environment = environmentOf(named);
  const credential = operatorCredentialFor(url, process.env);
  return {
    client: new OperatorClient({ ...connectionTo(url), operatorKey: credential.text }).inEnvironment(environment),
    refused: (code) => operatorRefused(url, credential, code),
  };
}
