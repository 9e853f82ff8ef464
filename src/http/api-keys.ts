import { Hono } from "hono";
import { mintCredential } from "../domain/credential.ts";
import type { AppEnv } from "./app-env.ts";
import { directoryOf, operatorOnly } from "./authenticate.ts";
import { jsonBody } from "./json-body.ts";
import { allowMethods } from "./methods.ts";
import { IssueKeyBody } from "./schemas.ts";
import { apiKey } from "./wire.ts";

/** The operator's routes. */
export const apiKeys = new Hono<AppEnv>()
  .use(allowMethods("POST"), operatorOnly)

  .post("/", jsonBody(IssueKeyBody, "write"), async (c) => {
    const { workspace, environment: tag, name, access, expires_in_seconds: expiresInSeconds } = c.req.valid("json");
    const environment = { workspace, tag };
    c.set("environment", environment);
    const issued = await directoryOf(c.env, environment).issueKey({ name, access, expiresInSeconds });
    const key = await mintCredential(c.var.ring, "api_key", {
      environment,
      id: issued.id,
      nonce: new Uint8Array(issued.nonce),
    });
    return c.json({ success: 1, api_key: apiKey(issued, environment), key }, 201);
  });
