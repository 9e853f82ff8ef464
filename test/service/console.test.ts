import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";

/** The console in a real browser. */

/** Debian's chromium; where there is none, these tests are skipped. */

const { url, operatorToken } = inject("service");
const operator = new OperatorClient({ url, operatorKey: operatorToken });
const WORKSPACE = { workspace: "console", environment: "Customer" } as const;
const ENVIRONMENT = "/console/environments/console/Customer";
const TABS_MAX = 200;

let browser: Browser;
let groups: UserGroupClient;

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await startChromium();
  groups = new UserGroupClient({ url, apiKey: (await operator.issueKey({ ...WORKSPACE, name: "backend" })).key });
  for (let first = 1; first <= 60; first += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => groups.ensure({ userGroupId: `customer-${first + index}` })),
    );
});
afterAll(() => browser?.close());

async function newContext(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  return context;
}

/** Presses the tabulator until this element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    await page.keyboard.press("Tab");
    if ((await page.locator(":focus").and(target).count()) === 1) return;
  }
  throw new Error(`No tabulator leads to ${target}.`);
}

const follow = async (page: Page, name: string | RegExp) => {
  await tabTo(page, page.getByRole("link", { name, exact: true }).first());
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
};

const press = async (page: Page, name: string) => {
  await tabTo(page, page.getByRole("button", { name, exact: true }));
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
};

const type = async (page: Page, label: string | RegExp, text: string) => {
  await tabTo(page, page.getByLabel(label));
  await page.keyboard.type(text);
};

/** Signs in with a new key, by keyboard, on the way to a page. */
async function signInOn(page: Page, path: string, name: string): Promise<string> {
  const { key } = await operator.issueOperator({ name, role: "admin" });
  await page.goto(url + path);
  await type(page, "Your operator key", key);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  return key;
}

it.skipIf(!hasChromium)(
  `finds a group, suspends, resumes, rotates, deletes and restores it by keyboard alone, without a script engine${skippedWithoutChromium}`,
  async ({ expect }) => {
    const id = "customer-57";
    const { group } = await groups.ensure({ userGroupId: id });
    const page = await (await newContext({ javaScriptEnabled: false })).newPage();
    await signInOn(page, `${ENVIRONMENT}/groups`, `ada ${id}`);

    await type(page, /^Find a group/, id);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    await follow(page, id);
    expect(await page.locator(".feed").textContent()).toContain("Created by the API key backend");

    const stateIs = async (state: string) => expect(await page.locator("h1").textContent()).toContain(state);
    const choose = async (name: RegExp) => {
      await tabTo(page, page.locator("main summary"));
      await page.keyboard.press("Enter");
      await follow(page, name);
    };
    await choose(/^Suspend/);
    await type(page, "Reason (optional)", "unpaid");
    await press(page, "Suspend");
    await stateIs("suspended");
    expect(await page.locator(".feed").textContent()).toContain("unpaid");

    await follow(page, "Resume…");
    await press(page, "Resume");
    await stateIs("active");

    await choose(/^Rotate the token/);
    await press(page, "Rotate the token");
    expect((await groups.ensure({ userGroupId: id })).group.token).not.toBe(group.token);

    await choose(/^Delete/);
    await press(page, "Delete");
    await stateIs("deleted");
    await press(page, "Restore");
    await stateIs("active");

    await tabTo(page, page.locator("summary", { hasText: `ada ${id}` }));
    await page.keyboard.press("Enter");
    await press(page, "Sign out");
    await page.goto(`${url}${ENVIRONMENT}/groups`);
    expect(await page.title()).toBe("Sign in · User groups");
  },
);

/** A form that a script sends, in whose answer it ends. */
const HOSTILE_FORM = `(path) => {
  const sent = Object.assign(document.createElement("form"), { method: "post", action: path + "/suspend" });
  document.body.append(sent);
  sent.submit();
}`;

/** What a script would try: calls, a frame and a window. It returns what it has learnt. */
const HOSTILE_SCRIPT = `async (path) => {
  const form = { method: "POST", body: new URLSearchParams("etag=x") };
  const responses = [await fetch(path), await fetch(path, { mode: "same-origin" }), await fetch(path + "/suspend", form)];
  const statuses = responses.map(({ status }) => status);
  const textOf = (get) => {
    try {
      return get()?.body?.textContent.trim() ?? "";
    } catch {
      return "";
    }
  };
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const frame = Object.assign(document.createElement("iframe"), { src: path });
  document.body.append(frame);
  const opened = window.open(path);
  let read = "";
  for (let tries = 0; tries < 40 && read === ""; tries += 1) {
    await wait(50);
    read = textOf(() => frame.contentDocument) + textOf(() => opened?.document);
  }
  return { statuses, read, cookie: document.cookie };
}`;

it.skipIf(!hasChromium)(
  `keeps out a script on another page of its origin${skippedWithoutChromium}`,
  async ({ expect }) => {
    // The policy of /docs alone would stop the script.
    const context = await newContext({ bypassCSP: true });
    const page = await context.newPage();
    await signInOn(page, `${ENVIRONMENT}/groups`, "docs reader");
    const cookies = await context.cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);

    const { group } = await groups.ensure({ userGroupId: "customer-1" });
    await page.goto(`${url}/docs`);
    const groupPath = `${ENVIRONMENT}/groups/${group.teamId}`;
    const found = await page.evaluate(`(${HOSTILE_SCRIPT})(${JSON.stringify(groupPath)})`);
    expect(found).toEqual({ statuses: [403, 403, 403], read: "", cookie: "" });
    expect(page.url()).toBe(`${url}/docs`);
    const send = page.evaluate(`(${HOSTILE_FORM})(${JSON.stringify(groupPath)})`);
    const [answer] = await Promise.all([page.waitForNavigation(), send]);
    expect(answer?.status()).toBe(403);
    expect((await groups.get({ teamId: group.teamId })).state).toBe("active");
  },
);
