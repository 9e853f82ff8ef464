import type { Environment } from "../../../common/environment.ts";
import type { OperatorContext } from "../app-env.ts";
import { directoryOf } from "../durable-objects.ts";
import { registryFor } from "../request/admit-caller.ts";

/** Erases an environment for good. @throws the error of its directory, if that is why the registry fails. */
export async function eraseEnvironmentIn(c: OperatorContext, environment: Environment) {
  try {
    return await registryFor(c).eraseEnvironment(c.get("presentedOperator"), environment);
  } catch (error) {
    await directoryOf(c.env, environment).hasNoKeys();
    throw error;
  }
}
