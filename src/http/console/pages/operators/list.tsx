import { createFactory } from "hono/factory";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { registryOf } from "../../../durable-objects.ts";
import { numberCursorOf } from "../../../resources/cursor.ts";
import { OperatorsQuery } from "../../../resources/operators/schemas.ts";
import { Done } from "../../components/done.tsx";
import { ErrorSummary } from "../../components/form.tsx";
import { KeyTable } from "../../components/keys.tsx";
import { Paging } from "../../components/paging.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { FIND_KEY, OPERATORS } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "50";
const DONE = { revoked: "The operator is revoked: the key is refused, and so are its sessions in the console." };

/** The operators of the deployment, also those that have ended. */
export const listOperators = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const { fields, value, issues } = readPageQuery(c, OperatorsQuery(), { defaults: { limit: ROWS }, own: ["done"] });
  const query = value ?? { start: 0, limit: Number(ROWS) };
  const listed = await registryOf(c.env).listOperators(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { keys, next, operator } = listed.value;
  c.set("operator", operator);
  const isAdmin = allowsRole(operator.role, "admin");
  return respondWithPage(c, {
    title: "Operators",
    status: issues.length > 0 ? 422 : 200,
    hasErrors: issues.length > 0,
    children: (
      <>
        <ErrorSummary issues={issues} />
        <Done done={c.req.query("done")} results={DONE} />
        <p class="actions">
          {isAdmin && <a href={`${OPERATORS}/issue`}>Issue an operator's key</a>}{" "}
          <a href={FIND_KEY}>Find a key by its text</a>
        </p>
        {keys.length > 0 ? (
          <KeyTable
            label="Operators"
            rights="Role"
            keys={keys}
            actions={({ id }) =>
              isAdmin ? (
                <>
                  <a href={`${OPERATORS}/${id}/roll`}>Roll</a> <a href={`${OPERATORS}/${id}/revoke`}>Revoke</a>
                </>
              ) : (
                "–"
              )
            }
          />
        ) : (
          <p>No operators yet: only the bootstrap token signs in.</p>
        )}
        <Paging path={OPERATORS} fields={{}} cursor={fields.cursor} nextCursor={numberCursorOf(next)} />
      </>
    ),
  });
});
