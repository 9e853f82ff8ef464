import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../../client/src/index.ts";
import { type Reply, standIn } from "../../support/node/stand-in.ts";
import { succeeds } from "../../support/node/verify-session.ts";

/** The endpoints of a page's sessions in another language than the kit's, in a real WSGI server, with the page's client. */

const { url, operatorToken } = inject("service");
const ORIGIN = "https://app.example.com";
const isThere = succeeds("python3", "--version");
const skipped = isThere ? "" : ", skipped: python3 is missing";

let groups: UserGroupClient;
const servers: ChildProcess[] = [];

/** Starts the endpoints for a service at this address. Resolves to their own address, and what they have logged. */
async function start(serviceUrl: string, apiKey: string) {
  const env = {
    ...process.env,
    SERVICE_URL: serviceUrl,
    API_KEY: apiKey,
    ORIGINS: ORIGIN,
    NO_PROXY: "127.0.0.1,localhost",
  };
  const server = spawn("python3", ["test/support/node/session-endpoints.py"], { env });
  servers.push(server);
  const logged: string[] = [];
  createInterface({ input: server.stderr }).on("line", (line) => logged.push(line));
  const [port] = await once(createInterface({ input: server.stdout }), "line");
  return { address: `http://127.0.0.1:${port}`, logged };
}

let endpoints: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const environment = { workspace: "wsgi", environment: "Customer" } as const;
  groups = new UserGroupClient({ url, apiKey: (await operator.issueKey({ ...environment, name: "backend" })).key });
  await groups.ensure({ userGroupId: "kit" });
  if (!isThere) return;
  const minting = await operator.issueKey({ ...environment, name: "pages", scopes: ["sessions:create"] });
  endpoints = await start(url, minting.key);
});
afterAll(() => servers.forEach((server) => void server.kill()));

const post = (person: string, { path = "/session", to = endpoints.address, origin = ORIGIN, method = "POST" } = {}) =>
  fetch(to + path, { method, headers: { Cookie: `sid=${person}`, Origin: origin } });

/** The answer of the service to a view with a session, from a page of this origin. */
const statusOf = async (session: string, origin = ORIGIN) =>
  (await fetch(`${url}/api/viewer`, { headers: { Authorization: `Bearer ${session}`, Origin: origin } })).status;

/** The page of a person. */
const pageOf = (person: string) => {
  const client = new ViewerClient({ url, session: () => post(person), retries: 0 });
  return { client, view: () => client.view() };
};

describe("session_endpoints.py", () => {
  it.skipIf(!isThere)(
    `gives the page of a person sessions that only their pages can use${skipped}`,
    async ({ expect }) => {
      const { client, view } = pageOf("jane");
      expect((await view()).variables).toMatchObject({ user_group_id: "kit", viewer_id: "jane" });
      const { token } = await client.session();
      expect(await statusOf(token, "https://thief.example")).toBe(403);
      expect((await post("jane")).headers.get("Cache-Control")).toBe("no-store");
    },
  );

  it.skipIf(!isThere)(
    `refuses pages of other sites, other methods, and those who have not signed in${skipped}`,
    async ({ expect }) => {
      expect((await post("jane", { origin: "https://thief.example" })).status).toBe(403);
      expect((await post("jane", { origin: "null" })).status).toBe(403);
      expect((await post("jane", { method: "GET" })).status).toBe(405);
      await expect(pageOf("nobody").view()).rejects.toMatchObject({ code: "signed_out", status: 401 });
      await expect(pageOf("lost").view()).rejects.toMatchObject({ code: "user_group_not_found", status: 404 });
    },
  );

  it.skipIf(!isThere)(`ends a person's sign-in, and then their sessions alone${skipped}`, async ({ expect }) => {
    const max = pageOf("max");
    const [ofJane, ofMax] = await Promise.all([pageOf("jane").client.session(), max.client.session()]);
    const answer = await post("max", { path: "/sign-out" });
    expect([answer.status, answer.headers.get("Set-Cookie")]).toEqual([200, "sid=; Max-Age=0; Path=/"]);
    expect(await statusOf(ofMax.token)).toBe(401);
    expect(await statusOf(ofJane.token)).toBe(200);
    await expect(max.view()).rejects.toMatchObject({ code: "signed_out" });
  });

  it.skipIf(!isThere)(`ends a session whose person signs out during its mint${skipped}`, async ({ expect }) => {
    const cursor = await groups.latestEventCursor();
    await expect(pageOf("leaves").view()).rejects.toMatchObject({ code: "signed_out" });
    const ended = await Array.fromAsync(groups.events({ cursor, type: "viewer_sessions.ended" }));
    expect(ended).toHaveLength(1);
  });

  it.skipIf(!isThere)(
    `sends no session to a person who has just signed out elsewhere${skipped}`,
    async ({ expect }) => {
      const session = { token: "eyJ.a.b", expires_at: "", expires_in_seconds: 300, max_stale_seconds: 0 };
      const answers = { "just now": 0, "long ago": 60_000, never: null, "by a service of 1.1": undefined };
      const { url: minting, received } = await standIn(({ path }) => ({
        status: path.endsWith("/end") ? 200 : 201,
        body: { success: 1, session, viewer_ended_ms_ago: Object.values(answers)[endedAt] },
      }));
      let endedAt = 0;
      const { address } = await start(minting, "ugk_customer_any");
      const outcomes: Record<string, unknown[]> = {};
      for (const [when] of Object.entries(answers)) {
        const answer = await post("jane", { to: address });
        outcomes[when] = [answer.status, Object.keys(Object(await answer.json())), received.splice(0).length];
        endedAt += 1;
      }
      const sent = [200, ["success", "session"], 1];
      expect(outcomes).toEqual({
        "just now": [503, ["success", "error"], 2],
        "long ago": sent,
        never: sent,
        "by a service of 1.1": sent,
      });
    },
  );

  it.skipIf(!isThere)(`reports a suspension to the page, and whether to try again${skipped}`, async ({ expect }) => {
    await groups.suspend({ userGroupId: "kit" });
    expect((await post("jane")).status).toBe(403);
    await groups.resume({ userGroupId: "kit" });

    const broken = await standIn(() => ({
      status: 502,
      headers: { "Content-Type": "text/html" },
      body: "<p>Bad gateway",
    }));
    const [refused, down] = await Promise.all([
      start(url, "ugk_customer_wrong"),
      start(broken.url, "ugk_customer_any"),
    ]);
    for (const [{ address, logged }, status] of [
      [refused, 500],
      [down, 503],
    ] as const) {
      const answer = await post("jane", { to: address });
      expect([answer.status, Object(await answer.json()).error.code]).toEqual([status, "service_unavailable"]);
      expect(logged.join()).toMatch(/^No session for 'kit': /);
      expect(logged.join()).not.toContain("ugk_customer_");
      expect((await post("jane", { to: address, path: "/sign-out" })).status).toBe(200);
    }
  });

  it.skipIf(!isThere)(
    `signs people out whatever a proxy answers in the service's place${skipped}`,
    async ({ expect }) => {
      const replies: Reply[] = [
        { status: 502, body: { message: "Bad gateway" } },
        { status: 504, body: { error: "no upstream" } },
        { status: 404, body: ["no such host"] },
        { status: 503, body: "null" },
        "drop",
      ];
      const broken = await standIn((_, count) => replies[(count - 1) % replies.length] ?? "drop");
      const { address } = await start(broken.url, "ugk_customer_any");
      for (const _ of replies) expect((await post("jane", { to: address })).status).toBe(503);
      for (const person of ["jane", "max", "lost", "leaves"]) {
        const answer = await post(person, { to: address, path: "/sign-out" });
        expect([answer.status, answer.headers.get("Set-Cookie")]).toEqual([200, "sid=; Max-Age=0; Path=/"]);
      }
    },
  );
});
