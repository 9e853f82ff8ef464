import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import { registryFor } from "../../request/admit-caller.ts";
import type { EnvironmentEnv } from "../console-env.ts";

/** Admits an operator again whose list has waited for its turn, because the session may have ended. Returns the failure. */
export async function admitAgain(
  c: RequestContext<EnvironmentEnv>,
  { hasWaited }: { hasWaited: boolean },
): Promise<Failure | undefined> {
  if (!hasWaited) return undefined;
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", c.get("environment"));
  return admitted.ok ? undefined : admitted.failure;
}
