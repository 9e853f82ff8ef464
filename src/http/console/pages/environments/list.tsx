import { createFactory } from "hono/factory";
import { parseDirectoryName } from "../../../../../common/environment.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { EnvironmentsQuery } from "../../../resources/environments/schemas.ts";
import { Done } from "../../components/done.tsx";
import { TextField } from "../../components/fields.tsx";
import { Filter } from "../../components/form.tsx";
import { Paging } from "../../components/paging.tsx";
import { Time } from "../../components/text.tsx";
import { Wide } from "../../components/wide.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { CREATE_ENVIRONMENT, ENVIRONMENTS, environmentPath, FIND_KEY } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "100";
/** No workspace's slug is longer. */
const SEARCH_UNITS_MAX = 40;
const DONE = { erased: "The environment is erased: its groups, keys and events are gone." };

/** The environments of the deployment, searched by a part of the workspace's slug. */
export const listEnvironments = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const own = ["search", "done"];
  const { fields, value, issues } = readPageQuery(c, EnvironmentsQuery(), { defaults: { limit: ROWS }, own });
  const search = (c.req.query("search") ?? "").trim().toLowerCase().slice(0, SEARCH_UNITS_MAX) || undefined;
  const query = { ...(value ?? { start: 0, limit: Number(ROWS) }), search };
  const listed = await registryFor(c).listEnvironments(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { environments, next, operator } = listed.value;
  return respondWithPage(c, {
    title: "Environments",
    issues,
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        <p class="actions">
          {allowsRole(operator.role, "admin") && <a href={CREATE_ENVIRONMENT}>Create an environment</a>}{" "}
          <a href={FIND_KEY}>Find a key by its text</a>
        </p>
        <Filter action={ENVIRONMENTS}>
          <TextField name="search" label="Workspace contains" value={search} issues={issues} />
        </Filter>
        {environments.length > 0 ? (
          <Wide label="Environments">
            <table>
              <thead>
                <tr>
                  <th>Environment</th>
                  <th>Place</th>
                  <th>Created</th>
                </tr>
              </thead>
              <tbody>
                {environments.map(({ name, location, createdAt }) => (
                  <tr>
                    <td>
                      <a href={environmentPath(parseDirectoryName(name))}>{name}</a>
                    </td>
                    <td>{location ?? "–"}</td>
                    <td>
                      <Time at={createdAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        ) : (
          <p>{next === null ? "No environments." : "None on this page; the search goes on."}</p>
        )}
        <Paging path={ENVIRONMENTS} fields={{ search }} cursor={fields.cursor} nextCursor={numberCursorOf(next)} />
      </>
    ),
  });
});
