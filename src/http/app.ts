import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { ExtractSchema } from "hono/types";
import { version } from "../../package.json";
import { parseSigningKeys } from "../domain/credentials/credential.ts";
import { log } from "../domain/log.ts";
import type { ACCESS } from "./access.ts";
import type { AppEnv, RequestEnv } from "./app-env.ts";
import {
  DurableObjectRestoring,
  DurableObjectUnavailable,
  DurableObjectUnreadable,
  StorageFull,
} from "./durable-objects.ts";
import { reference } from "./pages/reference.ts";
import { readCredential } from "./request/authenticate.ts";
import { cors } from "./request/cors.ts";
import { validHostOnly } from "./request/host.ts";
import { allowMethods, overrideMethod } from "./request/methods.ts";
import { apiKeys } from "./resources/api-keys/routes.ts";
import { backups, restores } from "./resources/backups/routes.ts";
import { environments } from "./resources/environments/routes.ts";
import { events } from "./resources/events/routes.ts";
import { operators } from "./resources/operators/routes.ts";
import { userGroups } from "./resources/user-groups/routes.ts";
import { userGroupsByNumber } from "./resources/user-groups-by-number/routes.ts";
import { jwks, viewerSessionEnds, viewerSessions } from "./resources/viewer-sessions/routes.ts";
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
  c.set("requestId", crypto.randomUUID());
  c.set("headers", { "X-Request-Id": c.get("requestId"), "Cache-Control": "no-store" });
  await next();
  const { status } = c.res;
  log[status >= 500 ? "error" : "info"]({
    method: c.req.method,
    // The route's pattern and not the path itself, which may hold a credential by mistake.
    path: routePath(c, -1).replace(/\/\*$/, ""),
    status,
    failure: c.get("failureCode"),
    key_id: c.get("keyId"),
    operator_id: c.get("operatorId"),
    operator: c.get("operator")?.name,
    team_id: c.get("teamId"),
    subject_key_id: c.get("subjectKeyId"),
    subject_operator_id: c.get("subjectOperatorId"),
    workspace: c.get("environment")?.workspace,
    environment: c.get("environment")?.tag,
    milliseconds: Date.now() - startedAt,
    request_id: c.get("requestId"),
    problem: c.get("problem"),
  });
});

/** Answers 503 to every call until the signing keys are set and well formed, and logs what the operator has to do. */
const configuredOnly = createMiddleware<AppEnv>(async (c, next) => {
  const text = c.env.SIGNING_KEYS ?? "";
  const ring = lastRing?.text === text ? lastRing.ring : await importRing(text);
  if (!ring.ok) {
    c.set("problem", `SIGNING_KEYS is unusable: ${ring.failure}. Set it with: npx wrangler secret put SIGNING_KEYS`);
    return refuse(c, { code: "service_not_configured" });
  }
  c.set("ring", ring.value);
  return next();
});

const FULL_DISK = "The disk is full. Free space on it: reads go on, and changes are refused until then.";

/**
 * The imported keys, once per isolate and value. This is the ring and not its promise: a promise belongs to the request that
 * made it, and could end with it.
 */
let lastRing: { text: string; ring: Awaited<ReturnType<typeof parseSigningKeys>> } | undefined;

async function importRing(text: string): ReturnType<typeof parseSigningKeys> {
  const ring = await parseSigningKeys(text);
  lastRing = { text, ring };
  return ring;
}

const router = new Hono<RequestEnv>({ strict: false })
  .use(answerAndLog, validHostOnly)
  .use("/api/*", cors)
  .use("/.well-known/*", cors)
  .use(configuredOnly, readCredential)
  .use("/health", allowMethods("GET", "HEAD"))
  .get("/health", (c) => respond(c, { success: 1, version }))
  .route("/api/user", userGroups)
  .route("/api/user_groups", userGroupsByNumber)
  .route("/api/events", events)
  .route("/api/keys", apiKeys)
  .route("/api/operators", operators)
  .route("/api/environments", environments)
  .route("/api/backup", backups)
  .route("/api/restore", restores)
  .route("/api/whoami", whoami)
  .route("/api/viewer", viewers)
  .route("/api/viewer_sessions/end", viewerSessionEnds)
  .route("/api/viewer_sessions", viewerSessions)
  .route("/.well-known/jwks.json", jwks)
  .route("/", reference)
  .notFound((c) => refuse(c, { code: "route_not_found" }))
  .onError((error, c) => {
    c.set("problem", error instanceof StorageFull ? FULL_DISK : (error.stack ?? String(error)));
    if (error instanceof DurableObjectUnavailable) return refuse(c, { code: "directory_unavailable" });
    if (error instanceof DurableObjectRestoring) return refuse(c, { code: "environment_restoring" });
    if (error instanceof StorageFull) return refuse(c, { code: "environment_full" });
    if (error instanceof DurableObjectUnreadable) return refuse(c, { code: "service_not_configured" });
    return refuse(c, { code: "internal_error" });
  });

/** The routes of an app below /api, such as `GET /api/user`. */
type RoutesOf<Schema> = {
  [Path in keyof Schema & `/api/${string}`]: `${Uppercase<MethodOf<keyof Schema[Path]>>} ${Path}`;
}[keyof Schema & `/api/${string}`];
type MethodOf<Key> = Key extends `$${infer Method}` ? Method : never;
type Unlisted = Exclude<RoutesOf<ExtractSchema<typeof router>>, keyof typeof ACCESS>;

/** The router. It does not compile while a route lacks its entry in the table of who may make which call. */
const listedRouter: [Unlisted] extends [never] ? typeof router : Unlisted = router;

/** The Worker. */
export const app = {
  fetch: (request, env, ctx) => listedRouter.fetch(overrideMethod(request), env, ctx),
} satisfies ExportedHandler<Env>;
