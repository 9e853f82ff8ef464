import { execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { UserGroupClient } from "../../client/src/index.ts";
import { freePort } from "../../test/support/node/free-port.ts";
import { installPackage } from "../../test/support/node/integrator-project.ts";
import { endGroup, waitUntil } from "../../test/support/node/service.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";

const { url, key } = inject("service");
const NEXT = resolve("examples/node_modules/next/dist/bin/next");

/** Nothing of the settings of these tests. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(SERVICE_URL|API_KEY|AUDIENCE|ORIGIN|NODE_OPTIONS|NODE_ENV|VITEST.*|TEST)$/.test(name),
  ),
);
env.NEXT_TELEMETRY_DISABLED = "1";

// Next finds its packages above its project, and takes a link to them for one that leads out of it.
const project = mkdtempSync(resolve("examples/.next-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe.skipIf(!hasChromium)(`a product with Next${skippedWithoutChromium}`, () => {
  beforeAll(async () => {
    cpSync("examples/next", project, { recursive: true });
    installPackage(project);
    await promisify(execFile)(process.execPath, [NEXT, "build"], { cwd: project, env });
  });

  it("is built without settings, and shows each person their own rows until they sign out", async () => {
    expect(existsSync(join(project, ".next/BUILD_ID"))).toBe(true);
    const port = await freePort();
    const ORIGIN = `http://localhost:${port}`;
    const settings = { SERVICE_URL: url, API_KEY: key, AUDIENCE: "demo/Testing", ORIGIN };
    const options = { cwd: project, env: { ...env, ...settings }, detached: true, stdio: "ignore" } as const;
    const server = spawn(process.execPath, [NEXT, "start", "--port", String(port), "--hostname", "localhost"], options);
    onTestFinished(() => endGroup(server, "SIGKILL"));
    await waitUntil(
      () =>
        fetch(ORIGIN).then(
          ({ ok }) => ok,
          () => false,
        ),
      "Next answered",
    );

    const browser = await startChromium();
    onTestFinished(() => browser.close());
    const shownTo = async (person: string) => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(ORIGIN);
      await page.getByText("Sign in to see your orders.").waitFor();
      await page.getByRole("button", { name: person }).click();
      await page.getByRole("status").getByText(person).waitFor();
      return { page, rows: await page.getByRole("listitem").allInnerTexts() };
    };
    const ada = await shownTo("Ada of Harbour Coffee");
    const cleo = await shownTo("Cleo of Corner Books");
    expect([ada.rows, cleo.rows]).toEqual([["120"], ["990"]]);

    const presented = ada.page.waitForRequest(`${ORIGIN}/orders`);
    await ada.page.reload();
    const session = (await (await presented).headerValue("Authorization"))?.replace("Bearer ", "") ?? "";
    await ada.page.getByRole("button", { name: "Sign out" }).click();
    await ada.page.getByText("Sign in to see your orders.").waitFor();
    expect(await ada.page.getByRole("listitem").count()).toBe(0);
    const groups = new UserGroupClient({ url, apiKey: key });
    const code = ({ code }: { code: string }) => code;
    expect(await groups.asViewer({ session }).view().catch(code)).toBe("credential_revoked");
    expect(await cleo.page.getByRole("listitem").allInnerTexts()).toEqual(["990"]);
  });
});
