import type { SessionCheck } from "./require-session.ts";
import type { VerifiedSession } from "./verified-session.ts";

/** The part of a response of Express that is used. */
type ExpressResponse = {
  statusCode: number;
  setHeader(name: string, value: string | string[]): unknown;
  end(body: string): unknown;
};

type Next = (error?: unknown) => void;

/** A route of Express, versions 4 and 5. */
type ExpressRoute<Request, Response> = (request: Request, response: Response, next: Next) => Promise<void>;

/**
 * Makes a route of Express from a `sessionHandler` or a `signOutHandler`, whose `user` and `signOut` get the request of Express as second
 * argument.
 *
 * @example
 * import express from "express";
 * import { UserGroupClient } from "user-group-service/client";
 * import { expressHandler, sessionHandler } from "user-group-service/server";
 *
 * const client = new UserGroupClient({ url: "http://localhost:8787", apiKey: process.env.API_KEY ?? "" });
 * const handler = sessionHandler({
 *   client,
 *   user: (_, request: express.Request) => request.get("Cookie") ?? undefined,
 *   customer: () => "acme",
 *   viewer: (cookie) => ({ viewerId: cookie }),
 *   origins: ["https://app.example.com"],
 * });
 * express().post("/session", expressHandler(handler));
 */
export const expressHandler = <Request extends NodeRequest, Response extends ExpressResponse>(
  handler: (request: globalThis.Request, express: Request) => Promise<globalThis.Response>,
): ExpressRoute<Request, Response> =>
  passingErrors(async (request, response) => sendByExpress(response, await handler(toRequest(request), request)));

/**
 * Makes a route of Express that runs only with a viewer session, which it gets as third argument.
 *
 * @example
 * import express from "express";
 * import { expressSession, requireSession } from "user-group-service/server";
 *
 * const check = requireSession({
 *   jwks: "http://localhost:8787/.well-known/jwks.json",
 *   audience: "demo/Testing",
 *   origins: ["https://app.example.com"],
 * });
 * const route = expressSession(check, (_, response: express.Response, { teamId }) => response.json({ teamId }));
 * express().get("/orders", route);
 */
export const expressSession = <
  Session extends VerifiedSession,
  Request extends NodeRequest,
  Response extends ExpressResponse,
>(
  check: SessionCheck<Session>,
  route: (request: Request, response: Response, session: Session) => unknown,
): ExpressRoute<Request, Response> =>
  passingErrors(async (request, response) => {
    const session = await check(toRequest(request));
    return session instanceof globalThis.Response
      ? sendByExpress(response, session)
      : route(request, response, session);
  });

/** Express 4 ignores a promise that rejects. */
const passingErrors =
  <Request, Response>(
    route: (request: Request, response: Response) => Promise<unknown>,
  ): ExpressRoute<Request, Response> =>
  async (request, response, next) => {
    await route(request, response).catch(next);
  };

async function sendByExpress(response: ExpressResponse, answer: globalThis.Response): Promise<void> {
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries(headersOf(answer))) response.setHeader(name, value);
  response.end(await answer.text());
}

/** The part of a request that Express and Fastify have in common. */
export type NodeRequest = {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
};

/** The methods that no `Request` may have (Fetch Standard, "forbidden method"). */
const FORBIDDEN = /^(?:CONNECT|TRACE|TRACK)$/i;

/** A request of Node as a `Request`, with its method and headers. It has no body, and its URL is a placeholder. */
function toRequest({ method = "GET", headers }: NodeRequest): Request {
  const copied = new Headers();
  // Node shows the pseudo-headers of HTTP/2, such as `:path`, as headers.
  for (const [name, values] of Object.entries(headers).filter(([header]) => !header.startsWith(":")))
    for (const value of [values ?? []].flat()) copied.append(name, value);
  return new Request("http://localhost/", { method: FORBIDDEN.test(method) ? "GET" : method, headers: copied });
}

/** The headers of an answer. Several cookies are several headers, which no comma can join. */
function headersOf({ headers }: Response): Record<string, string | string[]> {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { "set-cookie": cookies }) };
}

/** The part of a reply of Fastify that is used. */
type FastifyReply = {
  code(status: number): unknown;
  headers(headers: Record<string, string | string[]>): unknown;
  send(body: string): unknown;
};

/** A route of Fastify. */
type FastifyRoute<Request, Reply> = (request: Request, reply: Reply) => Promise<unknown>;

/**
 * Makes a route of Fastify from a `sessionHandler` or a `signOutHandler`, whose `user` and `signOut` get the request of Fastify as second
 * argument.
 *
 * @example
 * import Fastify, { type FastifyRequest } from "fastify";
 * import { UserGroupClient } from "user-group-service/client";
 * import { fastifyHandler, sessionHandler } from "user-group-service/server";
 *
 * const client = new UserGroupClient({ url: "http://localhost:8787", apiKey: process.env.API_KEY ?? "" });
 * const handler = sessionHandler({
 *   client,
 *   user: (_, request: FastifyRequest) => request.headers.cookie,
 *   customer: () => "acme",
 *   viewer: (cookie) => ({ viewerId: cookie }),
 *   origins: ["https://app.example.com"],
 * });
 * const app = Fastify();
 * app.post("/session", fastifyHandler(handler));
 * console.info((await app.inject({ method: "POST", url: "/session" })).statusCode);
 * // 401
 */
export const fastifyHandler =
  <Request extends NodeRequest, Reply extends FastifyReply>(
    handler: (request: globalThis.Request, fastify: Request) => Promise<Response>,
  ): FastifyRoute<Request, Reply> =>
  async (request, reply) =>
    sendByFastify(reply, await handler(toRequest(request), request));

/**
 * Makes a route of Fastify that runs only with a viewer session, which it gets as third argument. It returns what `route` returns.
 *
 * @example
 * import Fastify from "fastify";
 * import { fastifySession, requireSession } from "user-group-service/server";
 *
 * const check = requireSession({
 *   jwks: "http://localhost:8787/.well-known/jwks.json",
 *   audience: "demo/Testing",
 *   origins: ["https://app.example.com"],
 * });
 * const app = Fastify();
 * app.get("/orders", fastifySession(check, async (_request, _reply, { teamId }) => ({ teamId })));
 * console.info((await app.inject("/orders")).statusCode);
 * // 401
 */
export const fastifySession =
  <Session extends VerifiedSession, Request extends NodeRequest, Reply extends FastifyReply>(
    check: SessionCheck<Session>,
    route: (request: Request, reply: Reply, session: Session) => unknown,
  ): FastifyRoute<Request, Reply> =>
  async (request, reply) => {
    const session = await check(toRequest(request));
    return session instanceof Response ? sendByFastify(reply, session) : route(request, reply, session);
  };

async function sendByFastify(reply: FastifyReply, answer: Response): Promise<unknown> {
  reply.code(answer.status);
  reply.headers(headersOf(answer));
  return reply.send(await answer.text());
}
