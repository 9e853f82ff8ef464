import type { FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName } from "../../../../../common/environment.ts";
import { SEARCH_UNITS_MAX } from "../../../../../common/limits.ts";
import { ok, type Result } from "../../../../../common/result.ts";
import type { Operator } from "../../../../domain/credentials/caller.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { Failure } from "../../../../domain/failure.ts";
import type { ListedGroup, StoredEnvironment } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { directoryOf, ifAnswered, isKnownDamaged } from "../../../durable-objects.ts";
import { admitAgain, registryFor } from "../../../request/admit-caller.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { EnvironmentsQuery } from "../../../resources/environments/wire.ts";
import { Badge, Done } from "../../components/detail.tsx";
import { GroupTable } from "../../components/group-table.tsx";
import { type Column, List, rowsBefore, Table } from "../../components/list.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { CREATE_ENVIRONMENT, ENVIRONMENTS, environmentPath, withQuery } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "100";
const DONE = { erased: "The environment is erased: its groups, keys and events are gone." };

/**
 * The environments of the deployment; with a search, those with it in their names, and groups of all. A page that has not searched each
 * environment leads to one that goes on from the number `further`.
 */
export async function listEnvironments(c: Call): Promise<Response> {
  const own = ["search", "done", "from", "further"];
  const { fields, value, issues } = readPageQuery(c, EnvironmentsQuery(), { defaults: { limit: ROWS }, own });
  const search = searchOf(c);
  const query = { ...(value ?? { start: 0, limit: Number(ROWS) }), search: search?.toLowerCase() };
  const listed = await registryFor(c).listEnvironments(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { next, operator } = listed.value;
  const further = rowsBefore(c.req.query("further"));
  const environments = further === undefined ? listed.value.environments : [];
  const found = await findGroups(c, operator, { search, start: further });
  if (!found.ok) return refuseWithPage(c, found.failure);
  const groups = found.value;
  return respondWithPage(c, {
    title: search === undefined ? "Environments" : "Search",
    subline: search !== undefined && <Searched search={search} />,
    issues,
    actions: allowsRole(operator.role, "admin") && (
      <a class="button" href={CREATE_ENVIRONMENT}>
        Create an environment
      </a>
    ),
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        {groups && <FoundGroups search={search ?? ""} {...groups} />}
        {(environments.length > 0 || isNothing(groups)) && (
          <List
            label="Environments"
            isEmpty={environments.length === 0}
            empty={groups ? "Nothing was found. Try a shorter part of the name." : NONE}
            paging={{
              path: ENVIRONMENTS,
              fields: { search },
              cursor: fields.cursor,
              nextCursor: numberCursorOf(next),
              rows: environments.length,
              from: rowsBefore(c.req.query("from")),
            }}
          >
            {groups && <h2>Environments</h2>}
            <EnvironmentTable environments={environments} />
          </List>
        )}
      </>
    ),
  });
}

const searchOf = (c: RequestContext<SignedInEnv>): string | undefined =>
  (c.req.query("search") ?? "").trim().slice(0, SEARCH_UNITS_MAX) || undefined;

const Searched: FC<{ search: string }> = ({ search }) => (
  <>
    <q>
      <Text value={search} />
    </q>{" "}
    in the names of environments, and in the names and ids of groups. <a href={ENVIRONMENTS}>Show all environments</a>
  </>
);

const NONE = "No environments yet. Create one with its first API key: one for tests, and one for customers.";

const EnvironmentName: FC<{ name: string }> = ({ name }) => (
  <>
    <a href={environmentPath(parseDirectoryName(name))}>{name}</a>
    {isKnownDamaged(name) && (
      <>
        {" "}
        <Badge state="suspended" text="damaged" />
      </>
    )}
  </>
);

const EnvironmentTable: FC<{ environments: StoredEnvironment[] }> = ({ environments }) => {
  const place: Column<StoredEnvironment> = ["Place", "fit mid", ({ location }) => location ?? "–"];
  return (
    <Table
      rows={environments}
      columns={[
        ["Environment", "", ({ name }) => <EnvironmentName name={name} />],
        ...(environments.some(({ location }) => location !== null) ? [place] : []),
        ["Created", "fit mid", ({ createdAt }) => <Time at={createdAt} />],
      ]}
    />
  );
};

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
const isNothing = (search: Search | undefined): boolean =>
  !search || (search.found.length === 0 && search.next === null);

/**
 * Searches the groups of environments, those that exist and deleted ones, from the number `start` on until it has found some. An environment
 * that does not answer is among what it has found, and the search goes on. Refuses an operator whose rights have ended meanwhile.
 */
async function findGroups(
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
  return admitAgain(c, ok({ found, next, hasWaited }));
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
const FoundGroups: FC<Search & { search: string }> = ({ found, next, search }) => (
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
