import { directoryName, type Environment } from "../../../../common/environment.ts";
import { ok, type Result } from "../../../../common/result.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import type { KeyFailure } from "../../../domain/credentials/keys.ts";
import { grantOf } from "../../../domain/credentials/rights.ts";
import type { StoredKey } from "../../../records.ts";
import type { AppEnv, Identity, Viewer } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { authorizeAll } from "../../request/authorize.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { time } from "../fields.ts";

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

/** `caller` for an API key. */
export const apiKeyCaller = ({ id, name, rights, expiresAt }: StoredKey, { workspace, tag }: Environment) => ({
  kind: "api_key",
  id,
  name,
  workspace,
  environment: tag,
  scopes: grantOf(rights).scopes,
  expires_at: time(expiresAt),
});

/** `caller` for an operator, who belongs to no environment. */
export const operatorCaller = ({ id, name, role, expiresAt }: Operator) => ({
  kind: "operator",
  id,
  name,
  workspace: null,
  environment: null,
  role,
  expires_at: time(expiresAt),
});

/** `caller` for a viewer. A token expires at the end of a grace. */
export const viewerCaller = ({ kind, group, environment, expiresAt }: Viewer) => ({
  kind: kind === "token" ? "user_group_token" : kind,
  id: group.teamId,
  name: group.name,
  workspace: environment.workspace,
  environment: environment.tag,
  audience: directoryName(environment),
  expires_at: time(expiresAt),
});
