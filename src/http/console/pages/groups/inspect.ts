import type { Environment } from "../../../../../common/environment.ts";
import type { InspectedGroup } from "../../../../domain/user-groups/overview.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { pathNumber } from "../../../request/query.ts";
import { plainText } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, groupPath, withQuery } from "../../paths.ts";
import { refuseWithPage } from "../../response/respond-with-page.tsx";

/** The group that a page is about, or the page that refuses. */
export async function inspectGroup(c: RequestContext<EnvironmentEnv>): Promise<InspectedGroup | Response> {
  const inspected = await c.get("directory").inspect(c.get("operator"), pathNumber(c.req.param("team_id")));
  return inspected.ok ? inspected.value : refuseWithPage(c, inspected.failure);
}

/** The pages above a page of a group: the list, the part of it with the group, and the group. */
export function groupCrumbs(environment: Environment, group: ListedGroup): [path: string, text: string][] {
  const list = `${environmentPath(environment)}/groups`;
  const state = stateOf(group);
  return [
    [list, "Groups"],
    ...(state === "active" ? [] : [[withQuery(list, { state }), STATES[state]] satisfies [string, string]]),
    [groupPath(environment, group.teamId), plainText(group.name)],
  ];
}

const STATES = { suspended: "Suspended", deleted: "Deleted" };
