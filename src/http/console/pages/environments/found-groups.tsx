import type { FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName } from "../../../../../common/environment.ts";
import { fail, ok, type Result } from "../../../../../common/result.ts";
import type { Operator } from "../../../../domain/credentials/caller.ts";
import type { Failure } from "../../../../domain/failure.ts";
import type { ListedGroup } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { directoryOf } from "../../../durable-objects.ts";
import { admitAgain, registryFor } from "../../../request/admit-caller.ts";
import { GroupTable } from "../../components/group-table.tsx";
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

/**
 * Groups that a search has found in one environment, whether it has more groups than were searched, and whether it has answered: it does not
 * while a backup is restored, for example.
 */
type Found = { environment: Environment; groups: ListedGroup[]; hasMore: boolean; hasAnswered: boolean };

/** What was found, and whether the search has waited for other reads of the environment. */
type Waited = Found & { hasWaited: boolean };

/** What a search has found, and the number of the first environment that it has not searched; `null` after the last one. */
type Search = { found: Found[]; next: number | null };

/** Whether there is nothing to show of a search, or none was made. */
export const isNothing = (search: Search | undefined): boolean =>
  !search || (search.found.length === 0 && search.next === null);

/**
 * Searches the groups of environments, those that exist and deleted ones, from the number `start` on until it has found some. An environment
 * that does not answer is among what it has found, and the search goes on. Refuses an operator whose rights have ended meanwhile.
 */
export async function findGroups(
  c: Call,
  operator: Operator,
  { search, start = 0 }: { search: string | undefined; start: number | undefined },
): Promise<Result<Search | undefined, Failure>> {
  if (search === undefined) return ok(undefined);
  const endsAt = Date.now() + SEARCH_MS_MAX;
  const found: Found[] = [];
  let next: number | null = start;
  let hasWaited = false;
  for (let searched = 0; next !== null && searched < SEARCHED_MAX && Date.now() < endsAt; searched += AT_ONCE) {
    const query: { start: number; limit: number } = { start: next, limit: AT_ONCE };
    const listed = await ifAnswered(async () => registryFor(c).listEnvironments(c.get("presentedOperator"), query));
    if (!listed?.ok) break;
    const all = await Promise.all(listed.value.environments.map(({ name }) => findIn(c, operator, { name, search })));
    next = listed.value.next;
    hasWaited ||= all.some((each) => each.hasWaited);
    const some = all.filter(({ groups, hasMore }) => groups.length > 0 || hasMore);
    found.push(...all.filter((each) => some.includes(each) || !each.hasAnswered));
    if (some.length > 0) break;
  }
  const failure = await admitAgain(c, { hasWaited });
  return failure ? fail(failure) : ok({ found, next });
}

async function findIn(
  c: Call,
  operator: Operator,
  { name, search }: { name: string; search: string },
): Promise<Waited> {
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
    hasAnswered: read.length === pages.length,
    hasWaited: read.some((page) => page.hasWaited),
  };
}

const leadTo = ({ groups, hasAnswered }: Found): string => {
  if (!hasAnswered) return "Not all could be searched. Search again in";
  return groups.length > 0 ? "All results in" : "None so far. Search on in";
};

/** The groups of each environment that a search has found, and the way to what it has not searched. */
export const FoundGroups: FC<Search & { search: string }> = ({ found, next, search }) => (
  <>
    {found.map((each) => (
      <>
        <h2>Groups of {directoryName(each.environment)}</h2>
        {each.groups.length > 0 && <GroupTable environment={each.environment} groups={each.groups} />}
        <p>
          <a href={withQuery(`${environmentPath(each.environment)}/groups`, { search })}>
            {leadTo(each)} {directoryName(each.environment)}
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
