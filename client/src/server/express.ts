import { headersOf, type NodeRequest, toRequest } from "./node-request.ts";
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
export const expressHandler =
  <Request extends NodeRequest, Response extends ExpressResponse>(
    handler: (request: globalThis.Request, express: Request) => Promise<globalThis.Response>,
  ): ExpressRoute<Request, Response> =>
  async (request, response, next) => {
    try {
      await send(response, await handler(toRequest(request), request));
    } catch (error) {
      next(error);
    }
  };

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
export const expressSession =
  <Session extends VerifiedSession, Request extends NodeRequest, Response extends ExpressResponse>(
    check: SessionCheck<Session>,
    route: (request: Request, response: Response, session: Session) => unknown,
  ): ExpressRoute<Request, Response> =>
  async (request, response, next) => {
    try {
      const session = await check(toRequest(request));
      await (session instanceof globalThis.Response ? send(response, session) : route(request, response, session));
    } catch (error) {
      next(error);
    }
  };

async function send(response: ExpressResponse, answer: globalThis.Response): Promise<void> {
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries(headersOf(answer))) response.setHeader(name, value);
  response.end(await answer.text());
}
