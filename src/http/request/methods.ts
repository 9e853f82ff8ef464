import { createMiddleware } from "hono/factory";
import { getPath } from "hono/utils/url";
import { log } from "../../domain/log.ts";
import { ACCESS, type Access } from "../access.ts";
import type { RequestEnv } from "../app-env.ts";
import { Hono } from "../hono.ts";
import { refuse } from "../response/failures.ts";

/**
 * Refuses all other methods. HEAD is one of them unless named: Hono would answer it by running the GET, which on some of
 * these paths creates.
 */
export const allowMethods = (...allow: string[]) =>
  createMiddleware<RequestEnv>((c, next) =>
    allow.includes(c.req.method) ? next() : Promise.resolve(refuse(c, { code: "method_not_allowed", allow })),
  );

/** Refuses the methods that the table of access does not name for the path of a call. */
export function methodsOfCalls(): Hono<RequestEnv> {
  const calls = Object.entries<Access>(ACCESS).map(([call, { takesHead }]) => {
    const [method = "", path = ""] = call.split(" ");
    return { path, methods: takesHead ? [method, "HEAD"] : [method] };
  });
  const router = new Hono<RequestEnv>();
  for (const [path, ofPath] of Map.groupBy(calls, ({ path }) => path))
    router.use(path, allowMethods(...ofPath.flatMap(({ methods }) => methods)));
  return router;
}

/**
 * Refuses a CONNECT: closes its connection, through which nothing is sent. The runtime answers 200 before it calls this handler, and
 * without one it would answer 500 and log an uncaught error for each request.
 */
export async function refuseConnect(socket: Socket): Promise<void> {
  log.info({ method: "CONNECT", message: "A CONNECT was refused, and its connection closed." });
  // The client may have closed it before.
  await socket.close().catch(() => undefined);
}

/**
 * Gives a POST to `/api/user` the method that its `X-HTTP-Method-Override` names, for clients that send no body with a
 * GET. The method is set on the request itself, before routing: `new Request` refuses a GET with a body (Fetch standard,
 * section 5.4), and would read the body through a copy. The path is read as the router reads it.
 */
export function overrideMethod(request: Request): Request {
  if (request.method !== "POST") return request;
  const override = request.headers.get("X-HTTP-Method-Override");
  if (override === null || !/^\/api\/user\/?$/.test(getPath(request))) return request;
  const method = ["GET", "PUT", "POST", "DELETE"].find((name) => name === override.toUpperCase()) ?? "UNKNOWN";
  return Object.defineProperty(request, "method", { value: method });
}
