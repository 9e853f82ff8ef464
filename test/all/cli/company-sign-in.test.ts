import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { Client, request } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { OperatorClient } from "../../../client/src/index.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../../tools/browser.ts";
import { hasApache, skippedWithoutApache, startApache } from "../../support/node/apache.ts";
import { freePort } from "../../support/node/free-port.ts";
import { CLIENT_ID, newSigningPair, OidcProvider } from "../../support/node/oidc-provider.ts";
import { freshCopy, type RunningService, removeCopy, startService } from "../../support/node/service.ts";

const HEADER = "X-Company-Assertion";
/** Where a page leads whose session has ended. */
const SIGN_IN = "/console/sign-in?next=%2Fconsole%2Fenvironments";
const ADA = { sub: "ada", email: "Ada@example.com" };
const skipped = skippedWithoutApache || skippedWithoutChromium;

/** The lines of the document, with the addresses of this test. */
function documentedSite(addresses: Record<string, string>): string {
  const page = readFileSync("docs/operators/company-sign-in.md", "utf8");
  const [, lines = ""] = /```apache\n([\s\S]*?)```/.exec(page) ?? [];
  return Object.entries(addresses).reduce((text, [from, to]) => text.replaceAll(from, to), lines);
}

describe.skipIf(!hasApache || !hasChromium)(`behind Apache with mod_auth_openidc${skipped}`, () => {
  let folder: string;
  let provider: OidcProvider;
  let service: RunningService;
  let apache: { stop: () => Promise<void> };
  let browser: Browser;
  let operators: OperatorClient;
  /** A server that answers with the headers that it gets. */
  let echo: Server;
  /** The address of the proxy. */
  let site: string;

  beforeAll(async () => {
    folder = freshCopy();
    provider = await OidcProvider.start();
    const port = await freePort();
    site = `http://localhost:${port}`;
    const settings = {
      PUBLIC_URL: site,
      SSO_HEADER: HEADER,
      SSO_ISSUER: provider.issuer,
      SSO_AUDIENCE: CLIENT_ID,
      SSO_JWKS_URL: `${provider.issuer}/jwks`,
    };
    const variables = Object.entries(settings).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
    service = await startService(folder, [...variables, "--client-address-header", "X-Real-IP"]);
    operators = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
    await operators.issueOperatorWithoutKey({ name: "ada", role: "admin", email: ADA.email });
    const addresses = {
      "https://id.example.com": provider.issuer,
      "https://groups.example.com": site,
      "http://127.0.0.1:8787": service.url,
    };
    echo = createServer((received, response) => {
      const headers = Object.entries(received.headers).map(([name, value]) => `${name}: ${value}`);
      response.end(headers.join("\n"));
    });
    await once(echo.listen(0, "127.0.0.1"), "listening");
    const toEcho = `ProxyPass /echo/ http://127.0.0.1:${(echo.address() as AddressInfo).port}/\n`;
    apache = await startApache(folder, port, toEcho + documentedSite(addresses));
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await apache?.stop();
    await service?.stop();
    await provider?.stop();
    echo?.close();
    removeCopy(folder);
  });

  /** A new browser, in which this person is signed in at the provider. */
  async function open(person: OidcProvider["person"], headers = {}): Promise<{ context: BrowserContext; page: Page }> {
    provider.person = person;
    const context = await browser.newContext({ extraHTTPHeaders: headers });
    onTestFinished(() => context.close());
    return { context, page: await context.newPage() };
  }

  const go = (page: Page, path: string) => page.goto(site + path);
  const press = (page: Page, name: string) =>
    Promise.all([page.waitForNavigation(), page.getByRole("button", { name, exact: true }).click()]);
  const text = (page: Page) => page.locator("body").innerText();

  async function signIn(): Promise<{ context: BrowserContext; page: Page }> {
    const opened = await open(ADA);
    await go(opened.page, "/console");
    await press(opened.page, "Continue as ada");
    return opened;
  }

  /** Calls the service past the proxy, as a browser does, with these headers. */
  async function callDirectly(path: string, headers: Record<string, string>, form?: Record<string, string>) {
    const sent = form && { method: "POST" as const, body: String(new URLSearchParams(form)) };
    const type = form && { origin: site, "content-type": "application/x-www-form-urlencoded" };
    const response = await request(service.url + path, { ...sent, headers: { ...headers, ...type } });
    return { status: response.statusCode, location: response.headers.location, text: await response.body.text() };
  }

  it("an operator without a key signs in, and issues a key, which the event records under the name", async () => {
    const { page } = await signIn();
    await go(page, "/console/environments/demo/Testing/keys/issue");
    await page.getByLabel("Name of the key").fill("from the console");
    await press(page, "Issue the key");
    expect(await text(page)).toContain("ugk_testing_");
    await go(page, "/console/events?environment=demo/Testing");
    expect(await text(page)).toMatch(/from the console[\s\S]*ada/);
  });

  it("fits a long name on a narrow phone", async () => {
    const person = { sub: "long", email: "long@example.com" };
    const name = "Wolfeschlegelsteinhausenbergerdorff the Second".repeat(2);
    await operators.issueOperatorWithoutKey({ name, role: "viewer", email: person.email });
    const { page } = await open(person);
    await page.setViewportSize({ width: 320, height: 700 });
    await go(page, "/console");
    expect(await text(page)).toContain(`Continue as ${name}`);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });

  it("takes the session and its cookie from a person whom the provider has removed", async () => {
    const { context, page } = await signIn();
    provider.person = undefined;
    await go(page, "/console/environments");
    expect(page.url()).toBe(`${site}/docs`);
    await go(page, "/console/environments");
    expect(await text(page)).toBe("The provider knows nobody here");

    const cookie = (await context.cookies(site)).map(({ name, value }) => `${name}=${value}`).join("; ");
    const assertion = await provider.sign({ ...ADA, email_verified: true });
    expect((await callDirectly("/console/environments", { cookie, [HEADER]: assertion })).status).toBe(200);
    const refused = await callDirectly("/console/environments", { cookie });
    expect([refused.status, refused.location]).toEqual([303, SIGN_IN]);
  });

  it("ends the session when the provider says that the person has signed out", async () => {
    const { page } = await signIn();
    const body = String(new URLSearchParams({ logout_token: await provider.logoutToken(ADA.sub) }));
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const { statusCode } = await request(`${site}/console/oidc?logout=backchannel`, { method: "POST", headers, body });
    expect(statusCode).toBe(200);
    provider.person = undefined;
    await go(page, "/console/environments");
    expect(await text(page)).toBe("The provider knows nobody here");
  });

  it("ends the session when the provider sends another address for the person", async () => {
    const { page } = await signIn();
    provider.person = { ...ADA, email: "ada.lovelace@example.com" };
    await go(page, "/console/environments");
    expect(page.url()).toBe(site + SIGN_IN);
    expect(await text(page)).toContain("you are ada.lovelace@example.com, and no operator has this email");
  });

  it("goes on when the provider has rotated its keys", async () => {
    const { page } = await signIn();
    await provider.rotateKeys();
    await go(page, "/console/environments");
    expect(page.url()).toBe(`${site}/console/environments`);
    await signIn();
  });

  it("while the provider is down, admits people by their keys and goes on with assertions that it knows", async () => {
    await signIn();
    const assertion = await provider.sign({ ...ADA, email_verified: true });
    await provider.stop();
    onTestFinished(() => provider.listen());
    const { key } = await operators.issueOperator({ name: "ben", role: "viewer" });
    const byKey = await callDirectly("/console/sign-in", {}, { operator_key: key });
    expect([byKey.status, byKey.location]).toEqual([303, "/console"]);
    expect((await callDirectly("/console/sign-in", { [HEADER]: assertion })).text).toContain("Continue as");
  });

  it("removes the header from what a client sends", async () => {
    const assertion = await provider.sign({ ...ADA, email_verified: true });
    expect((await callDirectly("/console/sign-in", { [HEADER]: assertion })).text).toContain("Continue as");

    const { page } = await open({ sub: "mallory", email: "mallory@example.com" }, { [HEADER]: assertion });
    await go(page, "/console");
    expect(await text(page)).toContain("you are mallory@example.com, and no operator has this email");
    for (const path of ["/console/sign-in", "//console/sign-in", "/x/../console/sign-in", "/%63onsole/sign-in"])
      expect(await throughProxy(path, { [HEADER]: assertion })).not.toContain("Continue as");
    // Below this path, the proxy asks nobody to sign in.
    const arrived = await throughProxy("/echo/", { [HEADER]: assertion, "X-Other": "kept" });
    expect(arrived).toContain("x-other: kept");
    expect(arrived).not.toContain(HEADER.toLowerCase());
  });

  async function throughProxy(path: string, headers: Record<string, string>): Promise<string> {
    // Unlike a URL, this path stays as it is.
    const client = new Client(site);
    onTestFinished(() => client.close());
    return (await client.request({ method: "GET", path, headers })).body.text();
  }

  it("refuses forged assertions of a client that comes past the proxy", async () => {
    const claims = { ...ADA, email_verified: true };
    const own = await provider.sign(claims);
    const [header = "", payload = ""] = own.split(".");
    const { kid } = JSON.parse(Buffer.from(header, "base64url").toString());
    const unsigned = `${Buffer.from(JSON.stringify({ alg: "none", kid })).toString("base64url")}.${payload}.`;
    const secret = new TextEncoder().encode(JSON.stringify(provider.jwk));
    const byPublicKey = new SignJWT(JSON.parse(Buffer.from(payload, "base64url").toString()));
    const forged = {
      "another key": await provider.sign(claims, await newSigningPair("mallory")),
      "no signature": unsigned,
      "no signature, of RS256": `${header}.${payload}.AA`,
      "HS256 with the public key": await byPublicKey.setProtectedHeader({ alg: "HS256", kid }).sign(secret),
      "another audience": await provider.sign({ ...claims, aud: "other" }),
      "another issuer": await provider.sign({ ...claims, iss: "https://id.example.com" }),
    };
    const form = { email: "ada@example.com" };
    expect((await callDirectly("/console/sign-in/company", { [HEADER]: own }, form)).status).toBe(303);
    for (const [how, assertion] of Object.entries(forged))
      expect([how, (await callDirectly("/console/sign-in/company", { [HEADER]: assertion }, form)).status]).toEqual([
        how,
        401,
      ]);
  });
});

it("the document names the header that the tests use", () => {
  expect(documentedSite({})).toContain(`RequestHeader unset ${HEADER} early`);
});
