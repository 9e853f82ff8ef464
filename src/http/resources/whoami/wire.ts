import type { Operator } from "../../../domain/credentials/caller.ts";
import { grantOf } from "../../../domain/credentials/rights.ts";
import type { SessionClaims } from "../../../domain/credentials/viewer-session.ts";
import type { Environment } from "../../../domain/environment.ts";
import type { GroupSnapshot, StoredKey } from "../../../records.ts";
import { time } from "../times.ts";

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

/** `caller` for a viewer session. */
export const sessionCaller = (
  { teamId, name }: GroupSnapshot,
  { environment: { workspace, tag }, expiresAtSeconds }: Pick<SessionClaims, "environment" | "expiresAtSeconds">,
) => ({
  kind: "viewer_session",
  id: teamId,
  name,
  workspace,
  environment: tag,
  expires_at: time(expiresAtSeconds * 1000),
});

/** `caller` for the token of a user group. It expires at the end of a grace. */
export const tokenCaller = ({ teamId, name, validUntil }: GroupSnapshot, { workspace, tag }: Environment) => ({
  kind: "user_group_token",
  id: teamId,
  name,
  workspace,
  environment: tag,
  expires_at: time(validUntil),
});
