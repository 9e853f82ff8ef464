import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import { version } from "../../package.json";
import { parseSigningKeys } from "../domain/credential.ts";
import { log } from "../domain/log.ts";
import { answer } from "./answer.ts";
import { apiKeys } from "./api-keys.ts";
import type { AppEnv } from "./app-env.ts";
import { limitGuesses, noSecretsInBrowsers } from "./authenticate.ts";
import { demo } from "./demo.ts";
import { DirectoryUnavailable } from "./directory.ts";
import { allowMethods, overrideMethod } from "./methods.ts";
import { reference } from "./reference.ts";
import { refuse } from "./refusals.ts";
import { userGroupList } from "./user-group-list.ts";
import { userGroups } from "./user-groups.ts";
import { anyOrigin, viewers } from "./viewers.ts";

/**
 * Marks every answer with its request id, forbids caches to keep it, and writes its one log line. Files alone, which hold
 * nothing of anybody, bring a Cache-Control of their own.
 */
const answerAndLog = createMiddleware<AppEnv>(async (c, next) => {
  const startedAt = Date.now();
  c.set("requestId", crypto.randomUUID());
  c.set("headers", { "X-Request-Id": c.get("requestId"), "Cache-Control": "no-store" });
  await next();
  if (c.get("failureCode") === "unauthenticated") await limitGuesses(c);
  log.info({
    method: c.req.method,
    // The route's pattern and not the path itself, into which someone may have put a credential.
    path: routePath(c, -1).replace(/\/\*$/, ""),
    status: c.res.status,
    failure: c.get("failureCode"),
    key_id: c.get("keyId"),
    workspace: c.get("environment")?.workspace,
    environment: c.get("environment")?.tag,
    milliseconds: Date.now() - startedAt,
    request_id: c.get("requestId"),
  });
});

/** Answers 503 to all until the signing keys are there and well formed, and tells the operator's log what to do. */
const configuredOnly = createMiddleware<AppEnv>(async (c, next) => {
  const text = c.env.SIGNING_KEYS ?? "";
  const ring = lastRing?.text === text ? lastRing.ring : await importRing(text);
  if (!ring.ok) {
    log.error({
      request_id: c.get("requestId"),
      message: `SIGNING_KEYS is unusable: ${ring.failure}. Set it with: npx wrangler secret put SIGNING_KEYS`,
    });
    return refuse(c, { code: "service_not_configured" });
  }
  c.set("ring", ring.value);
  return next();
});

/**
 * The keys as they were imported last: once per isolate and value. What is kept is the ring and not its promise, which
 * belongs to the request that made it and could end with it.
 */
let lastRing: { text: string; ring: Awaited<ReturnType<typeof parseSigningKeys>> } | undefined;

async function importRing(text: string): ReturnType<typeof parseSigningKeys> {
  const ring = await parseSigningKeys(text);
  lastRing = { text, ring };
  return ring;
}

const router = new Hono<AppEnv>({ strict: false })
  .use(answerAndLog)
  .use("/api/viewer/*", anyOrigin)
  .use(configuredOnly, noSecretsInBrowsers)
  .use("/health", allowMethods("GET", "HEAD"))
  .get("/health", (c) => answer(c, { success: 1, version }))
  .route("/api/user", userGroups)
  .route("/api/user_groups", userGroupList)
  .route("/api/keys", apiKeys)
  .route("/api/viewer", viewers)
  .route("/demo", demo)
  .route("/", reference)
  .notFound((c) => refuse(c, { code: "route_not_found" }))
  .onError((error, c) => {
    log.error({ request_id: c.get("requestId"), error: error.stack ?? String(error) });
    return refuse(c, { code: error instanceof DirectoryUnavailable ? "directory_unavailable" : "internal_error" });
  });

/** The Worker. */
export const app = {
  fetch: (request, env, ctx) => router.fetch(overrideMethod(request), env, ctx),
} satisfies ExportedHandler<Env>;
