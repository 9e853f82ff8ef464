import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";
import { requireSession } from "../../../client/src/server.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../../tools/browser.ts";
import { freePort } from "./free-port.ts";
import type { StartServer } from "./kit-servers.ts";

const { url, operatorToken } = inject("service");
const operator = new OperatorClient({ url, operatorKey: operatorToken });
const ENVIRONMENT = { workspace: "kit", environment: "Customer" } as const;
export const AUDIENCE = "kit/Customer";
export const JWKS = `${url}/.well-known/jwks.json`;

const issued = await operator.issueKey({ ...ENVIRONMENT, name: "writer" });
export const groups = new UserGroupClient({ url, apiKey: issued.key });

const { outputFiles } = await build({
  entryPoints: ["client/src/viewer.ts"],
  bundle: true,
  format: "esm",
  write: false,
});
const viewerScript = outputFiles[0]?.text ?? "";

/** A key that can mint sessions and nothing else. */
export const newMintingKey = async () => {
  const { apiKey, key } = await operator.issueKey({ ...ENVIRONMENT, name: "backend", scopes: ["sessions:create"] });
  return { id: apiKey.id, key };
};

export const errorIn = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return { status: response.status, code: error.code, cached: response.headers.get("Cache-Control") };
};

/** A page that shows the group, and what the site's own API says of its session, or the code of the error. */
const pageOf = (serviceUrl: string) => `<!doctype html><title>Kit</title><p role="status"></p><script type="module">
  import { ViewerClient } from "/viewer.js";
  const session = () => fetch("/session", { method: "POST" });
  const viewer = new ViewerClient({ url: "${serviceUrl}", session, backoffMs: 20 });
  try {
    const { group } = await viewer.view();
    const headers = { Authorization: "Bearer " + (await viewer.session()).token };
    const response = await fetch("/orders", { headers });
    document.querySelector("p").textContent = group.name + " " + response.status + " " + (await response.text());
  } catch (error) {
    document.querySelector("p").textContent = "code " + error.code;
  }
</script>`;

const inBrowser = it.skipIf(!hasChromium);

/** What a site with the kit must do, in a server of this kind. */
export const testSites = (servers: Record<string, StartServer>) =>
  describe.for(Object.entries(servers))("in a server of %s", ([kind, startServer]) => {
    let browser: Browser;
    beforeAll(async () => {
      if (hasChromium) browser = await startChromium();
    });
    afterAll(() => browser?.close());

    /** Starts a site in which the cookie of Jane is valid, if she has a customer. `requests` counts those of the page. */
    async function startSite(customer: string | undefined, options: { checksOnline?: boolean } = {}) {
      const minting = await newMintingKey();
      const port = await freePort();
      const address = `http://localhost:${port}`;
      let isDown = false;
      const client = new UserGroupClient({
        url,
        apiKey: minting.key,
        retries: 0,
        fetch: (target, init) => (isDown ? Promise.reject(new TypeError("refused")) : fetch(target, init)),
      });
      const rules = { audience: AUDIENCE, origins: [address] };
      const onFailure = vi.fn();
      await startServer({
        port,
        people: new Map(customer === undefined ? [] : [["sid=1", { id: "jane", customer }]]),
        options: {
          client,
          customer: (person) => person.customer,
          viewer: (person) => ({ viewerId: person.id }),
          origins: [address],
          onFailure,
        },
        check: requireSession(options.checksOnline ? { client, ...rules } : { jwks: JWKS, ...rules }),
        page: pageOf(url),
        viewerScript,
      });
      const requests: string[] = [];
      let page: Page | undefined;
      const open = async () => {
        page ??= await openBrowser(address, requests);
        requests.length = 0;
        await page.goto(address);
        const shown = page.getByRole("status").filter({ hasText: /./ });
        return shown.innerText();
      };
      return { address, open, requests, minting, onFailure, goDown: () => (isDown = true) };
    }

    /** A page of a browser that has the cookie of Jane. */
    async function openBrowser(address: string, requests: string[]): Promise<Page> {
      const context = await browser.newContext();
      onTestFinished(() => context.close());
      await context.addCookies([{ name: "sid", value: "1", url: address }]);
      const page = await context.newPage();
      page.on("response", (response) => {
        if (response.request().method() !== "OPTIONS")
          requests.push(`${response.request().method()} ${new URL(response.url()).pathname} ${response.status()}`);
      });
      return page;
    }

    inBrowser(`a page sees its customer, and its API knows who asks${skippedWithoutChromium}`, async () => {
      const { group } = await groups.ensure({ userGroupId: `shop ${kind}`, name: "Shop" });
      const { open, requests, onFailure } = await startSite(`shop ${kind}`);
      expect(await open()).toBe(`Shop 200 {"teamId":${group.teamId},"viewerId":"jane"}`);
      expect(requests.filter((request) => request !== "GET /favicon.ico 404")).toEqual([
        "GET / 200",
        "GET /viewer.js 200",
        "POST /session 200",
        "GET /api/viewer 200",
        "GET /orders 200",
      ]);
      expect(onFailure).not.toHaveBeenCalled();
    });

    inBrowser(`a page that has no session says why, and asks once${skippedWithoutChromium}`, async () => {
      const asked = (requests: string[]) => requests.filter((request) => request.startsWith("POST /session"));
      const signedOut = await startSite(undefined);
      expect(await signedOut.open()).toBe("code signed_out");
      expect(asked(signedOut.requests)).toEqual(["POST /session 401"]);

      const { group } = await groups.ensure({ userGroupId: `ending ${kind}` });
      await groups.suspend({ userGroupId: `ending ${kind}` });
      const { open, requests, minting, onFailure } = await startSite(`ending ${kind}`);
      expect(await open()).toBe("code user_group_suspended");
      expect(asked(requests)).toEqual(["POST /session 403"]);
      await groups.removeByNumber({ teamId: group.teamId });
      expect(await open()).toBe("code user_group_not_found");
      expect(asked(requests)).toEqual(["POST /session 404"]);
      expect(onFailure).not.toHaveBeenCalled();
      await operator.revokeKey({ ...ENVIRONMENT, id: minting.id });
      expect(await open()).toBe("code service_unavailable");
      expect(asked(requests)).toEqual(["POST /session 500"]);
      expect(onFailure).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ code: "credential_revoked" }),
        `ending ${kind}`,
      );
    });

    inBrowser(`a page tries again while the service is down${skippedWithoutChromium}`, async () => {
      await groups.ensure({ userGroupId: `down ${kind}` });
      const { open, requests, goDown, onFailure } = await startSite(`down ${kind}`);
      goDown();
      expect(await open()).toBe("code service_unavailable");
      expect(requests.filter((request) => request === "POST /session 503")).toHaveLength(4);
      expect(onFailure).toHaveBeenCalledWith(expect.objectContaining({ code: "network_error" }), `down ${kind}`);
    });

    inBrowser(`an API that asks the service sees the end of a session at once${skippedWithoutChromium}`, async () => {
      const userGroupId = `online ${kind}`;
      const { group } = await groups.ensure({ userGroupId, name: "Online" });
      const { open, address } = await startSite(userGroupId, { checksOnline: true });
      expect(await open()).toBe(`Online 200 {"teamId":${group.teamId},"viewerId":"jane"}`);
      const { token } = await groups.mintSession({ userGroupId, viewerId: "jane", maxStaleSeconds: 300 });
      const ask = async () => {
        const response = await fetch(`${address}/orders`, { headers: { Authorization: `Bearer ${token}` } });
        return response.status === 200 ? 200 : errorIn(response);
      };
      expect(await ask()).toBe(200);
      await groups.suspend({ userGroupId });
      expect(await ask()).toEqual({ status: 403, code: "user_group_suspended", cached: "no-store" });
      await groups.resume({ userGroupId });
      expect(await ask()).toBe(200);
      await groups.endSessions({ userGroupId, viewerId: "jane" });
      expect(await ask()).toEqual({ status: 401, code: "credential_revoked", cached: "no-store" });
    });

    it("a request without a session never reaches the API", async () => {
      const { address } = await startSite(undefined);
      const ask = async (headers: Record<string, string>) => errorIn(await fetch(`${address}/orders`, { headers }));
      const refused = { status: 401, code: "unauthenticated", cached: "no-store" };
      for (const headers of [{}, { Authorization: "Bearer eyJ.a.b" }, { Authorization: "Bearer " }] as const)
        expect(await ask({ ...headers })).toEqual(refused);
      expect(await ask({ Origin: "https://thief.example" })).toMatchObject({
        status: 403,
        code: "origin_not_allowed",
      });
    });
  });
