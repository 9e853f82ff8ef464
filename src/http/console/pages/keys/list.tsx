import { createFactory } from "hono/factory";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { KeysQuery } from "../../../resources/api-keys/wire.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { Done } from "../../components/detail.tsx";
import { KeyTable, withEndings } from "../../components/key-details.tsx";
import { List, rowsBefore } from "../../components/list.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, keyPath } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "50";
const DONE = { revoked: "The key is revoked: the service refuses it and the sessions that it has minted." };

/** The API keys of an environment, also those that have ended. */
export const listKeys = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const own = ["done", "from"];
  const { fields, value: query, issues } = readPageQuery(c, KeysQuery(), { defaults: { limit: ROWS }, own });
  const [directory, operator, environment] = [c.get("directory"), c.get("operator"), c.get("environment")];
  const listed = query && (await directory.listKeys(operator, query));
  if (listed && !listed.ok) return refuseWithPage(c, listed.failure);
  const failure = listed && (await admitAgain(c, listed.value));
  if (failure) return refuseWithPage(c, failure);
  const { keys, next } = listed?.value ?? { keys: [], next: null };
  const path = `${environmentPath(environment)}/keys`;
  const found = await withEndings(keys, async (ids) => {
    const ended = await directory.findKeys(operator, ids);
    return ended.ok ? ended.value : [];
  });
  return respondWithPage(c, {
    title: "API keys",
    issues,
    actions: allowsRole(operator.role, "admin") && (
      <a class="button primary" href={`${path}/issue`}>
        Issue a key
      </a>
    ),
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        <List
          label="API keys"
          isEmpty={keys.length === 0}
          empty="No keys. A program of the integrator needs one to call the API."
          paging={{
            path,
            fields: {},
            cursor: fields.cursor,
            nextCursor: numberCursorOf(next),
            rows: keys.length,
            from: rowsBefore(c.req.query("from")),
          }}
        >
          <KeyTable rights="May" keys={found} pathOf={(id) => keyPath(environment, id)} />
        </List>
      </>
    ),
  });
});
