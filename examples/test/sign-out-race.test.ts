import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import expressSession from "express-session";
import { beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { expressHandler, sessionHandler, signOutHandler } from "../../client/src/server.ts";

/** Express with express-session, which reads a person's sign-in once for each request: it does not notice a sign-out during a mint. */

declare module "express-session" {
  interface SessionData {
    person: string;
  }
}

const { url, operatorToken } = inject("service");
const ORIGIN = "https://app.example.com";

let apiKey: string;
beforeAll(async () => {
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const { key } = await operator.issueKey({ workspace: "sign-out-race", environment: "Customer", name: "kit" });
  apiKey = key;
});

type Late = "request" | "answer";

/** A proxy between the server and the service, which holds one mint until `release`: its request, or the answer to it. */
function holdingClient(late: Late) {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tokens: string[] = [];
  let isFirst = true;
  const hold = async () => {
    held.resolve();
    await released.promise;
  };
  const client = new UserGroupClient({
    url,
    apiKey,
    fetch: async (to, init) => {
      const isHeld = isFirst && to.endsWith("/viewer_sessions");
      if (isHeld) isFirst = false;
      if (isHeld && late === "request") await hold();
      const response = await fetch(to, init);
      if (to.endsWith("/viewer_sessions")) tokens.push(Object(await response.clone().json()).session.token);
      if (isHeld && late === "answer") await hold();
      return response;
    },
  });
  return { client, tokens, isHeld: held.promise, release: released.resolve };
}

/** A site whose people are all of this customer. */
async function startSite(customer: string, client: UserGroupClient) {
  await client.ensure({ userGroupId: customer });
  const signedIn = {
    client,
    user: (_: Request, request: express.Request) => request.session.person,
    customer: () => customer,
    viewer: (person: string) => ({ viewerId: person }),
    origins: [ORIGIN],
  };
  const signOut = (_: Request, request: express.Request) =>
    new Promise<Response>((resolve, reject) =>
      request.session.destroy((error) => (error ? reject(error) : resolve(new Response(null, { status: 204 })))),
    );
  const app = express()
    .use(expressSession({ secret: "of these tests", resave: false, saveUninitialized: false }))
    .post("/sign-in/:person", (request, response) => {
      request.session.person = request.params.person;
      response.end();
    })
    .post("/session", expressHandler(sessionHandler(signedIn)))
    .post("/sign-out", expressHandler(signOutHandler({ ...signedIn, signOut })));
  const server = app.listen(0, "localhost");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;

  const statuses: number[] = [];
  const post = async (path: string, cookie = "") => {
    const headers = { Cookie: cookie, Origin: ORIGIN };
    const response = await fetch(`http://localhost:${port}${path}`, { method: "POST", headers });
    if (path === "/session") statuses.push(response.status);
    return response;
  };
  /** Signs in with a browser of its own. */
  const signIn = async (person: string) => {
    const [cookie = ""] = (await post(`/sign-in/${person}`)).headers.getSetCookie();
    const [pair = ""] = cookie.split(";");
    return {
      askForSession: () => post("/session", pair),
      signOut: () => post("/sign-out", pair),
      page: () => new ViewerClient({ url, session: () => post("/session", pair), fetch: fetchFrom }),
    };
  };
  return { signIn, statuses };
}

/** The pages of the site. */
const fetchFrom = (to: string, init: RequestInit) =>
  fetch(to, { ...init, headers: { ...Object(init.headers), Origin: ORIGIN } });

const statusOf = async (token: string) =>
  (await fetchFrom(`${url}/api/viewer`, { headers: { Authorization: `Bearer ${token}` } })).status;

describe.for(["request", "answer"] as const)("a sign-out while the %s of a mint is under way", (late) => {
  it("leaves no session that views, and signs the page out", async () => {
    const { client, tokens, isHeld, release } = holdingClient(late);
    const { signIn } = await startSite(`alone, ${late}`, client);
    const browser = await signIn("jane");
    const asked = browser.askForSession();
    await isHeld;
    expect((await browser.signOut()).status).toBe(204);
    release();
    const answer = await asked;
    expect(await Promise.all(tokens.map(statusOf))).toEqual([401]);
    // The answer to a mint from before the sign-out has the session, which has ended.
    expect(answer.status).toBe(late === "request" ? 503 : 200);
    expect(answer.headers.get("Retry-After")).toBe(late === "request" ? "1" : null);
    expect(Object.keys(Object(await answer.json()))).toEqual(["success", late === "request" ? "error" : "session"]);
    expect((await browser.askForSession()).status).toBe(401);
  });

  it("signs out no other device and no other person", async () => {
    const { client, isHeld, release } = holdingClient(late);
    const { signIn, statuses } = await startSite(`devices, ${late}`, client);
    const [browser, phone, joe] = [await signIn("jane"), await signIn("jane"), await signIn("joe")];
    const joesPage = joe.page();
    const viewed = phone.page().view();
    await isHeld;
    expect((await browser.signOut()).status).toBe(204);
    release();
    expect((await viewed).variables.viewer_id).toBe("jane");
    // The false alarm heals: the page asks again.
    expect(statuses.at(-1)).toBe(200);
    const asked = statuses.length;
    expect((await joesPage.view()).variables.viewer_id).toBe("joe");
    expect(statuses.slice(asked)).toEqual([200]);
  });

  it("lets the person in who signs in again at once", async () => {
    const { client, isHeld, release } = holdingClient(late);
    const { signIn } = await startSite(`again, ${late}`, client);
    const browser = await signIn("jane");
    const asked = browser.askForSession();
    await isHeld;
    await browser.signOut();
    const page = (await signIn("jane")).page();
    release();
    expect((await page.view()).variables.viewer_id).toBe("jane");
    await asked;
    expect((await page.view()).variables.viewer_id).toBe("jane");
  });
});
