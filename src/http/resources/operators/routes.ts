import { type Context, Hono } from "hono";
import { hashOf, mintCredential, newNonce } from "../../../domain/credentials/credential.ts";
import type { StoredKey } from "../../../records.ts";
import type { AppEnv } from "../../app-env.ts";
import { registryOf } from "../../durable-objects.ts";
import { authorize } from "../../request/authorize.ts";
import { jsonBody } from "../../request/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { pathNumber } from "../../request/path-number.ts";
import { validQuery } from "../../request/validate.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { numberCursorOf } from "../cursor.ts";
import { RollKeyBody } from "../fields.ts";
import { IssueOperatorBody, OperatorsQuery } from "./schemas.ts";
import { operatorBody } from "./wire.ts";

/** The operators of the deployment, and their keys. */
export const operators = new Hono<AppEnv>()
  .use("/", allowMethods("GET", "POST"))
  .use("/:id", allowMethods("DELETE"))
  .use("/:id/roll", allowMethods("POST"))
  .use(authorize)

  .post("/", jsonBody(IssueOperatorBody), async (c) => {
    const { name, role, expires_in_seconds: expiresInSeconds } = c.req.valid("json");
    const nonce = newNonce();
    const draft = { name, rights: role, nonceHash: await hashOf(nonce), expiresInSeconds };
    const issued = await registryOf(c.env).issueOperator(c.get("presentedOperator"), draft);
    return issued.ok ? respondWithKey(c, issued.value, nonce) : refuse(c, issued.failure);
  })

  .get("/", validQuery(OperatorsQuery), async (c) => {
    const listed = await registryOf(c.env).listOperators(c.get("presentedOperator"), c.req.valid("query"));
    if (!listed.ok) return refuse(c, listed.failure);
    const { keys, next } = listed.value;
    return respond(c, { success: 1, operators: keys.map(operatorBody), next_cursor: numberCursorOf(next) });
  })

  .delete("/:id", async (c) => {
    const id = pathNumber(c.req.param("id"));
    const revoked = await registryOf(c.env).revokeOperator(c.get("presentedOperator"), id);
    if (!revoked.ok) return refuse(c, revoked.failure);
    c.set("subjectOperatorId", id);
    return respond(c, { success: 1 });
  })

  .post("/:id/roll", jsonBody(RollKeyBody), async (c) => {
    const { grace_seconds: graceSeconds } = c.req.valid("json");
    const nonce = newNonce();
    const options = { graceSeconds, nonceHash: await hashOf(nonce) };
    const id = pathNumber(c.req.param("id"));
    const rolled = await registryOf(c.env).rollOperator(c.get("presentedOperator"), id, options);
    return rolled.ok ? respondWithKey(c, rolled.value, nonce) : refuse(c, rolled.failure);
  });

/** Answers with an operator's key, which is shown only here. */
async function respondWithKey(c: Context<AppEnv>, operator: StoredKey, nonce: Uint8Array<ArrayBuffer>) {
  c.set("subjectOperatorId", operator.id);
  const key = await mintCredential(c.get("ring"), { kind: "operator_key", id: operator.id, nonce });
  return respond(c, { success: 1, operator: operatorBody(operator), key }, {}, 201);
}
