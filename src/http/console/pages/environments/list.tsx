import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName } from "../../../../../common/environment.ts";
import { ENVIRONMENTS_NEAR_MAX, SEARCH_UNITS_MAX } from "../../../../../common/limits.ts";
import type { Operator } from "../../../../domain/credentials/caller.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { ListedGroup, StoredEnvironment } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { directoryOf } from "../../../durable-objects.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { EnvironmentsQuery } from "../../../resources/environments/schemas.ts";
import { Done } from "../../components/done.tsx";
import { GroupTable } from "../../components/groups.tsx";
import { List, rowsBefore } from "../../components/list.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { CREATE_ENVIRONMENT, ENVIRONMENTS, environmentPath, withQuery } from "../../paths.ts";
import { ifAnswered } from "../../request/if-answered.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "100";
/** How many groups of each environment a search shows, of those that exist and of deleted ones. */
const GROUPS_SHOWN = 5;
const DONE = { erased: "The environment is erased: its groups, keys and events are gone." };

type Call = RequestContext<SignedInEnv>;

/** Groups that a search has found in one environment. */
type Found = { environment: Environment; groups: ListedGroup[] };

/** The environments of the deployment; with a search, those with it in their names, and groups of the first ones. */
export const listEnvironments = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const own = ["search", "done", "from"];
  const { fields, value, issues } = readPageQuery(c, EnvironmentsQuery(), { defaults: { limit: ROWS }, own });
  const search = (c.req.query("search") ?? "").trim().slice(0, SEARCH_UNITS_MAX) || undefined;
  const query = { ...(value ?? { start: 0, limit: Number(ROWS) }), search: search?.toLowerCase() };
  const listed = await registryFor(c).listEnvironments(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { environments, next, operator } = listed.value;
  const found = search === undefined ? [] : await findGroups(c, operator, search);
  return respondWithPage(c, {
    title: search === undefined ? "Environments" : "Search",
    subline: search !== undefined && (
      <>
        <q>
          <Text value={search} />
        </q>{" "}
        in the names of environments, and in the names and ids of groups of the first {ENVIRONMENTS_NEAR_MAX}.{" "}
        <a href={ENVIRONMENTS}>Show all environments</a>
      </>
    ),
    issues,
    actions: allowsRole(operator.role, "admin") && (
      <a class="button" href={CREATE_ENVIRONMENT}>
        Create an environment
      </a>
    ),
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        {found.map((each) => (
          <FoundGroups search={search ?? ""} {...each} />
        ))}
        {(found.length === 0 || environments.length > 0) && (
          <List
            label="Environments"
            isEmpty={environments.length === 0}
            empty={search === undefined ? NONE : "Nothing was found. Try a shorter part of the name."}
            paging={{
              path: ENVIRONMENTS,
              fields: { search },
              cursor: fields.cursor,
              nextCursor: numberCursorOf(next),
              rows: environments.length,
              from: rowsBefore(c.req.query("from")),
            }}
          >
            {found.length > 0 && <h2>Environments</h2>}
            <EnvironmentTable environments={environments} />
          </List>
        )}
      </>
    ),
  });
});

const NONE = "No environments yet. Create one with its first API key: one for tests, and one for customers.";

/** Searches the groups of the first environments, those that exist and deleted ones. */
async function findGroups(c: Call, operator: Operator, search: string): Promise<Found[]> {
  const near = await ifAnswered(async () => registryFor(c).neighbours(c.get("presentedOperator"), undefined));
  const environments = near?.ok ? near.value.names.map(parseDirectoryName) : [];
  const found = await Promise.all(
    environments.map(async (environment) => {
      const directory = directoryOf(c.env, environment);
      const query = { start: undefined, prefix: undefined, search, limit: GROUPS_SHOWN };
      const pages = await Promise.all(
        [undefined, "deleted" as const].map((state) =>
          ifAnswered(async () => directory.search(operator, { ...query, state })),
        ),
      );
      return { environment, groups: pages.flatMap((page) => (page?.ok ? page.value.groups : [])) };
    }),
  );
  return found.filter(({ groups }) => groups.length > 0);
}

const FoundGroups: FC<Found & { search: string }> = ({ environment, groups, search }) => (
  <>
    <h2>Groups of {directoryName(environment)}</h2>
    <GroupTable environment={environment} groups={groups} />
    <p>
      <a href={withQuery(`${environmentPath(environment)}/groups`, { search })}>
        All results in {directoryName(environment)}
      </a>
    </p>
  </>
);

const EnvironmentTable: FC<{ environments: StoredEnvironment[] }> = ({ environments }) => {
  const hasPlaces = environments.some(({ location }) => location !== null);
  return (
    <table>
      <thead>
        <tr>
          <th>Environment</th>
          {hasPlaces && <th class="fit mid">Place</th>}
          <th class="fit mid">Created</th>
        </tr>
      </thead>
      <tbody>
        {environments.map(({ name, location, createdAt }) => (
          <tr>
            <td>
              <a href={environmentPath(parseDirectoryName(name))}>{name}</a>
            </td>
            {hasPlaces && <td class="fit mid">{location ?? "–"}</td>}
            <td class="fit mid">
              <Time at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};
