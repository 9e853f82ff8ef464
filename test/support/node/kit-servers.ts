import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { onTestFinished } from "vitest";
import {
  type SessionCheck,
  type SessionHandler,
  type SessionHandlerOptions,
  type SignOutHandlerOptions,
  sessionHandler,
  signOutHandler,
} from "../../../client/src/server.ts";

/** An integrator's own type of somebody who has signed in. */
export type Person = { id: string; customer: string; store?: number };

/** What each server of an integrator has: who signs in with which cookie, the rest of the kit's options, and two files. */
export type Site = {
  port: number;
  people: Map<string, Person>;
  options: Omit<SessionHandlerOptions<Person, []>, "user" | "onFailure"> &
    Omit<SignOutHandlerOptions<Person, []>, "user" | "signOut">;
  check: SessionCheck;
  page: string;
  viewerScript: string;
};

/** Ends a sign-in, and answers with two cookies, which a server must not join. */
export const signOutOf = (people: Site["people"]) => (request: Request) => {
  people.delete(request.headers.get("Cookie") ?? "");
  const headers = new Headers();
  for (const name of ["sid", "csrf"]) headers.append("Set-Cookie", `${name}=; Max-Age=0`);
  return new Response(null, { status: 204, headers });
};

export const HTML = "text/html";
export const SCRIPT = "text/javascript";

/** Resolves when a server listens. It is closed when the test ends. */
export async function listening(server: Server): Promise<void> {
  if (!server.listening) await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
}

/** Serves an app until the test ends. Returns its origin. */
export async function listen(fetch: (request: Request) => Response | Promise<Response>, hostname = "127.0.0.1") {
  const server = serve({ fetch, hostname, port: 0 }) as Server;
  await listening(server);
  return `http://${hostname}:${(server.address() as AddressInfo).port}`;
}

/** Builds a server around the kit, which listens on localhost until the test ends. */
export type StartServer = (site: Site) => Promise<void>;

export const SERVERS = {
  Hono: ({ port, people, options, check, page, viewerScript }) => {
    const signedIn = { ...options, user: (_: Request, c: Context) => people.get(c.req.header("Cookie") ?? "") };
    const handler = sessionHandler(signedIn);
    const signOut = signOutHandler({ ...signedIn, signOut: signOutOf(people) });
    const app = new Hono()
      .get("/", (c) => c.html(page))
      .get("/viewer.js", (c) => c.body(viewerScript, 200, { "Content-Type": SCRIPT }))
      .post("/session", (c) => handler(c.req.raw, c))
      .post("/sign-out", (c) => signOut(c.req.raw, c))
      .get("/orders", async (c) => {
        const session = await check(c.req.raw);
        if (session instanceof Response) return session;
        return c.json({ teamId: session.teamId, viewerId: session.viewerId });
      });
    return listening(serve({ fetch: app.fetch, hostname: "localhost", port }) as Server);
  },

  "plain Request and Response": ({ port, people, options, check, page, viewerScript }) => {
    // As the file of a route in Next: it exports one function for each method.
    const signedIn = {
      ...options,
      user: async (request: Request) => people.get(request.headers.get("Cookie") ?? ""),
    };
    const POST: SessionHandler = sessionHandler(signedIn);
    const GET = async (request: Request): Promise<Response> => {
      const session = await check(request);
      if (session instanceof Response) return session;
      return Response.json({ teamId: session.teamId, viewerId: session.viewerId });
    };
    const routes: Record<string, (request: Request) => Response | Promise<Response>> = {
      "GET /": () => new Response(page, { headers: { "Content-Type": HTML } }),
      "GET /viewer.js": () => new Response(viewerScript, { headers: { "Content-Type": SCRIPT } }),
      "POST /session": POST,
      "POST /sign-out": signOutHandler({ ...signedIn, signOut: signOutOf(people) }),
      "GET /orders": GET,
    };
    const server = createServer(async (incoming, outgoing) => {
      const { method = "", url = "" } = incoming;
      const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
      const route = routes[`${method} ${url}`] ?? (() => new Response(null, { status: 404 }));
      const response = await route(new Request(`http://localhost${url}`, { method, headers }));
      outgoing.writeHead(response.status, [...response.headers].flat()).end(await response.text());
    });
    return listening(server.listen(port, "localhost"));
  },
} satisfies Record<string, StartServer>;
