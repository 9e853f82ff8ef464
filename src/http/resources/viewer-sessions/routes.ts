import { Hono } from "hono";
import { jwksOf } from "../../../domain/credentials/viewer-session.ts";
import { ISSUER_UNITS_MAX, JWKS_SECONDS } from "../../../limits.ts";
import type { AppEnv } from "../../app-env.ts";
import { mintViewerSession } from "../../operations/viewer-sessions.ts";
import { authorizeKeys } from "../../request/authorize.ts";
import { jsonBody } from "../../request/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { SessionBody } from "./schemas.ts";
import { sessionBody } from "./wire.ts";

/** Short-lived credentials for pages, which integrators mint on their servers. */
export const viewerSessions = new Hono<AppEnv>()
  .use(allowMethods("POST"), authorizeKeys)

  .post("/", jsonBody(SessionBody), async (c) => {
    const body = c.req.valid("json");
    const minter = {
      ring: c.get("ring"),
      issuer: c.env.ISSUER || new URL(c.req.url).origin,
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
      includeVariables: body.include_variables,
    });
    if (!minted.ok) {
      if (minted.failure.code === "service_not_configured")
        c.set("problem", `ISSUER is longer than ${ISSUER_UNITS_MAX} characters. Shorten it in wrangler.toml.`);
      return refuse(c, minted.failure);
    }
    c.set("teamId", minted.value.teamId);
    return respond(c, { success: 1, session: sessionBody(minted.value) }, {}, 201);
  });

/** The public keys by which anybody can verify sessions (RFC 7517, section 5). */
export const jwks = new Hono<AppEnv>()
  .use(allowMethods("GET", "HEAD"))
  .get("/", async (c) =>
    respond(c, await jwksOf(c.get("ring")), { "Cache-Control": `public, max-age=${JWKS_SECONDS}` }),
  );
