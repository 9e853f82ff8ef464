import { directoryName } from "../../../../common/environment.ts";
import { JWKS_SECONDS } from "../../../../common/limits.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import { jwksOf, verifySession } from "../../../domain/credentials/viewer-session.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { SessionGroup } from "../../../domain/user-groups/viewer-sessions.ts";
import type { AppEnv, CallerEnv, RequestContext } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { mintViewerSession } from "../../operations/viewer-sessions.ts";
import { presentedSession } from "../../request/admit-viewer.ts";
import { authorizeCallers, authorizeKeys } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { publicUrlOf } from "../../request/host.ts";
import { allowMethods } from "../../request/methods.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { configurationBody, EndBody, mintedBody, SessionBody } from "./wire.ts";

/** Short-lived credentials for pages, which integrators mint on their servers. */
export const viewerSessions = new Hono<AppEnv>()
  .use("/", authorizeKeys)

  .post("/", jsonBody(SessionBody), async (c) => {
    const issuer = publicUrlOf(c.env, c.req.url);
    if (!issuer.ok) return refuse(c, (await c.get("checkCaller")()) ?? unconfigured(c, issuer.failure));
    const body = c.req.valid("json");
    const minted = await mintViewerSession(c, {
      issuer: issuer.value,
      of: groupOf(body),
      expiresInSeconds: body.expires_in_seconds,
      origins: body.origins,
      viewerId: body.viewer_id,
      viewerProperties: body.viewer_properties,
      includeVariables: body.include_variables,
      maxStaleSeconds: body.max_stale_seconds,
      extraClaims: body.claims,
    });
    if (!minted.ok) return refuse(c, minted.failure);
    c.set("teamId", minted.value.teamId);
    c.set("sessionId", minted.value.id);
    return respond(c, mintedBody(minted.value), {}, 201);
  });

/** The failure of a call that must name the issuer, while the service does not know its own address. */
function unconfigured(c: RequestContext, problem: string): Failure {
  c.set("problem", problem);
  return { code: "service_not_configured" };
}

/** Ends sessions before their time, for integrators and operators. */
export const viewerSessionEnds = new Hono<AppEnv>()
  .use(authorizeCallers)

  .post("/", jsonBody(EndBody), async (c) => {
    const body = c.req.valid("json");
    const ended = body.session === undefined ? await endSessionsOfGroup(c, body) : await endSession(c, body.session);
    return ended.ok ? respond(c, { success: 1 }) : refuse(c, ended.failure);
  });

/** The group that a body names, by exactly one of the two. */
const groupOf = ({ user_group_id: providedId = "", team_id: teamId }: NamedGroup): SessionGroup =>
  teamId === undefined ? { providedId } : { teamId };

type NamedGroup = { user_group_id?: string | undefined; team_id?: number | undefined };

const FORGED = { path: ["session"], message: "Give a session that this service has minted in this environment." };

type Ended = Promise<Result<undefined, Failure>>;

/** Ends the sessions of a group, or of one person of it. */
async function endSessionsOfGroup(
  c: RequestContext<CallerEnv>,
  body: NamedGroup & { viewer_id?: string | undefined },
): Ended {
  const { directory, caller } = c.var;
  const of = groupOf(body);
  const { viewer_id: viewerId } = body;
  if ("teamId" in of) return directory.endSessionsByNumber(caller, of.teamId, viewerId);
  return directory.endSessions(
    caller,
    viewerId === undefined ? { kind: "group", ...of } : { kind: "person", ...of, viewerId },
  );
}

/** Ends the session with this text. An expired one stays as it is. */
async function endSession(c: RequestContext<CallerEnv>, text: string): Ended {
  const verified = await verifySession(c.get("ring"), text, Date.now());
  const isOwn = verified && directoryName(verified.claims.environment) === directoryName(c.get("environment"));
  if (isOwn && verified.state === "valid")
    return c.get("directory").endSessions(c.get("caller"), { kind: "session", ...presentedSession(verified.claims) });
  const failure = await c.get("checkCaller")();
  if (failure) return fail(failure);
  return isOwn ? ok(undefined) : fail({ code: "invalid_body", issues: [FORGED] });
}

/** The public keys by which anybody can verify sessions (RFC 7517, section 5). */
export const jwks = new Hono<AppEnv>()
  .use(allowMethods("GET", "HEAD"))
  .get("/", async (c) =>
    respond(c, await jwksOf(c.get("ring")), { "Cache-Control": `public, max-age=${JWKS_SECONDS}` }),
  );

/** Where verifiers that begin with the issuer find the public keys (OpenID Connect Discovery 1.0, section 4). */
export const discovery = new Hono<AppEnv>().use(allowMethods("GET", "HEAD")).get("/", (c) => {
  const issuer = publicUrlOf(c.env, c.req.url);
  if (!issuer.ok) return refuse(c, unconfigured(c, issuer.failure));
  return respond(c, configurationBody(issuer.value), { "Cache-Control": `public, max-age=${JWKS_SECONDS}` });
});
