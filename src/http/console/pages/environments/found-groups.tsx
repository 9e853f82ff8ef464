import type { FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName } from "../../../../../common/environment.ts";
import type { Operator } from "../../../../domain/credentials/caller.ts";
import type { ListedGroup } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { directoryOf } from "../../../durable-objects.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { GroupTable } from "../../components/groups.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { ENVIRONMENTS, environmentPath, withQuery } from "../../paths.ts";
import { ifAnswered } from "../../request/if-answered.ts";

/** How many groups of each environment a search shows, of those that exist and of deleted ones. */
const GROUPS_SHOWN = 5;
/** How many environments are searched at the same time. */
const AT_ONCE = 8;
/** For how long a search goes on to further environments until it has found something, and to how many at most. */
const SEARCH_MS_MAX = 8000;
const SEARCHED_MAX = 160;

type Call = RequestContext<SignedInEnv>;

/** Groups that a search has found in one environment, and whether it has more groups than were searched. */
type Found = { environment: Environment; groups: ListedGroup[]; hasMore: boolean };

/** What a search has found, and the number of the first environment that it has not searched; `null` after the last one. */
type Search = { found: Found[]; next: number | null };

/** Whether there is nothing to show of a search, or none was made. */
export const isNothing = (search: Search | undefined): boolean =>
  !search || (search.found.length === 0 && search.next === null);

/** Searches the groups of environments, those that exist and deleted ones, from the number `start` on until it has found some. */
export async function findGroups(
  c: Call,
  operator: Operator,
  { search, start }: { search: string; start: number },
): Promise<Search> {
  const endsAt = Date.now() + SEARCH_MS_MAX;
  let next: number | null = start;
  for (let searched = 0; next !== null && searched < SEARCHED_MAX && Date.now() < endsAt; searched += AT_ONCE) {
    const query: { start: number; limit: number } = { start: next, limit: AT_ONCE };
    const listed = await ifAnswered(async () => registryFor(c).listEnvironments(c.get("presentedOperator"), query));
    if (!listed?.ok) return { found: [], next };
    const found = await Promise.all(listed.value.environments.map(({ name }) => findIn(c, operator, { name, search })));
    next = listed.value.next;
    const some = found.filter(({ groups, hasMore }) => groups.length > 0 || hasMore);
    if (some.length > 0) return { found: some, next };
  }
  return { found: [], next };
}

async function findIn(c: Call, operator: Operator, { name, search }: { name: string; search: string }): Promise<Found> {
  const environment = parseDirectoryName(name);
  const directory = directoryOf(c.env, environment);
  const query = { start: undefined, prefix: undefined, search, limit: GROUPS_SHOWN };
  const pages = await Promise.all(
    [undefined, "deleted" as const].map((state) =>
      ifAnswered(async () => directory.search(operator, { ...query, state })),
    ),
  );
  const read = pages.flatMap((page) => (page?.ok ? [page.value] : []));
  return {
    environment,
    groups: read.flatMap(({ groups }) => groups),
    hasMore: read.some(({ next }) => next !== null),
  };
}

/** The groups of each environment that a search has found, and the way to what it has not searched. */
export const FoundGroups: FC<Search & { search: string }> = ({ found, next, search }) => (
  <>
    {found.map(({ environment, groups }) => (
      <>
        <h2>Groups of {directoryName(environment)}</h2>
        {groups.length > 0 && <GroupTable environment={environment} groups={groups} />}
        <p>
          <a href={withQuery(`${environmentPath(environment)}/groups`, { search })}>
            {groups.length > 0 ? "All results in" : "None so far. Search on in"} {directoryName(environment)}
          </a>
        </p>
      </>
    ))}
    {next !== null && (
      <p>
        {found.length === 0 && "No group was found so far, and there are more environments. "}
        <a class="button" href={withQuery(ENVIRONMENTS, { search, further: String(next) })}>
          Search further environments
        </a>
      </p>
    )}
  </>
);
