import type { Environment } from "../../../../../common/environment.ts";
import type { ShownGroup } from "../../../../domain/feed/endings.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { GroupState, ListedGroup } from "../../../../records.ts";
import { pathNumber } from "../../../request/query.ts";
import type { Crumbs } from "../../components/layout.tsx";
import { plainText } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { environmentPath, groupPath, withQuery } from "../../paths.ts";
import { refuseWithPage } from "../../response/respond-with-page.tsx";

/** The handler of a page about a group, which the path names. */
export const withGroup =
  (answer: (c: EnvironmentCall, group: ShownGroup) => Response | Promise<Response>) =>
  async (c: EnvironmentCall): Promise<Response> => {
    const inspected = await c.get("directory").inspect(c.get("operator"), pathNumber(c.req.param("team_id")));
    return inspected.ok ? answer(c, inspected.value.group) : refuseWithPage(c, inspected.failure);
  };

/** The pages above a page of a group: the list, the part of it with the group, and the group. */
export function groupCrumbs(environment: Environment, group: ListedGroup): Crumbs {
  const list = `${environmentPath(environment)}/groups`;
  const state = stateOf(group);
  return [
    [list, "Groups"],
    ...(state === "active" ? [] : [[withQuery(list, { state }), STATE_NAMES[state]] satisfies [string, string]]),
    [groupPath(environment, group.teamId), plainText(group.name)],
  ];
}

export const STATE_NAMES: Record<GroupState, string> = { active: "Active", suspended: "Suspended", deleted: "Deleted" };
