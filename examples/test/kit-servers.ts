import express from "express";
import Fastify from "fastify";
import {
  expressHandler,
  expressSession,
  fastifyHandler,
  fastifySession,
  sessionHandler,
  signOutHandler,
} from "../../client/src/server.ts";
import { HTML, listening, SCRIPT, type StartServer, signOutOf } from "../../test/support/node/kit-servers.ts";

export const FOREIGN_SERVERS: Record<string, StartServer> = {
  Express: ({ port, people, options, check, page, viewerScript }) => {
    const signedIn = {
      ...options,
      user: (_: Request, request: express.Request) => people.get(request.get("Cookie") ?? ""),
    };
    const app = express()
      .get("/", (_, response) => response.type(HTML).send(page))
      .get("/viewer.js", (_, response) => response.type(SCRIPT).send(viewerScript))
      .post("/session", expressHandler(sessionHandler(signedIn)))
      .post("/sign-out", expressHandler(signOutHandler({ ...signedIn, signOut: signOutOf(people) })))
      .get(
        "/orders",
        expressSession(check, (_, response: express.Response, { teamId, viewerId }) =>
          response.json({ teamId, viewerId }),
        ),
      );
    return listening(app.listen(port, "localhost"));
  },

  Fastify: async ({ port, people, options, check, page, viewerScript }) => {
    const app = Fastify();
    const signedIn = {
      ...options,
      user: (_: Request, request: { headers: { cookie?: string | undefined } }) =>
        people.get(request.headers.cookie ?? ""),
    };
    app.get("/", (_, reply) => reply.type(HTML).send(page));
    app.get("/viewer.js", (_, reply) => reply.type(SCRIPT).send(viewerScript));
    app.post("/session", fastifyHandler(sessionHandler(signedIn)));
    app.post("/sign-out", fastifyHandler(signOutHandler({ ...signedIn, signOut: signOutOf(people) })));
    app.get(
      "/orders",
      fastifySession(check, async (_request, _reply, { teamId, viewerId }) => ({ teamId, viewerId })),
    );
    await app.listen({ port, host: "localhost" });
    return listening(app.server);
  },
};
