import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { verifyCredential } from "../domain/credential.ts";
import type { Proof } from "../domain/group-directory.ts";
import { inTime } from "../domain/in-time.ts";
import { INDEX_READ_SECONDS_MAX } from "../domain/limits.ts";
import { bindTemplate } from "../domain/sql-template.ts";
import type { GroupSnapshot } from "../domain/user-group.ts";
import { variablesOf } from "../domain/variables.ts";
import { TokenIndex } from "../storage/token-index.ts";
import { answer } from "./answer.ts";
import type { AppEnv } from "./app-env.ts";
import { shownCredential } from "./authenticate.ts";
import { directoryOf } from "./directory.ts";
import { allowsStale } from "./freshness.ts";
import { jsonBody } from "./json-body.ts";
import { allowMethods } from "./methods.ts";
import { refuse } from "./refusals.ts";
import { QueryBody } from "./schemas.ts";
import { onView } from "./wire.ts";

/**
 * Finds the group whose token is shown. The directory answers, unless the caller allows a stale answer and the index has
 * one; whatever the index fails at, the directory answers as well.
 */
const viewersOnly = createMiddleware<AppEnv>(async (c, next) => {
  const claim = await verifyCredential(c.get("ring"), "token", shownCredential(c));
  if (!claim) return refuse(c, { code: "unauthenticated" });
  c.set("environment", claim.environment);
  // Counted by token, not by group: whoever holds a rotated one must not use up what the current one is allowed.
  const { success } = await c.env.TOKEN_LIMIT.limit({ key: claim.fingerprint });
  if (!success) return refuse(c, { code: "rate_limited" });

  const staleIsAllowed = allowsStale(c.req.header("Cache-Control"));
  const indexed = staleIsAllowed ? await findIndexed(c.env, claim) : undefined;
  c.get("headers")["X-Answered-By"] = indexed ? "index" : "directory";
  if (indexed) {
    c.set("group", indexed);
  } else {
    const viewed = await directoryOf(c.env, claim.environment).view(
      { id: claim.id, nonce: claim.nonce },
      staleIsAllowed,
    );
    if (!viewed.ok) return refuse(c, viewed.failure);
    c.set("group", viewed.value);
  }
  return next();
});

/** What the index has on a token, if it answers in time and the entry is still valid. */
async function findIndexed(env: Env, { id, nonce }: Proof): Promise<GroupSnapshot | undefined> {
  const read = new TokenIndex(env.TOKEN_INDEX).find(nonce);
  const found = await inTime(read, INDEX_READ_SECONDS_MAX).catch(() => undefined);
  const isValid = found?.teamId === id && (found.validUntil === null || Date.now() < found.validUntil);
  return isValid ? found : undefined;
}

/** What a preflight is answered with (Fetch standard, section 3.3). */
const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET,POST",
  "Access-Control-Allow-Headers": "Authorization,Cache-Control,Content-Type",
  "Access-Control-Max-Age": "86400",
};

/**
 * Lets scripts of any origin call the viewers' routes, and read refusals too: it comes before all that refuses. Hono's own
 * middleware for this would make a second response for its headers.
 */
export const anyOrigin = createMiddleware<AppEnv>(async (c, next) => {
  const headers = Object.assign(c.get("headers"), { "Access-Control-Allow-Origin": "*" });
  // Told to browsers alone, which send Origin: a viewer's answer takes 3 % longer with it.
  if (c.req.header("Origin") !== undefined)
    headers["Access-Control-Expose-Headers"] = "Retry-After,X-Answered-By,X-Request-Id";
  return c.req.method === "OPTIONS"
    ? new Response(null, { status: 204, headers: { ...headers, ...PREFLIGHT } })
    : next();
});

/** What dashboards ask with the token of a user group, from browsers too. */
export const viewers = new Hono<AppEnv>()
  .use("/", allowMethods("GET"))
  .use("/query", allowMethods("POST"))
  .use(viewersOnly)

  .get("/", (c) => {
    const group = c.get("group");
    const shown = onView(group, c.get("environment").tag);
    return answer(c, { success: 1, user_group: shown, variables: variablesOf(group, shown.properties) });
  })

  .post("/query", jsonBody(QueryBody), (c) => {
    const { sql, placeholders } = c.req.valid("json");
    const variables = new Map(Object.entries(variablesOf(c.get("group"))));
    const bound = bindTemplate(sql, variables, placeholders);
    if (!bound.ok) return refuse(c, bound.failure);
    return answer(c, { success: 1, ...bound.value });
  });
