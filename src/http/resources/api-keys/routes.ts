import type { Environment } from "../../../../common/environment.ts";
import type { AppEnv, RequestContext } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { type IssuedKey, issueApiKey, rollApiKey } from "../../operations/keys.ts";
import { admitAgain } from "../../request/admit-caller.ts";
import { authorizeManagers, authorizeOperators } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { pathNumber, validQuery } from "../../request/query.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { numberCursorOf } from "../cursor.ts";
import { ReasonBody, RollKeyBody } from "../fields.ts";
import { apiKeyBody, IssueKeyBody, KeysQuery } from "./wire.ts";

/** The API keys of an environment, for operators. */
export const apiKeys = new Hono<AppEnv>()

  .post("/", authorizeOperators, jsonBody(IssueKeyBody), async (c) => {
    const { workspace, environment: tag, expires_in_seconds: expiresInSeconds, ...draft } = c.req.valid("json");
    const environment = { workspace, tag };
    c.set("environment", environment);
    const issued = await issueApiKey(c, { environment, expiresInSeconds, ...draft });
    if (!issued.ok) return refuse(c, issued.failure);
    return respondWithKey(c, issued.value, environment);
  })

  .get("/", authorizeManagers, validQuery(KeysQuery), async (c) => {
    const query = c.req.valid("query");
    const listed = await admitAgain(c, await c.get("directory").listKeys(c.get("operator"), query));
    if (!listed.ok) return refuse(c, listed.failure);
    const { keys, next } = listed.value;
    const apiKeys = keys.map((key) => apiKeyBody(key, c.get("environment")));
    return respond(c, { success: 1, api_keys: apiKeys, next_cursor: numberCursorOf(next) });
  })

  .delete("/:id", authorizeManagers, jsonBody(ReasonBody), async (c) => {
    const id = pathNumber(c.req.param("id"));
    const revoked = await c.get("directory").revokeKey(c.get("operator"), id);
    if (!revoked.ok) return refuse(c, revoked.failure);
    c.set("subjectKeyId", id);
    return respond(c, { success: 1 });
  })

  .post("/:id/roll", authorizeManagers, jsonBody(RollKeyBody), async (c) => {
    const environment = c.get("environment");
    const options = { id: pathNumber(c.req.param("id")), graceSeconds: c.req.valid("json").grace_seconds };
    const rolled = await rollApiKey(c, options);
    return rolled.ok ? respondWithKey(c, rolled.value, environment) : refuse(c, rolled.failure);
  });

/** Answers with a key, which is shown only here. */
function respondWithKey(c: RequestContext, { stored, text }: IssuedKey, environment: Environment): Response {
  c.set("subjectKeyId", stored.id);
  return respond(c, { success: 1, api_key: apiKeyBody(stored, environment), key: text }, {}, 201);
}
