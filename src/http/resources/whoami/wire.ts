import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import { grantOf } from "../../../domain/credentials/rights.ts";
import type { StoredKey } from "../../../records.ts";
import type { Viewer } from "../../app-env.ts";
import { time } from "../fields.ts";

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
