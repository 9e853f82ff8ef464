import { createFactory } from "hono/factory";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { KeysQuery } from "../../../resources/api-keys/schemas.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { Done } from "../../components/done.tsx";
import { KeyList } from "../../components/keys.tsx";
import { Paging } from "../../components/paging.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "50";
const DONE = { revoked: "The key is revoked: the service refuses it and the sessions that it has minted." };

/** The API keys of an environment, also those that have ended. */
export const listKeys = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const { fields, value: query, issues } = readPageQuery(c, KeysQuery(), { defaults: { limit: ROWS }, own: ["done"] });
  const listed = query && (await c.get("directory").listKeys(c.get("operator"), query));
  if (listed && !listed.ok) return refuseWithPage(c, listed.failure);
  const failure = listed && (await admitAgain(c, listed.value));
  if (failure) return refuseWithPage(c, failure);
  const { keys, next } = listed?.value ?? { keys: [], next: null };
  const path = `${environmentPath(c.get("environment"))}/keys`;
  return respondWithPage(c, {
    title: "API keys",
    issues,
    children: (
      <KeyList
        label="API keys"
        rights="Scopes"
        path={path}
        isAdmin={allowsRole(c.get("operator").role, "admin")}
        issue="Issue a key"
        none="No keys."
        keys={keys}
        done={<Done done={c.req.query("done")} results={DONE} />}
        paging={<Paging path={path} fields={{}} cursor={fields.cursor} nextCursor={numberCursorOf(next)} />}
      />
    ),
  });
});
