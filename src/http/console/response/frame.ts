import type { Environment } from "../../../../common/environment.ts";
import type { RequestContext } from "../../app-env.ts";
import { registryFor } from "../../request/admit-caller.ts";
import type { Frame } from "../components/layout.tsx";
import type { ConsoleEnv } from "../console-env.ts";

/**
 * The frame of the page that answers a request. Refusals of signed-in operators have it too, so that they can go on from there. Without
 * a valid session, and while the registry does not answer, nobody is signed in.
 */
export async function frameOf(c: RequestContext<ConsoleEnv>): Promise<Frame> {
  const { path } = c.req;
  const nobody: Frame = { signedIn: undefined, environment: undefined, path };
  const [session, presented] = [c.get("session"), c.get("presentedOperator")];
  if (!session || !presented) return nobody;
  const environment = c.get("environment");
  const near = await neighboursOf(c, environment);
  const operator = c.get("operator");
  if (!operator) return nobody;
  return {
    signedIn: { operator, ring: c.get("ring"), session, neighbours: near?.names ?? [] },
    environment: near && !near.exists ? undefined : environment,
    path,
  };
}

/** The environments to switch to; `undefined` if the registry does not say, as one of an earlier release. */
async function neighboursOf(c: RequestContext<ConsoleEnv>, environment: Environment | undefined) {
  const presented = c.get("presentedOperator");
  if (!presented) return undefined;
  try {
    const found = await registryFor(c).neighbours(presented, environment);
    return found.ok ? found.value : undefined;
  } catch {
    return undefined;
  }
}
