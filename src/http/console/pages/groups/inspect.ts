import type { InspectedGroup } from "../../../../domain/user-groups/overview.ts";
import type { RequestContext } from "../../../app-env.ts";
import { pathNumber } from "../../../request/path-number.ts";
import type { EnvironmentEnv } from "../../console-env.ts";
import { refuseWithPage } from "../../response/respond-with-page.tsx";

/** The group that a page is about, or the page that refuses. */
export async function inspectGroup(
  c: RequestContext<EnvironmentEnv>,
  teamId: string,
): Promise<InspectedGroup | Response> {
  const inspected = await c.get("directory").inspect(c.get("operator"), pathNumber(teamId));
  return inspected.ok ? inspected.value : refuseWithPage(c, inspected.failure);
}
