import type { CallOptions, Connection, Query } from "../transport/connection.ts";
import { refuseUndefined } from "../transport/connection.ts";

/** The group of a session: by your own id of it, or by the service's number. */
type GroupOfSession = { userGroupId: string; teamId?: never } | { userGroupId?: never; teamId: number };

/** The session to mint. */
export type MintSessionInput = GroupOfSession & {
  /** 60 to 3600; 300 by default. A session ends with its API key at the latest. */
  expiresInSeconds?: number | undefined;
  /** The sites whose pages may present the session, such as `https://app.example.com`; 1 to 10. Any by default. */
  origins?: string[];
  /** Your own id of the person who looks, for SQL templates and row-level security. */
  viewerId?: string;
  /** What only this person may see, of at most 2 KiB as JSON: the variables `viewer.<key>`, for templates and row-level security. */
  viewerProperties?: object;
  /**
   * 0 to 300; 0 by default. For so many seconds the session may answer its viewer itself: faster, but without the changes of that
   * time. A revocation, too, takes effect only afterwards.
   */
  maxStaleSeconds?: number | undefined;
  /** Adds the group's variables to the token, for programs that verify it without calling the service. */
  includeVariables?: boolean | undefined;
  /**
   * More claims for other verifiers, such as `{ role: "authenticated" }`; 20 and 2 KiB as JSON at most. The service ignores them. A verifier
   * that reads them must check `aud`, because all environments have one issuer.
   */
  claims?: object;
};

/** A viewer session. Pass it to your page as it is. */
export type ViewerSession = {
  /** A JWT, for `ViewerClient` and for anything else that verifies one with the keys of `/.well-known/jwks.json`. */
  token: string;
  /** ISO 8601 in UTC. */
  expiresAt: string;
  expiresInSeconds: number;
  /** 0 if the session would have been too long for a header otherwise. */
  maxStaleSeconds: number;
  /**
   * For a mint with `viewerId`: how many milliseconds before it the person's sessions were ended, such as by a sign-out; `null` if no end
   * of the last 65 minutes is known. `undefined` without a `viewerId`, and from a service before 1.2.
   */
  viewerEndedMsAgo?: number | null | undefined;
};

/** Mints a session. A retry mints another one, and changes nothing. */
export async function mintSession(
  connection: Connection,
  input: MintSessionInput,
  options?: CallOptions,
): Promise<ViewerSession> {
  refuseUndefined(input, ["userGroupId", "teamId", "origins", "viewerId", "viewerProperties", "claims"]);
  const body = {
    user_group_id: input.userGroupId,
    team_id: input.teamId,
    expires_in_seconds: input.expiresInSeconds,
    origins: input.origins,
    viewer_id: input.viewerId,
    viewer_properties: input.viewerProperties,
    max_stale_seconds: input.maxStaleSeconds,
    include_variables: input.includeVariables,
    claims: input.claims,
  };
  const call = { method: "POST", path: "/api/viewer_sessions", body, retryable: true } as const;
  const { body: answer } = await connection.send(call, options);
  const session = answer.object("session");
  return {
    token: session.text("token"),
    expiresAt: session.text("expires_at"),
    expiresInSeconds: session.number("expires_in_seconds"),
    maxStaleSeconds: session.number("max_stale_seconds"),
    ...(answer.has("viewer_ended_ms_ago") && { viewerEndedMsAgo: answer.numberOrNull("viewer_ended_ms_ago") }),
  };
}

/** Which sessions to end: one, all of a person in a group, or all of a group. */
export type EndSessionsInput = (
  | { session: string; userGroupId?: undefined; teamId?: never; viewerId?: undefined }
  | ({ session?: never; viewerId?: string } & GroupOfSession)
) & {
  /** Why, for the people who read the events; 1 to 255 UTF-16 code units. */
  reason?: string | undefined;
};

/** The call that ends sessions. `environment` names the environment, where the credential does not. */
export const sessionEnds = (connection: Connection, environment: Query) => ({
  /**
   * Ends viewer sessions at once, but for those that may answer their viewers themselves. The group's token goes on working, and
   * sessions that are minted later are not affected.
   *
   * @example
   * await groups.ensure({ userGroupId: "leaving" });
   * const { token } = await groups.mintSession({ userGroupId: "leaving", viewerId: "jane" });
   * await groups.endSessions({ userGroupId: "leaving", viewerId: "jane", reason: "signed out" });
   * const refused = groups.asViewer({ session: token }).view();
   * console.info(await refused.catch(({ code }: UserGroupServiceError) => code));
   * // credential_revoked
   */
  async endSessions(input: EndSessionsInput, options?: CallOptions): Promise<void> {
    // One session is one, whatever else is missing.
    if (input.session === undefined) refuseUndefined(input, ["session", "userGroupId", "teamId", "viewerId"]);
    const body = {
      session: input.session,
      user_group_id: input.userGroupId,
      team_id: input.teamId,
      viewer_id: input.viewerId,
      reason: input.reason,
    };
    const path = "/api/viewer_sessions/end";
    await connection.send({ method: "POST", path, query: environment, body, retryable: true }, options);
  },
});
