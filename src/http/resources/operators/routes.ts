import type { AppEnv, RequestContext } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { type IssuedOperator, issueOperator, rollOperator } from "../../operations/keys.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { authorizeOperators } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { pathNumber, validQuery } from "../../request/query.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { numberCursorOf } from "../cursor.ts";
import { ReasonBody, RollKeyBody } from "../fields.ts";
import { IssueOperatorBody, OperatorsQuery, operatorBody, operatorDraftOf } from "./wire.ts";

/** The operators of the deployment, and their keys. */
export const operators = new Hono<AppEnv>()
  .use(authorizeOperators)

  .post("/", jsonBody(IssueOperatorBody), async (c) => {
    const issued = await issueOperator(c, operatorDraftOf(c.req.valid("json")));
    return issued.ok ? respondWithKey(c, issued.value) : refuse(c, issued.failure);
  })

  .get("/", validQuery(OperatorsQuery), async (c) => {
    const listed = await registryFor(c).listOperators(c.get("presentedOperator"), c.req.valid("query"));
    if (!listed.ok) return refuse(c, listed.failure);
    const { keys, next } = listed.value;
    return respond(c, { success: 1, operators: keys.map(operatorBody), next_cursor: numberCursorOf(next) });
  })

  .delete("/:id", jsonBody(ReasonBody), async (c) => {
    const id = pathNumber(c.req.param("id"));
    const revoked = await registryFor(c).revokeOperator(c.get("presentedOperator"), id);
    if (!revoked.ok) return refuse(c, revoked.failure);
    c.set("subjectOperatorId", id);
    return respond(c, { success: 1 });
  })

  .post("/:id/roll", jsonBody(RollKeyBody), async (c) => {
    const options = { id: pathNumber(c.req.param("id")), graceSeconds: c.req.valid("json").grace_seconds };
    const rolled = await rollOperator(c, options);
    return rolled.ok ? respondWithKey(c, rolled.value) : refuse(c, rolled.failure);
  });

/** Answers with an operator, and its key if it has one, which is shown only here. */
function respondWithKey(c: RequestContext, { stored, text }: IssuedOperator): Response {
  c.set("subjectOperatorId", stored.id);
  const key = text === undefined ? {} : { key: text };
  return respond(c, { success: 1, operator: operatorBody(stored), ...key }, {}, 201);
}
