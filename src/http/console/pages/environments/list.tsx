import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import { parseDirectoryName } from "../../../../../common/environment.ts";
import { SEARCH_UNITS_MAX } from "../../../../../common/limits.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { StoredEnvironment } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { EnvironmentsQuery } from "../../../resources/environments/schemas.ts";
import { Done } from "../../components/done.tsx";
import { List, rowsBefore } from "../../components/list.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { CREATE_ENVIRONMENT, ENVIRONMENTS, environmentPath } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";
import { FoundGroups, findGroups, isNothing } from "./found-groups.tsx";

const ROWS = "100";
const DONE = { erased: "The environment is erased: its groups, keys and events are gone." };

/**
 * The environments of the deployment; with a search, those with it in their names, and groups of all. A page that has not searched each
 * environment leads to one that goes on from the number `further`.
 */
export const listEnvironments = createFactory<SignedInEnv>().createHandlers(async (c) => {
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
});

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
