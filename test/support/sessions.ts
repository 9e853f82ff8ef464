import { env } from "cloudflare:workers";
import { decodeJwt, type JWTPayload } from "jose";
import { type Answer, call } from "./client.ts";

/** Mints a session for viewers of the group acme, unless the fields name another. */
export const mint = (key: string | undefined, fields: object = {}, callEnv: Env = env): Promise<Answer> =>
  call("POST", "/api/viewer_sessions", { credential: key, body: { user_group_id: "acme", ...fields }, env: callEnv });

/** The same. Returns the session's text. */
export async function sessionOf(key: string, fields: object = {}, callEnv: Env = env): Promise<string> {
  const { status, body } = await mint(key, fields, callEnv);
  if (status !== 201) throw new Error(`No session was minted: ${status} ${body.error?.code}.`);
  return body.session.token;
}

/** The claims of a session, which its holder can read. */
export const claimsIn = (session: string): JWTPayload & Record<string, unknown> => decodeJwt(session);

/** The headers of a call with a credential after the scheme that RFC 6750 names. */
export const bearer = (credential: string): Record<string, string> => ({ Authorization: `Bearer ${credential}` });

/** Suspends a group, or resumes it. */
export const setSuspended = (key: string, suspended: boolean, id = "acme"): Promise<Answer> =>
  call("PUT", "/api/user", { credential: key, body: { user_group_id: id, suspended } });

/** Restores a deleted group. */
export const restore = (key: string, teamId: number, fields: object = {}): Promise<Answer> =>
  call("POST", `/api/user_groups/${teamId}/restore`, { credential: key, body: fields });
