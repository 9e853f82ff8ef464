import type { Child } from "hono/jsx";
import type * as z from "zod/mini";
import { GROUPS_COUNTED_MAX } from "../../../../../common/limits.ts";
import { ok, type Result } from "../../../../../common/result.ts";
import type { Failure } from "../../../../domain/failure.ts";
import type { GroupPage } from "../../../../domain/user-groups/group-page.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import { GROUP_STATES, type GroupState, type ListedGroup } from "../../../../records.ts";
import { ifAnswered } from "../../../durable-objects.ts";
import { eachOnce, exactGroups, listGroups as findGroups } from "../../../operations/user-groups.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { listCursorOf } from "../../../resources/cursor.ts";
import { ListQuery } from "../../../resources/user-groups-by-number/wire.ts";
import { GroupTable } from "../../components/group-table.tsx";
import { countText, List, ROWS, type Tab } from "../../components/list.tsx";
import { Text } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { environmentPath, withQuery } from "../../paths.ts";
import { readPageQuery } from "../../request/form-fields.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";
import { STATE_NAMES } from "./group-page.ts";

const DELETED_SHOWN = 10;
/** For how long a search goes on by itself until it has found something. One call of it ends after 100,000 groups. */
const SEARCH_MS_MAX = 8000;

type Call = EnvironmentCall;
type Query = z.output<ReturnType<typeof ListQuery>>;
type Found = { groups: ListedGroup[]; next: GroupPage["next"] };

export async function listGroups(c: Call): Promise<Response> {
  const environment = c.get("environment");
  const { fields, value: query, issues } = readPageQuery(c, ListQuery(), { defaults: { limit: String(ROWS) } });
  const listed = query ? await read(c, query) : ok({ groups: [], next: null });
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { groups, next } = listed.value;
  const { search, user_group_id_prefix: prefix, last_viewed_before: notSince, state, cursor } = fields;
  const path = `${environmentPath(environment)}/groups`;
  const isFirstOfSearch = query?.search !== undefined && cursor === undefined;
  const { exact, deleted } = isFirstOfSearch ? await besidesOf(c, query) : { exact: [], deleted: [] };
  const shown = eachOnce([...exact, ...groups]);
  const others = deleted.filter(({ teamId }) => shown.every((group) => group.teamId !== teamId));
  const counts = await countsOf(c);
  return respondWithPage(c, {
    title: "Groups",
    subline: conditionOf(withQuery(path, { state }), fields),
    issues,
    children: (
      <List
        tabs={{ label: "States", tabs: tabsOf(path, fields, counts) }}
        isEmpty={shown.length === 0 && others.length === 0}
        empty={query ? emptyText(fields, next !== null) : "Nothing was looked for."}
        paging={{
          path,
          fields: { search, user_group_id_prefix: prefix, last_viewed_before: notSince, state },
          cursor,
          nextCursor: listCursorOf(next, query ?? {}),
        }}
      >
        {shown.length > 0 && <GroupTable environment={environment} groups={shown} />}
        {others.length > 0 && (
          <>
            <h2>Deleted</h2>
            <GroupTable environment={environment} groups={others} />
          </>
        )}
      </List>
    ),
  });
}

/** One page of the groups. A search that finds nothing in one call goes on. */
async function read(c: Call, query: Query): Promise<Result<Found, Failure>> {
  const endsAt = Date.now() + SEARCH_MS_MAX;
  for (let { start } = query; ; ) {
    const listed = await admitAgain(c, await findGroups(c.get("directory"), c.get("operator"), { ...query, start }));
    if (!listed.ok) return listed;
    const { groups, next } = listed.value;
    if (groups.length > 0 || next === null || Date.now() >= endsAt) return ok({ groups, next });
    start = next;
  }
}

/** What a search finds besides others: the group with exactly this number or id, which comes first, and deleted ones. */
async function besidesOf(c: Call, query: Query): Promise<Record<"exact" | "deleted", ListedGroup[]>> {
  const [exact, deleted] = await Promise.all([
    exactGroups(c.get("directory"), c.get("operator"), query.search ?? ""),
    query.state === undefined ? read(c, { ...query, state: "deleted", limit: DELETED_SHOWN }) : undefined,
  ]);
  const isWanted = (group: ListedGroup) => query.state === undefined || stateOf(group) === query.state;
  return { exact: exact.filter(isWanted), deleted: deleted?.ok ? deleted.value.groups : [] };
}

type Fields = Record<string, string>;

const isFiltered = ({ search, user_group_id_prefix, last_viewed_before }: Fields): boolean =>
  [search, user_group_id_prefix, last_viewed_before].some((each) => each !== undefined);

/** What a list is restricted to, besides the text of the search, which is in its field. */
const conditionOf = (path: string, fields: Fields): Child => {
  const { user_group_id_prefix: prefix, last_viewed_before: notSince } = fields;
  if (!isFiltered(fields)) return null;
  return [
    prefix !== undefined && ["Id begins with ", <Text in="q" value={prefix} />, ". "],
    notSince !== undefined && `Not viewed since ${notSince}. `,
    <a href={path}>Show all</a>,
  ];
};

type Counts = Partial<Record<GroupState | "all", string>>;

/** How many groups there are in each state, as far as they are counted. */
async function countsOf(c: Call): Promise<Counts | undefined> {
  const counted = await ifAnswered(async () => c.get("directory").countGroups(c.get("operator")));
  if (!counted?.ok) return undefined;
  const { existing, deleted, suspended, isEachCounted } = counted.value;
  const isExact = isEachCounted && existing <= GROUPS_COUNTED_MAX;
  return {
    all: countText(existing),
    ...(isExact && { active: countText(existing - suspended) }),
    suspended: isEachCounted ? suspended.toLocaleString("en") : `${suspended.toLocaleString("en")}+`,
    deleted: countText(deleted),
  };
}

function tabsOf(path: string, { state: current, search }: Fields, counts: Counts = {}): Tab[] {
  const all = { path: withQuery(path, { search }), text: "All", count: counts.all, isCurrent: current === undefined };
  const states = GROUP_STATES.map((state) => ({
    path: withQuery(path, { state, search }),
    text: STATE_NAMES[state],
    count: counts[state],
    isCurrent: state === current,
  }));
  return [all, ...states];
}

function emptyText(fields: Fields, goesOn: boolean): Child {
  const { state } = fields;
  if (goesOn) return "Nothing was found so far, and there are more groups. The next page goes on.";
  if (isFiltered(fields)) return "No group is like that. Try a shorter part of the name, or all states.";
  if (state === "deleted") return "No deleted groups. A deleted group can be restored from here, until it is purged.";
  if (state === "suspended") return "No group is suspended.";
  return "No groups yet. The integrator's backend creates them: its first call for a customer makes a group.";
}
