import { type Context, Hono } from "hono";
import { mintCredential } from "../domain/credential.ts";
import type { ApiKey, Environment } from "../domain/user-group.ts";
import { answer } from "./answer.ts";
import type { AppEnv } from "./app-env.ts";
import { operatorOnly } from "./authenticate.ts";
import { directoryOf } from "./directory.ts";
import { jsonBody } from "./json-body.ts";
import { allowMethods } from "./methods.ts";
import { refuse } from "./refusals.ts";
import { EnvironmentQuery, IssueKeyBody, RollKeyBody } from "./schemas.ts";
import { validQuery } from "./validate.ts";
import { apiKey } from "./wire.ts";

/** The operator's routes: the API keys of each environment. */
export const apiKeys = new Hono<AppEnv>()
  .use("/", allowMethods("GET", "POST"))
  .use("/:id", allowMethods("DELETE"))
  .use("/:id/roll", allowMethods("POST"))
  .use(operatorOnly)

  .post("/", jsonBody(IssueKeyBody), async (c) => {
    const { workspace, environment: tag, name, access, expires_in_seconds: expiresInSeconds } = c.req.valid("json");
    const environment = { workspace, tag };
    const issued = await directoryAt(c, environment).issueKey({ name, access, expiresInSeconds });
    const key = await keyOf(c, environment, issued);
    return answer(c, { success: 1, api_key: apiKey(issued, environment), key }, {}, 201);
  })

  .get("/", validQuery(EnvironmentQuery), async (c) => {
    const environment = c.req.valid("query");
    const keys = await directoryAt(c, environment).listKeys();
    return answer(c, { success: 1, api_keys: keys.map((key) => apiKey(key, environment)) });
  })

  .delete("/:id", validQuery(EnvironmentQuery), async (c) => {
    const revoked = await directoryAt(c, c.req.valid("query")).revokeKey(idOf(c.req.param("id")));
    if (!revoked.ok) return refuse(c, revoked.failure);
    return answer(c, { success: 1 });
  })

  .post("/:id/roll", validQuery(EnvironmentQuery), jsonBody(RollKeyBody, { optional: true }), async (c) => {
    const environment = c.req.valid("query");
    const { grace_seconds: graceSeconds } = c.req.valid("json");
    const rolled = await directoryAt(c, environment).rollKey(idOf(c.req.param("id")), graceSeconds);
    if (!rolled.ok) return refuse(c, rolled.failure);
    const key = await keyOf(c, environment, rolled.value);
    return answer(c, { success: 1, api_key: apiKey(rolled.value, environment), key }, {}, 201);
  });

/** The number that a path names, in its one spelling; for anything else 0, which is no key's. */
const idOf = (text: string): number => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0);

/** The directory that the operator names, noted for the log line. */
function directoryAt(c: Context<AppEnv>, environment: Environment) {
  c.set("environment", environment);
  return directoryOf(c.env, environment);
}

const keyOf = (c: Context<AppEnv>, environment: Environment, { id, nonce }: ApiKey) =>
  mintCredential(c.get("ring"), "api_key", { environment, id, nonce: new Uint8Array(nonce) });
