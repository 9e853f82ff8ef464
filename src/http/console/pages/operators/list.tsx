import { createFactory } from "hono/factory";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { OperatorsQuery } from "../../../resources/operators/schemas.ts";
import { Done } from "../../components/done.tsx";
import { KeyList } from "../../components/keys.tsx";
import { Paging } from "../../components/paging.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { OPERATORS } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "50";
const DONE = { revoked: "The operator is revoked: the key is refused, and so are its sessions in the console." };

/** The operators of the deployment, also those that have ended. */
export const listOperators = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const { fields, value, issues } = readPageQuery(c, OperatorsQuery(), { defaults: { limit: ROWS }, own: ["done"] });
  const query = value ?? { start: 0, limit: Number(ROWS) };
  const listed = await registryFor(c).listOperators(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { keys, next, operator } = listed.value;
  return respondWithPage(c, {
    title: "Operators",
    issues,
    children: (
      <KeyList
        label="Operators"
        rights="Role"
        path={OPERATORS}
        isAdmin={allowsRole(operator.role, "admin")}
        issue="Issue an operator's key"
        none="No operators yet: only the bootstrap token signs in."
        keys={keys}
        done={<Done done={c.req.query("done")} results={DONE} />}
        paging={<Paging path={OPERATORS} fields={{}} cursor={fields.cursor} nextCursor={numberCursorOf(next)} />}
      />
    ),
  });
});
