import { type NodeRequest, toRequest } from "./node-request.ts";
import type { SessionCheck } from "./require-session.ts";
import type { VerifiedSession } from "./verified-session.ts";

/** The part of a reply of Fastify that is used. */
type FastifyReply = {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: string): unknown;
};

/** A route of Fastify. */
type FastifyRoute<Request, Reply> = (request: Request, reply: Reply) => Promise<unknown>;

/** Makes a route of Fastify from a `sessionHandler`, whose `user` gets the request of Fastify as second argument. */
export const fastifyHandler =
  <Request extends NodeRequest, Reply extends FastifyReply>(
    handler: (request: globalThis.Request, fastify: Request) => Promise<Response>,
  ): FastifyRoute<Request, Reply> =>
  async (request, reply) =>
    send(reply, await handler(toRequest(request), request));

/** Makes a route of Fastify that runs only with a viewer session, which it gets as third argument. It returns what `route` returns. */
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
  reply.headers(Object.fromEntries(answer.headers));
  return reply.send(await answer.text());
}
