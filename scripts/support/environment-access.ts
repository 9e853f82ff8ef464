import { type EnvironmentClient, UserGroupClient } from "../../src/client/index.ts";
import { apiKeyFrom, apiKeyRefused, type CommandError } from "../command.ts";
import { environmentOf, type NamedEnvironment } from "./environment.ts";
import { RESPONSE_MS_MAX } from "./http.ts";
import { operatorAccess } from "./operator-credential.ts";

/** The calls of one environment, and the error to show when the service refuses the credential. */
export type EnvironmentAccess = { client: EnvironmentClient; refused: (code: string) => CommandError };

/** For commands that go on for long. */
export const PATIENT = { retries: 5, timeoutMs: RESPONSE_MS_MAX };

/** Whether the options name an environment, which only operators do. */
export const namesEnvironment = ({ workspace, environment }: NamedEnvironment): boolean =>
  workspace !== undefined || environment !== undefined;

/** Access as an operator to the environment that the options name, or with API_KEY to that of the key. */
export function environmentAccess(named: NamedEnvironment, url: URL): EnvironmentAccess {
  if (!namesEnvironment(named))
    return {
      client: new UserGroupClient({ ...PATIENT, url, apiKey: apiKeyFrom(process.env) }),
      refused: (code) => apiKeyRefused(url, code),
    };
  const environment = environmentOf(named);
  const { operator, refused } = operatorAccess(url, PATIENT);
  return { client: operator.inEnvironment(environment), refused };
}
