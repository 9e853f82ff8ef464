import type { CallOptions, Connection } from "./connection.ts";
import { type Role, roleOf } from "./operator.ts";
import type { EnvironmentTag, ResponseBody } from "./response-body.ts";

/** Who presents a credential, as the service knows them. */
export type Caller = {
  /** A newer service may have more kinds than these. */
  kind: "api_key" | "operator" | "user_group_token" | (string & Record<never, never>);
  /** The number of the API key or the operator, or the group's `teamId`; `null` for the bootstrap token. */
  id: number | null;
  /** The name of the API key, the operator or the group. */
  name: string;
  /** `null` for an operator, who may act in each environment. */
  workspace: string | null;
  /** `null` for an operator, and for the environment without a tag. */
  environment: EnvironmentTag;
  /** What an API key may do. */
  scopes?: string[];
  /** What an operator may do. */
  role?: Role;
  /** When the credential ends, for a group token by a grace; `null` if no end is set. */
  expiresAt: string | null;
};

const toCaller = (caller: ResponseBody): Caller => ({
  kind: caller.text("kind"),
  id: caller.numberOrNull("id"),
  name: caller.text("name"),
  workspace: caller.textOrNull("workspace"),
  environment: caller.environment("environment"),
  ...(caller.has("scopes") && { scopes: caller.texts("scopes") }),
  ...(caller.has("role") && { role: roleOf(caller) }),
  expiresAt: caller.textOrNull("expires_at"),
});

/** Asks the service who presents the credential of this connection. */
export async function whoami(connection: Connection, { signal }: CallOptions): Promise<Caller> {
  const { body } = await connection.send({ method: "GET", path: "/api/whoami", retryable: true }, signal);
  return toCaller(body.object("caller"));
}
