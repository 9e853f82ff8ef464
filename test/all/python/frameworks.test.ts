import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { ViewerClient } from "../../../client/src/index.ts";
import { environmentsOf, sessionOf } from "../../support/node/environments.ts";
import { KIT_MODULES, skippedWithout, startPython } from "../../support/node/python.ts";
import { forgedSessions, mintSessions } from "../../support/node/sessions.ts";
import { type Reply, refusal, standIn } from "../../support/node/stand-in.ts";
import { keyOfWorkspace } from "../../support/node/workspace.ts";

/** A product with the kit of Python in each framework, with the page's client and the real service. */

const { url } = inject("service");
const ORIGIN = "https://app.example.com";
const { audience, own, foreign } = await environmentsOf("python-kit");

const FRAMEWORKS = {
  WSGI: ["werkzeug"],
  Flask: ["flask"],
  FastAPI: ["fastapi", "uvicorn"],
  Django: ["django"],
};
type Framework = keyof typeof FRAMEWORKS;
type Options = { serviceUrl?: string; env?: NodeJS.ProcessEnv };
type Ask = { method?: string; origin?: string | undefined };

const mintingKey = await keyOfWorkspace("python-kit", { name: "pages", scopes: ["sessions:create"] });

/** Starts the product. */
async function startProduct(framework: Framework, { serviceUrl = url, env = {} }: Options = {}) {
  const {
    url: address,
    logged,
    stop,
  } = await startPython(["test/python/product.py", framework], {
    SERVICE_URL: serviceUrl,
    API_KEY: mintingKey,
    JWKS: `${url}/.well-known/jwks.json`,
    AUDIENCE: audience,
    CUSTOMER: own.userGroupId,
    ...env,
  });
  const ask = (person: string, path = "/viewer/session", { method = "POST", origin = ORIGIN }: Ask = {}) =>
    fetch(address + path, { method, headers: { Cookie: `sid=${person}`, Origin: origin } });
  const page = (person: string) => new ViewerClient({ url, session: () => ask(person), fetch: fromPage });
  const orders = (session: string, origin = ORIGIN) =>
    fetch(`${address}/orders`, { headers: { Authorization: `Bearer ${session}`, Origin: origin } });
  return { address, logged, stop, ask, page, orders };
}

const fromPage = (to: string, init: RequestInit) =>
  fetch(to, { ...init, headers: { ...Object(init.headers), Origin: ORIGIN } });

/** The answer of the service to a view with a session, from a page of this origin. */
const statusOf = async (session: string, origin = ORIGIN) =>
  (await fetch(`${url}/api/viewer`, { headers: { Authorization: `Bearer ${session}`, Origin: origin } })).status;

const outcomeOf = async (answered: Promise<Response>) => {
  const response = await answered;
  return [response.status, Object(await response.json()).error?.code];
};

const errorOf = (viewed: Promise<unknown>) =>
  viewed.then(
    () => "success",
    (error) => `${error.code} ${error.status}`,
  );

/** A proxy before the service, which holds the first mint until `release`: its request, or the answer to it. */
async function holding(late: "request" | "answer") {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tokens: string[] = [];
  let isFirst = true;
  const hold = async () => {
    held.resolve();
    await released.promise;
  };
  const proxy = createServer(async (request, response) => {
    const isMint = request.url?.endsWith("/viewer_sessions");
    const isHeld = isMint && isFirst;
    if (isHeld) isFirst = false;
    const { authorization = "", "content-type": type = "" } = request.headers;
    const body = await text(request);
    if (isHeld && late === "request") await hold();
    const headers = { Authorization: authorization, "Content-Type": type };
    const answer = await fetch(`${url}${request.url}`, { method: request.method ?? "GET", headers, body });
    const answered = await answer.text();
    if (isMint) tokens.push(JSON.parse(answered).session.token);
    if (isHeld && late === "answer") await hold();
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(answered);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, tokens, isHeld: held.promise, release: released.resolve };
}

/** A service that sends one byte of its headers after the other, and never ends. */
async function dripping() {
  const server = createTcpServer((socket) => {
    const timer = setInterval(() => socket.write("x"), 100);
    socket.on("error", () => undefined).on("close", () => clearInterval(timer));
    socket.write("HTTP/1.1 200 OK\r\nX: ");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

for (const [framework, modules] of Object.entries(FRAMEWORKS) as [Framework, string[]][]) {
  const skipped = skippedWithout(...KIT_MODULES, ...modules);
  describe.skipIf(skipped)(`a product in ${framework}${skipped}`, () => {
    let product: Awaited<ReturnType<typeof startProduct>>;
    beforeAll(async () => {
      product = await startProduct(framework);
    });
    afterAll(() => product?.stop());

    it("gives a page sessions with the person's properties, which only its own pages can use", async () => {
      const page = product.page("jane");
      expect((await page.view()).variables).toEqual({
        user_group_id: own.userGroupId,
        user_group_name: own.userGroupId,
        viewer_id: "jane",
        "viewer.store": 4,
      });
      const { token } = await page.session();
      expect(await statusOf(token, "https://thief.example")).toBe(403);
      const answer = await product.ask("jane");
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      const names = ["token", "expires_at", "expires_in_seconds", "max_stale_seconds"];
      expect(Object.keys(Object(await answer.json()).session)).toEqual(names);
    });

    it("refuses pages of other sites, other methods, and those who have not signed in", async () => {
      for (const path of ["/viewer/session", "/viewer/sign-out"]) {
        for (const origin of ["https://thief.example", "null", "http://app.example.com"])
          expect(await outcomeOf(product.ask("refused", path, { origin }))).toEqual([403, "origin_not_allowed"]);
        for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
          const answer = await product.ask("refused", path, { method });
          expect([answer.status, answer.headers.get("Allow")], method).toEqual([405, "POST"]);
        }
      }
      expect(await outcomeOf(product.ask("nobody"))).toEqual([401, "signed_out"]);
      for (const person of ["lost", "homeless"])
        expect(await outcomeOf(product.ask(person))).toEqual([404, "user_group_not_found"]);
    });

    it("has nothing at any other path, which signs nobody out", async () => {
      const paths = ["", "/", "/sign-out/", "/session/", "/x/session", "/sessions", "//sign-out", "/sign-out/session"];
      for (const path of paths) {
        const { status } = await product.ask("stays", `/viewer${path}`);
        expect(status, path).toBe(404);
      }
      expect((await product.ask("stays")).status).toBe(200);
    });

    it("ends a person's sign-in, and then their sessions alone", async () => {
      const max = product.page("max");
      const [ofMax, ofJane] = [await max.session(), await product.page("jane").session()];
      const answer = await product.ask("max", "/viewer/sign-out");
      expect([answer.status, answer.headers.get("Set-Cookie")]).toEqual([204, "sid=; Max-Age=0; Path=/"]);
      expect([await statusOf(ofMax.token), await statusOf(ofJane.token)]).toEqual([401, 200]);
      expect(await errorOf(max.view())).toBe("signed_out 401");
      expect((await product.ask("max", "/viewer/sign-out")).status).toBe(204);
    });

    it("checks the sessions that pages present to its own API", async () => {
      const { token } = await product.page("jane").session();
      const shown = await product.orders(token);
      expect(await shown.json()).toEqual({ team_id: own.teamId, viewer_id: "jane", store: 4 });
      const refused = await product.orders("eyJ.forged.x");
      expect(refused.headers.get("WWW-Authenticate")).toBe("Bearer");
      expect(await outcomeOf(Promise.resolve(refused))).toEqual([401, "unauthenticated"]);
      expect(await outcomeOf(product.orders(token, "https://thief.example"))).toEqual([403, "origin_not_allowed"]);
      for (const [name, customer] of Object.entries(foreign))
        expect(await outcomeOf(product.orders(await sessionOf(customer))), name).toEqual([401, "unauthenticated"]);
    });

    for (const late of ["request", "answer"] as const)
      it(`leaves no session that views after a sign-out while the ${late} of a mint is late`, async () => {
        const { url: serviceUrl, tokens, isHeld, release } = await holding(late);
        const { ask, page, stop } = await startProduct(framework, { serviceUrl });
        onTestFinished(() => void stop());
        const asked = ask(`leaves ${late}`);
        await isHeld;
        expect((await ask(`leaves ${late}`, "/viewer/sign-out")).status).toBe(204);
        release();
        const answer = await asked;
        // The answer to a mint from before the sign-out has the session, which has ended.
        expect([answer.status, answer.headers.get("Retry-After")]).toEqual(
          late === "request" ? [503, "1"] : [200, null],
        );
        expect(await Promise.all(tokens.map((token) => statusOf(token)))).toEqual([401]);
        expect(await outcomeOf(ask(`leaves ${late}`))).toEqual([401, "signed_out"]);
        expect((await page("jane").view()).variables.viewer_id).toBe("jane");
      });
  });
}

const skipped = skippedWithout(...KIT_MODULES, "werkzeug");

describe.skipIf(skipped)(`the kit of Python${skipped}`, () => {
  it("ends a session if the person has signed out by the time of the second look", async () => {
    const { url: serviceUrl, tokens, isHeld, release } = await holding("answer");
    const { ask, stop } = await startProduct("WSGI", { serviceUrl });
    onTestFinished(() => void stop());
    const asked = ask("forgetful");
    await isHeld;
    await ask("forgetful", "/viewer/sign-out");
    release();
    expect(await outcomeOf(asked)).toEqual([401, "signed_out"]);
    expect(await Promise.all(tokens.map((token) => statusOf(token)))).toEqual([401]);
  });

  it("says whether to try again, and signs people out, whatever answers in the service's place", async () => {
    const html = { "Content-Type": "text/html" };
    const replies: [Reply, number, string | null][] = [
      [refusal(401, "credential_revoked"), 500, null],
      [refusal(422, "invalid_body", { issues: [{ path: ["origins", 0], message: "No." }] }), 500, null],
      [{ status: 404, headers: html, body: "<p>no such host" }, 500, null],
      [{ status: 200, body: "{}" }, 500, null],
      [{ status: 302, headers: { Location: "http://127.0.0.1:1/" } }, 500, null],
      [refusal(503, "environment_damaged"), 503, "1"],
      [refusal(429, "rate_limited", {}, { "Retry-After": "60" }), 503, "60"],
      [{ status: 503, headers: { ...html, "Retry-After": "9" }, body: "<p>down" }, 503, "9"],
      ["drop", 503, "1"],
    ];
    let reply: Reply = "drop";
    const { url: serviceUrl } = await standIn(() => reply);
    const { ask, logged, stop } = await startProduct("WSGI", { serviceUrl });
    onTestFinished(() => void stop());
    for (const [each, status, retryAfter] of replies) {
      reply = each;
      const answer = await ask("jane");
      expect([answer.status, answer.headers.get("Retry-After")], JSON.stringify(each)).toEqual([status, retryAfter]);
      expect(Object(await answer.json()).error.code).toBe("service_unavailable");
      expect((await ask(`out ${status}`, "/viewer/sign-out")).status).toBe(204);
    }
    expect(logged[0]).toMatch(/^No session for 'acme': credential_revoked: /);
    expect(logged.join()).toContain("origins.0: No.");
    expect(logged.join()).not.toMatch(/ugk_|eyJ/);
  });

  it("answers a page, and signs people out before, whatever a service does that hangs", async () => {
    const hanging = [await standIn(() => "silence"), await standIn(() => "headers only"), await dripping()];
    const outcomes = hanging.map(async ({ url: serviceUrl }) => {
      const { ask, stop } = await startProduct("WSGI", { serviceUrl });
      onTestFinished(() => void stop());
      const [asked, left] = [ask("jane"), ask("max", "/viewer/sign-out")];
      const { status } = await Promise.race([asked, left]);
      return [status, ...(await outcomeOf(asked))];
    });
    expect(await Promise.all(outcomes)).toEqual(hanging.map(() => [204, 503, "service_unavailable"]));
  });

  for (const seconds of [-5, 5])
    it(`accepts a new session with a clock that is ${Math.abs(seconds)} seconds ${seconds < 0 ? "behind" : "ahead"}`, async () => {
      const env = { CLOCK_OFFSET_SECONDS: String(seconds) };
      const { page, orders, stop } = await startProduct("WSGI", { env });
      onTestFinished(() => void stop());
      const { token } = await page("jane").session();
      expect((await orders(token)).status).toBe(200);
    });

  it("refuses every text that is no session of its environment", async () => {
    let body: object = {};
    const { url: issuer, received } = await standIn(() => ({ status: 200, body }));
    body = mintSessions([]).jwks;
    const env = { JWKS: `${issuer}/.well-known/jwks.json`, AUDIENCE: "verifiers/Customer" };
    const { orders, stop } = await startProduct("WSGI", { env });
    onTestFinished(() => void stop());
    const { valid, wrong } = forgedSessions(issuer, 4);
    expect((await orders(valid)).status).toBe(200);
    for (const [what, forged] of Object.entries(wrong)) {
      const code = what === "an end in the past" ? "credential_expired" : "unauthenticated";
      expect(await outcomeOf(orders(forged)), what).toEqual([401, code]);
    }
    expect(received).toHaveLength(1);
  });
});
