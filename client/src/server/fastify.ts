import { headersOf, type NodeRequest, toRequest } from "./node-request.ts";
import type { SessionCheck } from "./require-session.ts";
import type { VerifiedSession } from "./verified-session.ts";

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
    send(reply, await handler(toRequest(request), request));

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
    return session instanceof Response ? send(reply, session) : route(request, reply, session);
  };

async function send(reply: FastifyReply, answer: Response): Promise<unknown> {
  reply.code(answer.status);
  reply.headers(headersOf(answer));
  return reply.send(await answer.text());
}
