import { once } from "node:events";
import { connect } from "node:http2";
import Fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { fastifyHandler, sessionHandler } from "../../client/src/server.ts";
import { SERVERS } from "../../test/support/node/kit-servers.ts";
import { groups, testSites } from "../../test/support/node/kit-site.ts";
import { testSignOuts } from "../../test/support/node/sign-out-site.ts";
import { FOREIGN_SERVERS } from "./kit-servers.ts";

testSites({ ...FOREIGN_SERVERS, Hono: SERVERS.Hono });
testSignOuts(FOREIGN_SERVERS);

it("the adapter of Fastify takes requests of HTTP/2", async () => {
  const handler = sessionHandler({
    client: groups,
    user: () => undefined,
    customer: () => undefined,
    viewer: () => ({}),
    origins: ["https://app.example.com"],
  });
  const app = Fastify({ http2: true });
  app.post("/session", fastifyHandler(handler));
  const address = await app.listen({ port: 0, host: "localhost" });
  const client = connect(address);
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  const [headers] = await once(client.request({ ":method": "POST", ":path": "/session" }), "response");
  expect(headers[":status"]).toBe(401);
});
