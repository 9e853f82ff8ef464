import { Hono } from "hono";
import { directoryName } from "../../../../common/environment.ts";
import { JWKS_SECONDS } from "../../../../common/limits.ts";
import { jwksOf, verifySession } from "../../../domain/credentials/viewer-session.ts";
import type { SessionsToEnd } from "../../../domain/user-groups/viewer-sessions.ts";
import type { AppEnv, CallerEnv, RequestContext } from "../../app-env.ts";
import { mintViewerSession } from "../../operations/viewer-sessions.ts";
import { presentedSession } from "../../request/admit-viewer.ts";
import { authorizeCallers, authorizeKeys } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { publicUrlOf } from "../../request/public-url.ts";
import { refuse } from "../../response/failures.ts";
import { refuseRequest } from "../../response/refuse-request.ts";
import { respond } from "../../response/respond.ts";
import { EndBody, SessionBody } from "./schemas.ts";
import { sessionBody } from "./wire.ts";

/** Short-lived credentials for pages, which integrators mint on their servers. */
export const viewerSessions = new Hono<AppEnv>()
  .use("/", authorizeKeys)

  .post("/", jsonBody(SessionBody), async (c) => {
    const issuer = publicUrlOf(c.env, c.req.url);
    if (!issuer.ok) {
      c.set("problem", issuer.failure);
      return refuseRequest(c, { code: "service_not_configured" });
    }
    const body = c.req.valid("json");
    const minter = {
      ring: c.get("ring"),
      issuer: issuer.value,
      environment: c.get("environment"),
      directory: c.get("directory"),
      caller: c.get("caller"),
      keyId: c.get("keyId"),
    };
    const minted = await mintViewerSession(minter, {
      providedId: body.user_group_id,
      expiresInSeconds: body.expires_in_seconds,
      origins: body.origins,
      viewerId: body.viewer_id,
      viewerProperties: body.viewer_properties,
      includeVariables: body.include_variables,
      maxStaleSeconds: body.max_stale_seconds,
    });
    if (!minted.ok) return refuse(c, minted.failure);
    c.set("teamId", minted.value.teamId);
    c.set("sessionId", minted.value.id);
    return respond(c, { success: 1, session: sessionBody(minted.value) }, {}, 201);
  });

/** Ends sessions before their time, for integrators and operators. */
export const viewerSessionEnds = new Hono<AppEnv>()
  .use(authorizeCallers)

  .post("/", jsonBody(EndBody), async (c) => {
    const { session, user_group_id: providedId = "", viewer_id: viewerId } = c.req.valid("json");
    const ending = session === undefined ? endingOf(providedId, viewerId) : await endingOfSession(c, session);
    if (ending === "forged") return refuseRequest(c, { code: "invalid_body", issues: [FORGED] });
    const failure = ending === "expired" ? await c.get("checkCaller")() : await endSessions(c, ending);
    return failure ? refuse(c, failure) : respond(c, { success: 1 });
  });

const FORGED = {
  path: ["session"],
  message: "Give a session that this service has minted in this environment.",
};

async function endSessions(c: RequestContext<CallerEnv>, ending: SessionsToEnd) {
  const ended = await c.get("directory").endSessions(c.get("caller"), ending);
  return ended.ok ? undefined : ended.failure;
}

const endingOf = (providedId: string, viewerId: string | undefined): SessionsToEnd =>
  viewerId === undefined ? { kind: "group", providedId } : { kind: "person", providedId, viewerId };

/** The session that `text` names; `forged` if this service has not minted it in this environment. */
async function endingOfSession(
  c: RequestContext<CallerEnv>,
  text: string,
): Promise<SessionsToEnd | "expired" | "forged"> {
  const verified = await verifySession(c.get("ring"), text, Date.now());
  if (!verified || directoryName(verified.claims.environment) !== directoryName(c.get("environment"))) return "forged";
  return verified.state === "expired" ? "expired" : { kind: "session", ...presentedSession(verified.claims) };
}

/** The public keys by which anybody can verify sessions (RFC 7517, section 5). */
export const jwks = new Hono<AppEnv>()
  .use(allowMethods("GET", "HEAD"))
  .get("/", async (c) =>
    respond(c, await jwksOf(c.get("ring")), { "Cache-Control": `public, max-age=${JWKS_SECONDS}` }),
  );
