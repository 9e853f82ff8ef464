import { once } from "node:events";
import express from "express";
import { auth } from "express-oauth2-jwt-bearer";
import { expect, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";

const { url, operatorToken } = inject("service");

/** Mints a session in an environment of its own, with a claim of the integrator's. */
async function newSession(workspace: string): Promise<string> {
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const { key } = await operator.issueKey({ workspace, environment: "Customer", name: "backend" });
  const groups = new UserGroupClient({ url, apiKey: key });
  await groups.ensure({ userGroupId: "acme" });
  return (await groups.mintSession({ userGroupId: "acme", claims: { role: "reader" } })).token;
}

it("a verifier that knows only the issuer finds the keys, and refuses other environments and forgeries", async () => {
  const api = express()
    .use(auth({ issuerBaseURL: url, audience: "discovery/Customer" }))
    .get("/", (request, response) => void response.json(request.auth?.payload));
  const server = api.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const ask = (session: string) =>
    fetch(`http://127.0.0.1:${Object(server.address()).port}/`, { headers: { Authorization: `Bearer ${session}` } });

  const session = await newSession("discovery");
  const answer = await ask(session);
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ team_id: 1, role: "reader" })]);
  expect((await ask(await newSession("discovery-too"))).status).toBe(401);
  expect((await ask(`${session.slice(0, -6)}AAAAAA`)).status).toBe(401);
});
