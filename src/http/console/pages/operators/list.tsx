import { createFactory } from "hono/factory";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { OperatorsQuery } from "../../../resources/operators/wire.ts";
import { Done } from "../../components/detail.tsx";
import { KeyTable, withEndings } from "../../components/key-details.tsx";
import { List, rowsBefore } from "../../components/list.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { OPERATORS, operatorPath } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "50";
const DONE = {
  issued: "The operator is issued: it signs in with your company, and has no key.",
  revoked: "The operator is revoked: the key is refused, and so are its sessions in the console.",
};

/** The operators of the deployment, also those that have ended. */
export const listOperators = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const own = ["done", "from"];
  const { fields, value, issues } = readPageQuery(c, OperatorsQuery(), { defaults: { limit: ROWS }, own });
  const query = value ?? { start: 0, limit: Number(ROWS) };
  const listed = await registryFor(c).listOperators(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { keys, next, operator } = listed.value;
  const found = await withEndings(keys, async (ids) => {
    const ended = await registryFor(c).findOperators(c.get("presentedOperator"), ids);
    return ended.ok ? ended.value.found : [];
  });
  return respondWithPage(c, {
    title: "Operators",
    issues,
    actions: allowsRole(operator.role, "admin") && (
      <a class="button primary" href={`${OPERATORS}/issue`}>
        Issue an operator's key
      </a>
    ),
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        <List
          label="Operators"
          isEmpty={keys.length === 0}
          empty="No operators yet: only the bootstrap token signs in. Issue a key for each person."
          paging={{
            path: OPERATORS,
            fields: {},
            cursor: fields.cursor,
            nextCursor: numberCursorOf(next),
            rows: keys.length,
            from: rowsBefore(c.req.query("from")),
          }}
        >
          <KeyTable rights="Role" keys={found} pathOf={operatorPath} />
        </List>
      </>
    ),
  });
});
