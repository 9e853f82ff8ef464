import { createMiddleware } from "hono/factory";
import { isProtected } from "../../../../common/origin.ts";
import { hasConsole } from "../../../../common/settings/settings.ts";
import type { Failure } from "../../../domain/failure.ts";
import { isOfType } from "../../request/body/body-bytes.ts";
import { FAILURES } from "../../response/failures.ts";
import type { ConsoleCall, ConsoleEnv } from "../console-env.ts";
import { respondWithMessage } from "../response/respond-with-page.tsx";
import { consoleOriginOf } from "./console-origin.ts";

/**
 * Protects every page below /console. Another page of this origin could act as the operator. So `protect` refuses
 * requests that are not navigations of a browser, and forms from other origins.
 */
export const protect = createMiddleware<ConsoleEnv>(async (c, next) => {
  if (!hasConsole(c.env)) return c.notFound();
  const origin = consoleOriginOf(c);
  if (!origin.ok || !isProtected(new URL(origin.value)))
    return respondWithMessage(c, 403, "The console needs https", HTTPS);
  c.set("origin", origin.value);
  const refusal = refusalOf(c);
  if (refusal) {
    const page = await respondWithMessage(c, refusal.status, "This request is refused", refusal.message);
    if (refusal.status === 405) page.headers.set("Allow", METHODS.join(", "));
    return page;
  }
  await next();
  // The API's own refusals, and crashes, are answered in JSON.
  if (!c.res.headers.get("Content-Type")?.startsWith("application/json")) return;
  const code = c.get("failureCode") ?? "internal_error";
  const page = await respondWithMessage(c, c.res.status, TITLES[code] ?? "That did not work", FAILURES[code].message);
  c.res = undefined;
  c.res = page;
});

const HTTPS =
  "Open it by its https address: a key that is sent without TLS can be read on its way. On the machine of the service, " +
  "http://localhost works too. If a proxy ends TLS for this service, set PUBLIC_URL to the address by which browsers reach it.";

const TITLES: Partial<Record<Failure["code"], string>> = {
  rate_limited: "Too many requests",
  route_not_found: "There is no such page",
  directory_unavailable: "The service does not answer",
  environment_damaged: "A database is damaged",
  internal_error: "The service has failed",
};

const METHODS = ["GET", "HEAD", "POST"];

const forbidden = (message: string) => ({ status: 403, message });

function refusalOf(c: ConsoleCall): { status: number; message: string } | undefined {
  const { method } = c.req;
  if (!METHODS.includes(method)) return { status: 405, message: "Pages of the console take GET and POST." };
  const mode = c.req.header("Sec-Fetch-Mode") ?? "navigate";
  const destination = c.req.header("Sec-Fetch-Dest") ?? "document";
  if (mode !== "navigate" || destination !== "document")
    return forbidden("Only a person may open the console, in a window of its own. Scripts and frames may not.");
  const origin = c.req.header("Origin");
  const isOwn = origin === c.get("origin");
  if (method === "POST" ? !isOwn : origin !== undefined && !isOwn)
    return forbidden(`The console takes forms from its own pages alone. Open it at ${c.get("origin")}.`);
  if (method === "POST" && !isOfType(c.req.header("Content-Type"), "form"))
    return forbidden("The console takes forms alone. Programs use the API.");
  return undefined;
}
