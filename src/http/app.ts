import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { ExtractSchema } from "hono/types";
import { readSetting, unreadableSettings } from "../../common/settings/settings.ts";
import { version } from "../../package.json";
import { log } from "../domain/log.ts";
import type { ACCESS, RoutesOf } from "./access.ts";
import type { AppEnv, Credential, RequestEnv } from "./app-env.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { operatorConsole } from "./console/console.ts";
import { problemOf, refusalCodeOf } from "./durable-objects.ts";
import { Hono } from "./hono.ts";
import { publicFiles } from "./public-files.ts";
import { readCredential, ringOf } from "./request/authenticate.ts";
import { loggedClient } from "./request/client-address.ts";
import { cors } from "./request/cors.ts";
import { validHostOnly } from "./request/host.ts";
import { allowMethods, methodsOfCalls, overrideMethod, refuseConnect } from "./request/methods.ts";
import { apiKeys } from "./resources/api-keys/routes.ts";
import { backups, restores } from "./resources/backups/routes.ts";
import { credentials } from "./resources/credentials/routes.ts";
import { environments } from "./resources/environments/routes.ts";
import { events } from "./resources/events/routes.ts";
import { operators } from "./resources/operators/routes.ts";
import { readiness } from "./resources/readiness/routes.ts";
import { userGroups } from "./resources/user-groups/routes.ts";
import { userGroupsByNumber } from "./resources/user-groups-by-number/routes.ts";
import { discovery, jwks, viewerSessionEnds, viewerSessions } from "./resources/viewer-sessions/routes.ts";
import { JWKS_PATH } from "./resources/viewer-sessions/wire.ts";
import { viewers } from "./resources/viewers/routes.ts";
import { whoami } from "./resources/whoami/routes.ts";
import { refuse } from "./response/failures.ts";
import { respond } from "./response/respond.ts";

/**
 * Gives every answer its request id, forbids caches to store it, and writes one log line, with the stack of a crash. Only
 * static files have a Cache-Control of their own.
 */
const answerAndLog = createMiddleware<RequestEnv>(async (c, next) => {
  const startedAt = Date.now();
  const pattern = routePath(c, -1);
  c.set("pattern", pattern);
  c.set("requestId", crypto.randomUUID());
  c.set("headers", { "X-Request-Id": c.get("requestId"), "Cache-Control": "no-store" });
  await next();
  c.get("place")?.leave();
  collectGarbage(c);
  const { status } = c.res;
  log[status >= 500 ? "error" : "info"]({
    method: c.req.method,
    // The route's pattern and not the path itself, which may hold a credential by mistake.
    path: pattern.replace(/\/\*$/, ""),
    status,
    failure: c.get("failureCode"),
    key_id: c.get("keyId"),
    // Of credentials that were accepted, so that an old signing key can be seen unused.
    signing_key: status === 401 ? undefined : signingIdOf(c.get("credential")),
    // The console's operators have a session and no key, so only the registry knows them. Bootstrap has no number.
    operator_id: c.get("operatorId") ?? c.get("operator")?.id ?? undefined,
    operator: c.get("operator")?.name,
    team_id: c.get("teamId"),
    session_id: c.get("sessionId"),
    subject_key_id: c.get("subjectKeyId"),
    subject_operator_id: c.get("subjectOperatorId"),
    workspace: c.get("environment")?.workspace,
    environment: c.get("environment")?.tag,
    client: loggedClient(c, status),
    milliseconds: Date.now() - startedAt,
    request_id: c.get("requestId"),
    problem: c.get("problem"),
  });
});

/** The id of the signing key that signed a credential; `undefined` for a credential that no key has signed. */
function signingIdOf(credential: Credential | undefined): string | undefined {
  if (credential?.kind === "viewer_session") return credential.session.signingId;
  return credential && "signingId" in credential ? credential.signingId : undefined;
}

/** The environments whose settings have been checked: each isolate reports once what it cannot read. */
const checked = new WeakSet<Env>();

function reportUnreadable(env: Env): void {
  if (checked.has(env)) return;
  checked.add(env);
  const unreadable = unreadableSettings(env);
  if (unreadable.length > 0) log.error({ message: "Settings cannot be read.", error: unreadable.join(" ") });
}

/**
 * Answers 503 to every call until the signing keys and the jurisdiction can be read, and logs what the operator has to do. For
 * /ready, all settings must be readable. Other calls take the safe value of a setting that is not, so that a mistake in one does
 * not end them all.
 */
const configuredOnly = createMiddleware<AppEnv>(async (c, next) => {
  const ring = await ringOf(c.env);
  const jurisdiction = readSetting(c.env, "JURISDICTION");
  reportUnreadable(c.env);
  const isReadiness = c.get("pattern").startsWith(READY);
  const unreadable = isReadiness || !ring.ok || !jurisdiction.ok ? unreadableSettings(c.env) : [];
  if (unreadable.length > 0) c.set("problem", unreadable.join(" "));
  if (isReadiness && unreadable.length > 0) return refuse(c, { code: "not_ready", failed: ["settings"] });
  if (!ring.ok || !jurisdiction.ok) return refuse(c, { code: "service_not_configured" });
  c.set("ring", ring.value);
  c.set("jurisdiction", jurisdiction.value ?? null);
  return next();
});

const READY = "/ready";

const router = new Hono<RequestEnv>({ strict: false })
  .use(answerAndLog, validHostOnly)
  .use("/api/*", cors)
  .use("/.well-known/*", cors)
  .use(configuredOnly, readCredential)
  .route("/", methodsOfCalls())
  .use("/health", allowMethods("GET", "HEAD"))
  .route(READY, readiness)
  .get("/health", (c) => respond(c, { success: 1, version }))
  .route("/api/user", userGroups)
  .route("/api/user_groups", userGroupsByNumber)
  .route("/api/events", events)
  .route("/api/keys", apiKeys)
  .route("/api/operators", operators)
  .route("/api/credentials", credentials)
  .route("/api/environments", environments)
  .route("/api/backup", backups)
  .route("/api/restore", restores)
  .route("/api/whoami", whoami)
  .route("/api/viewer", viewers)
  .route("/api/viewer_sessions/end", viewerSessionEnds)
  .route("/api/viewer_sessions", viewerSessions)
  .route(JWKS_PATH, jwks)
  .route("/.well-known/openid-configuration", discovery)
  .route("/", operatorConsole)
  .route("/", publicFiles)
  .notFound((c) => refuse(c, { code: "route_not_found" }))
  .onError((error, c) => {
    c.set("problem", problemOf(error));
    return refuse(c, { code: refusalCodeOf(error) ?? "internal_error" });
  });

type Unlisted = Exclude<RoutesOf<ExtractSchema<typeof router>, `/api/${string}`>, keyof typeof ACCESS>;

/** The router. It does not compile while a route lacks its entry in the table of who may make which call. */
const listedRouter: [Unlisted] extends [never] ? typeof router : Unlisted = router;

/** The Worker. */
export const app = {
  fetch: (request, env, ctx) => {
    const answer = Promise.resolve(listedRouter.fetch(overrideMethod(request), env, ctx));
    // Without this, the runtime ends a request when its client disconnects, wherever the request waits. It would then never leave its
    // place (Workers, "Context": `waitUntil`).
    ctx.waitUntil(answer);
    return answer;
  },
  connect: refuseConnect,
} satisfies ExportedHandler<Env>;
