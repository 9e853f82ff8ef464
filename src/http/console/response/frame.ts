import type { RequestContext } from "../../app-env.ts";
import { registryFor } from "../../request/admit-caller.ts";
import type { Frame } from "../components/layout.tsx";
import type { ConsoleEnv } from "../console-env.ts";
import { ifAnswered } from "../request/if-answered.ts";

/**
 * The frame of the page that answers a request. Refusals of signed-in operators have it too, so that they can go on from there. Without
 * a valid session, nobody is signed in. While the registry does not answer, the frame has no environments to switch to.
 */
export async function frameOf(c: RequestContext<ConsoleEnv>): Promise<Frame> {
  const { path } = c.req;
  const nobody: Frame = { signedIn: undefined, environment: undefined, path };
  const [session, presented] = [c.get("session"), c.get("presentedOperator")];
  if (!session || !presented) return nobody;
  const environment = c.get("environment");
  const found = await ifAnswered(async () => registryFor(c).neighbours(presented, environment));
  const near = found?.ok ? found.value : undefined;
  const operator = c.get("operator");
  if (!operator || found?.ok === false) return nobody;
  return {
    signedIn: { operator, ring: c.get("ring"), session, neighbours: near?.names ?? [] },
    environment: near && !near.exists ? undefined : environment,
    path,
  };
}
