import { type Context, Hono } from "hono";
import { jwksOf, mintSession, variablesFit } from "../../../domain/credentials/viewer-session.ts";
import type { NewSession } from "../../../domain/group-directory.ts";
import { variablesOf } from "../../../domain/sql/variables.ts";
import { ISSUER_UNITS_MAX, JWKS_SECONDS } from "../../../limits.ts";
import type { AppEnv } from "../../app-env.ts";
import { authorize } from "../../request/authorize.ts";
import { jsonBody } from "../../request/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { SessionBody } from "./schemas.ts";

/** Short-lived credentials for pages, which integrators mint on their servers. */
export const viewerSessions = new Hono<AppEnv>()
  .use(allowMethods("POST"), authorize)

  .post("/", jsonBody(SessionBody), async (c) => {
    const { user_group_id: providedId, viewer_id: viewerId, origins, ...options } = c.req.valid("json");
    const started = await c.get("directory").startSession(c.get("caller"), providedId);
    if (!started.ok) return refuse(c, started.failure);
    const { group } = started.value;
    const variables = options.include_variables ? variablesOf(group, viewerId) : undefined;
    if (variables && !variablesFit(variables)) return refuse(c, { code: "variables_too_large" });
    const times = timesOf(started.value, options.expires_in_seconds);
    if (!times) return refuse(c, { code: "credential_expired" });

    const issuer = c.env.ISSUER || new URL(c.req.url).origin;
    if (issuer.length > ISSUER_UNITS_MAX) {
      c.set("problem", `ISSUER is longer than ${ISSUER_UNITS_MAX} characters. Shorten it in wrangler.toml.`);
      return refuse(c, { code: "service_not_configured" });
    }

    const token = await mintSession(c.get("ring"), {
      ...times,
      issuer,
      environment: c.get("environment"),
      providedId: group.providedId,
      teamId: group.teamId,
      generation: new Uint8Array(started.value.generation),
      keyId: c.get("keyId") ?? 0,
      id: crypto.randomUUID(),
      ...(origins && { origins }),
      ...(viewerId !== undefined && { viewerId }),
      ...(variables && { variables }),
    });
    c.set("teamId", group.teamId);
    return respond(c, { success: 1, session: sessionBody(token, times) }, {}, 201);
  });

type Times = { issuedAtSeconds: number; expiresAtSeconds: number };

/** When a session starts and expires: not after the key that mints it. `undefined` if that ends within this second. */
function timesOf({ keyEndsAt }: NewSession, expiresInSeconds: number): Times | undefined {
  const issuedAtSeconds = Math.floor(Date.now() / 1000);
  const keyEndsAtSeconds = keyEndsAt === null ? Number.POSITIVE_INFINITY : Math.floor(keyEndsAt / 1000);
  const expiresAtSeconds = Math.min(issuedAtSeconds + expiresInSeconds, keyEndsAtSeconds);
  return expiresAtSeconds > issuedAtSeconds ? { issuedAtSeconds, expiresAtSeconds } : undefined;
}

const sessionBody = (token: string, { issuedAtSeconds, expiresAtSeconds }: Times) => ({
  token,
  expires_at: new Date(expiresAtSeconds * 1000).toISOString(),
  expires_in_seconds: expiresAtSeconds - issuedAtSeconds,
});

/** The public keys by which anybody can verify sessions (RFC 7517, section 5). */
export const jwks = new Hono<AppEnv>()
  .use(allowMethods("GET", "HEAD"))
  .get("/", async (c: Context<AppEnv>) =>
    respond(c, await jwksOf(c.get("ring")), { "Cache-Control": `public, max-age=${JWKS_SECONDS}` }),
  );
