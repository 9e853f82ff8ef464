import { type Context, Hono } from "hono";
import { hashOf, mintCredential, newNonce } from "../../../domain/credentials/credential.ts";
import { toRights } from "../../../domain/credentials/rights.ts";
import type { Environment } from "../../../domain/environment.ts";
import type { Failure, FailureOf } from "../../../domain/failure.ts";
import { fail, ok, type Result } from "../../../domain/result.ts";
import type { Location, StoredKey } from "../../../records.ts";
import { admitAgain } from "../../admit-again.ts";
import type { AppEnv } from "../../app-env.ts";
import { type Directory, directoryOf, registryOf } from "../../durable-objects.ts";
import { authorize } from "../../request/authorize.ts";
import { jsonBody } from "../../request/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { pathNumber } from "../../request/path-number.ts";
import { validQuery } from "../../request/validate.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { IssueKeyBody, KeysQuery, RollKeyBody } from "../../schemas.ts";
import { apiKeyBody } from "../../wire.ts";
import { numberCursorOf } from "../cursor.ts";

/** The API keys of an environment, for operators. */
export const apiKeys = new Hono<AppEnv>()
  .use("/", allowMethods("GET", "POST"))
  .use("/:id", allowMethods("DELETE"))
  .use("/:id/roll", allowMethods("POST"))
  .use(authorize)

  .post("/", jsonBody(IssueKeyBody), async (c) => {
    const {
      workspace,
      environment: tag,
      name,
      grant,
      location,
      expires_in_seconds: expiresInSeconds,
    } = c.req.valid("json");
    const environment = { workspace, tag };
    c.set("environment", environment);
    const directory = await openDirectory(c, environment, location);
    if (!directory.ok) return refuse(c, directory.failure);
    const rights = toRights(grant);
    return respondWithKey(c, (nonceHash) =>
      directory.value.issueKey(c.get("operator"), { name, rights, nonceHash, expiresInSeconds }),
    );
  })

  .get("/", validQuery(KeysQuery), async (c) => {
    const listed = await c.get("directory").listKeys(c.get("caller"), c.req.valid("query"));
    if (!listed.ok) return refuse(c, listed.failure);
    const failure = await admitAgain(c, listed.value);
    if (failure) return refuse(c, failure);
    const { keys, next } = listed.value;
    const apiKeys = keys.map((key) => apiKeyBody(key, c.get("environment")));
    return respond(c, { success: 1, api_keys: apiKeys, next_cursor: numberCursorOf(next) });
  })

  .delete("/:id", async (c) => {
    const id = pathNumber(c.req.param("id"));
    const revoked = await c.get("directory").revokeKey(c.get("operator"), id);
    if (!revoked.ok) return refuse(c, revoked.failure);
    c.set("subjectKeyId", id);
    return respond(c, { success: 1 });
  })

  .post("/:id/roll", jsonBody(RollKeyBody), async (c) => {
    const { grace_seconds: graceSeconds } = c.req.valid("json");
    const id = pathNumber(c.req.param("id"));
    return respondWithKey(c, (nonceHash) =>
      c.get("directory").rollKey(c.get("operator"), id, { graceSeconds, nonceHash }),
    );
  });

/**
 * Records the environment in the registry, and returns its directory. A `location` is taken only with the first key: the
 * platform places a directory once. An environment that was recorded by a call that then failed has no key yet.
 */
async function openDirectory(
  c: Context<AppEnv>,
  environment: Environment,
  location: Location | undefined,
): Promise<Result<Directory, Failure>> {
  const recorded = await registryOf(c.env).recordEnvironment(c.get("presentedOperator"), environment, location);
  if (!recorded.ok) return recorded;
  const directory = directoryOf(c.env, environment, recorded.value.location);
  const isSettled = !recorded.value.isNew && location !== undefined;
  if (!isSettled || (location === recorded.value.location && (await directory.hasNoKeys()))) return ok(directory);
  const message = "This environment exists already, and stays where it is. Leave the location out.";
  return fail({ code: "invalid_body", issues: [{ path: ["location"], message }] });
}

/** Makes a nonce, has the directory store its hash, and answers with the key, which is shown only here. */
async function respondWithKey(
  c: Context<AppEnv>,
  store: (nonceHash: ArrayBuffer) => Promise<Result<StoredKey, FailureOf<"api_key_not_found" | "environment_full">>>,
): Promise<Response> {
  const nonce = newNonce();
  const stored = await store(await hashOf(nonce));
  if (!stored.ok) return refuse(c, stored.failure);
  const { id } = stored.value;
  c.set("subjectKeyId", id);
  const environment = c.get("environment");
  const key = await mintCredential(c.get("ring"), { kind: "api_key", environment, id, nonce });
  return respond(c, { success: 1, api_key: apiKeyBody(stored.value, environment), key }, {}, 201);
}
