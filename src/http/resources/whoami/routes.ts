import { type Context, Hono } from "hono";
import type { KeyFailure } from "../../../domain/credentials/keys.ts";
import { ok, type Result } from "../../../domain/result.ts";
import type { AppEnv } from "../../app-env.ts";
import { authorize } from "../../request/authorize.ts";
import { allowMethods } from "../../request/methods.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { apiKeyCaller, operatorCaller, sessionCaller, tokenCaller } from "./wire.ts";

/** Whose credential a request has. */
export const whoami = new Hono<AppEnv>()
  .use(allowMethods("GET"), authorize)

  .get("/", async (c) => {
    const caller = await callerOf(c);
    return caller.ok ? respond(c, { success: 1, caller: caller.value }) : refuse(c, caller.failure);
  });

async function callerOf(c: Context<AppEnv>): Promise<Result<object, KeyFailure>> {
  const credential = c.get("credential");
  if (credential.kind === "token") return ok(tokenCaller(c.get("group"), c.get("environment")));
  if (credential.kind === "viewer_session" && credential.session.state === "valid")
    return ok(sessionCaller(c.get("group"), credential.session.claims));
  if (credential.kind !== "api_key") return ok(operatorCaller(c.get("operator")));
  const identified = await c.get("directory").identify(credential);
  return identified.ok ? ok(apiKeyCaller(identified.value, c.get("environment"))) : identified;
}
