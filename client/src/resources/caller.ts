import type { CallOptions, Connection } from "../transport/connection.ts";
import type { EnvironmentTag, ResponseBody } from "../transport/response-body.ts";
import { type Role, roleOf } from "./operator.ts";

/** Who presents a credential, as the service knows them. */
export type Caller = {
  /** A newer service may have more kinds than these. */
  kind: "api_key" | "operator" | "user_group_token" | "viewer_session" | (string & Record<never, never>);
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

/** Gets the caller whom the credential of this connection identifies. */
async function requestCaller(connection: Pick<Connection, "send">, options?: CallOptions): Promise<ResponseBody> {
  const { body } = await connection.send({ method: "GET", path: "/api/whoami" }, options);
  return body.object("caller");
}

const toViewer = (caller: ResponseBody): Caller => ({
  kind: caller.text("kind"),
  id: caller.numberOrNull("id"),
  name: caller.text("name"),
  workspace: caller.textOrNull("workspace"),
  environment: caller.environment("environment"),
  expiresAt: caller.textOrNull("expires_at"),
});

/** Gets a viewer as a caller: without scopes and a role, so that pages do not load the code for them. */
export const viewerWhoami = async (connection: Pick<Connection, "send">, options?: CallOptions): Promise<Caller> =>
  toViewer(await requestCaller(connection, options));

/** Gets an integrator or an operator as a caller. */
export async function whoami(connection: Connection, options?: CallOptions): Promise<Caller> {
  const caller = await requestCaller(connection, options);
  return {
    ...toViewer(caller),
    ...(caller.has("scopes") && { scopes: caller.texts("scopes") }),
    ...(caller.has("role") && { role: roleOf(caller) }),
  };
}

/**
 * Who made a change. `id` is the number of an API key or an operator in their lists. It is `null` for the bootstrap token, and
 * for the kind `system`: the service itself, which purges deleted groups when they can no longer be restored.
 */
export type Actor = { kind: string; id: number | null; name: string };

export const actorOf = (actor: ResponseBody): Actor => ({
  kind: actor.text("kind"),
  id: actor.numberOrNull("id"),
  name: actor.text("name"),
});

/** The actor in a field that may be null. */
export const actorOrNull = (body: ResponseBody, name: string): Actor | null =>
  body.jsonOrNull(name) && actorOf(body.object(name));
