import type { Environment } from "../../../common/environment.ts";
import type { PresentedOperator } from "../../domain/credentials/caller.ts";
import type { RequestContext } from "../app-env.ts";
import { directoryOf } from "../durable-objects.ts";
import { registryFor } from "../request/admit-caller.ts";

/** Erases an environment for good. @throws the error of its directory, if that is why the registry fails. */
export async function eraseEnvironmentIn(c: RequestContext, presented: PresentedOperator, environment: Environment) {
  try {
    return await registryFor(c).eraseEnvironment(presented, environment);
  } catch (error) {
    await directoryOf(c.env, environment).hasNoKeys();
    throw error;
  }
}
