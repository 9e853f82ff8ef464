import { Hono } from "hono";
import { ok, type Result } from "../../../../common/result.ts";
import type { KeyFailure } from "../../../domain/credentials/keys.ts";
import type { AppEnv, Identity } from "../../app-env.ts";
import { authorizeAll } from "../../request/authorize.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { apiKeyCaller, operatorCaller, viewerCaller } from "./wire.ts";

/** Whose credential a request has. */
export const whoami = new Hono<AppEnv>()
  .use(authorizeAll)

  .get("/", async (c) => {
    const caller = await callerOf(c.get("identity"));
    return caller.ok ? respond(c, { success: 1, caller: caller.value }) : refuse(c, caller.failure);
  });

async function callerOf(identity: Identity): Promise<Result<object, KeyFailure>> {
  if (identity.kind === "operator") return ok(operatorCaller(identity.operator));
  if (identity.kind !== "api_key") return ok(viewerCaller(identity));
  const identified = await identity.directory.identify(identity.key);
  return identified.ok ? ok(apiKeyCaller(identified.value, identity.environment)) : identified;
}
