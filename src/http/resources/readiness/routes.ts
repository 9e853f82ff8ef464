import { READY_SECONDS_MAX, READY_TIMEOUT_SECONDS } from "../../../../common/limits.ts";
import { version } from "../../../../package.json";
import type { Unready } from "../../../domain/failure.ts";
import { TimeoutError, withTimeout } from "../../../domain/with-timeout.ts";
import type { AppEnv, RequestContext } from "../../app-env.ts";
import { problemOf, refusalCodeOf, registryOf } from "../../durable-objects.ts";
import { Hono } from "../../hono.ts";
import { allowMethods } from "../../request/methods.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";

/** What was found, and when, in milliseconds since 1970. `problem` is for the log. */
type Check = { checkedAt: number; failed?: Unready; problem?: string };

/** The last check of this isolate. It is cached, because /ready takes no credential: a call more often must not reach the registry. */
let last: (Check & { env: Env }) | undefined;

/** Whether the service can serve calls: the registry and its storage. `configuredOnly` has checked the settings. */
export const readiness = new Hono<AppEnv>()
  .use(allowMethods("GET", "HEAD"))

  .get("/", async (c) => {
    const { failed, problem } = await lastCheck(c);
    if (problem !== undefined) c.set("problem", problem);
    if (failed) return refuse(c, { code: "not_ready", failed: [failed] });
    return respond(c, { success: 1, ready: true, version, jurisdiction: c.get("jurisdiction") });
  });

async function lastCheck(c: RequestContext): Promise<Check> {
  const now = Date.now();
  if (last && last.env === c.env && now - last.checkedAt < READY_SECONDS_MAX * 1000 && now >= last.checkedAt)
    return last;
  // Calls that come during the check get the last result, so that a slow registry is not asked by all of them.
  if (last && last.env === c.env) last = { ...last, checkedAt: now };
  last = { ...(await check(c.env)), checkedAt: now, env: c.env };
  return last;
}

async function check(env: Env): Promise<Omit<Check, "checkedAt">> {
  try {
    await withTimeout(registryOf(env).checkStorage(), READY_TIMEOUT_SECONDS);
    return {};
  } catch (error) {
    return { failed: failureOf(error), problem: problemOf(error) };
  }
}

function failureOf(error: unknown): Unready {
  const code = refusalCodeOf(error);
  if (code === "service_not_configured" || /no such (?:table|column)/.test(String(error))) return "schema";
  if (code === "environment_restoring") return "restoring";
  return code === "directory_unavailable" || error instanceof TimeoutError ? "registry" : "storage";
}
