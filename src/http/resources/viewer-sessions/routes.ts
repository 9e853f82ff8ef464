import { Hono } from "hono";
import { jwksOf } from "../../../domain/credentials/viewer-session.ts";
import { JWKS_SECONDS } from "../../../limits.ts";
import type { AppEnv } from "../../app-env.ts";
import { mintViewerSession } from "../../operations/viewer-sessions.ts";
import { authorizeKeys } from "../../request/authorize.ts";
import { jsonBody } from "../../request/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { publicUrlOf } from "../../request/public-url.ts";
import { refuse } from "../../response/failures.ts";
import { refuseRequest } from "../../response/refuse-request.ts";
import { respond } from "../../response/respond.ts";
import { SessionBody } from "./schemas.ts";
import { sessionBody } from "./wire.ts";

/** Short-lived credentials for pages, which integrators mint on their servers. */
export const viewerSessions = new Hono<AppEnv>()
  .use(allowMethods("POST"), authorizeKeys)

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
    return respond(c, { success: 1, session: sessionBody(minted.value) }, {}, 201);
  });

/** The public keys by which anybody can verify sessions (RFC 7517, section 5). */
export const jwks = new Hono<AppEnv>()
  .use(allowMethods("GET", "HEAD"))
  .get("/", async (c) =>
    respond(c, await jwksOf(c.get("ring")), { "Cache-Control": `public, max-age=${JWKS_SECONDS}` }),
  );
