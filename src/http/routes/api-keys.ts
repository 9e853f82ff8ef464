import { type Context, Hono } from "hono";
import { hashOf, mintCredential, newNonce } from "../../domain/credential.ts";
import { directoryName, type Environment } from "../../domain/environment.ts";
import type { Author } from "../../domain/event.ts";
import type { FailureOf } from "../../domain/failure.ts";
import type { Result } from "../../domain/result.ts";
import type { ApiKey } from "../../records.ts";
import type { AppEnv } from "../app-env.ts";
import { directoryOf } from "../directory.ts";
import { refuse } from "../failures.ts";
import { operatorOnly } from "../middleware/authenticate.ts";
import { jsonBody } from "../middleware/json-body.ts";
import { allowMethods } from "../middleware/methods.ts";
import { validQuery } from "../middleware/validate.ts";
import { pathNumber } from "../path-number.ts";
import { respond } from "../responses.ts";
import { EnvironmentQuery, IssueKeyBody, RollKeyBody } from "../schemas.ts";
import { apiKeyBody } from "../wire.ts";

/** The operator's calls on the API keys of an environment. */
export const apiKeys = new Hono<AppEnv>()
  .use("/", allowMethods("GET", "POST"))
  .use("/:id", allowMethods("DELETE"))
  .use("/:id/roll", allowMethods("POST"))
  .use(operatorOnly)

  .post("/", jsonBody(IssueKeyBody), async (c) => {
    const { workspace, environment: tag, name, access, expires_in_seconds: expiresInSeconds } = c.req.valid("json");
    const environment = { workspace, tag };
    return respondWithKey(c, environment, (nonceHash) =>
      directoryAt(c, environment).issueKey({ name, access, nonceHash, expiresInSeconds }, authorOf(c)),
    );
  })

  .get("/", validQuery(EnvironmentQuery), async (c) => {
    const environment = c.req.valid("query");
    const keys = await directoryAt(c, environment).listKeys();
    return respond(c, { success: 1, api_keys: keys.map((key) => apiKeyBody(key, environment)) });
  })

  .delete("/:id", validQuery(EnvironmentQuery), async (c) => {
    const revoked = await directoryAt(c, c.req.valid("query")).revokeKey(pathNumber(c.req.param("id")), authorOf(c));
    if (!revoked.ok) return refuse(c, revoked.failure);
    c.set("subjectKeyId", pathNumber(c.req.param("id")));
    return respond(c, { success: 1 });
  })

  .post("/:id/roll", validQuery(EnvironmentQuery), jsonBody(RollKeyBody, { optional: true }), async (c) => {
    const environment = c.req.valid("query");
    const { grace_seconds: graceSeconds } = c.req.valid("json");
    return respondWithKey(c, environment, (nonceHash) =>
      directoryAt(c, environment).rollKey(pathNumber(c.req.param("id")), graceSeconds, nonceHash, authorOf(c)),
    );
  });

/** The operator as events name it. */
const authorOf = (c: Context<AppEnv>): Author => ({
  actor: { kind: "operator", id: null, name: "bootstrap" },
  requestId: c.get("requestId"),
});

/** The directory of an environment, which the log line names too. */
function directoryAt(c: Context<AppEnv>, environment: Environment) {
  c.set("environment", environment);
  return directoryOf(c.env, directoryName(environment));
}

/** Makes a nonce, has the directory store its hash, and answers with the key, which is shown only here. */
async function respondWithKey(
  c: Context<AppEnv>,
  environment: Environment,
  store: (nonceHash: ArrayBuffer) => Promise<Result<ApiKey, FailureOf<"api_key_not_found" | "environment_full">>>,
): Promise<Response> {
  const nonce = newNonce();
  const stored = await store(await hashOf(nonce));
  if (!stored.ok) return refuse(c, stored.failure);
  c.set("subjectKeyId", stored.value.id);
  const key = await mintCredential(c.get("ring"), "api_key", { environment, id: stored.value.id, nonce });
  return respond(c, { success: 1, api_key: apiKeyBody(stored.value, environment), key }, {}, 201);
}
