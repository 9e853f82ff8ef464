import { describe, expect, inject, it } from "vitest";
import { hasChromium, skippedWithoutChromium } from "../../../tools/browser.ts";
import {
  askForSession,
  bars,
  groups,
  newMintingKey,
  openPage,
  operator,
  startBackend,
  status,
  WORKSPACE,
} from "../../support/node/embedding-site.ts";
import { waitUntil } from "../../support/node/service.ts";
import { standIn } from "../../support/node/stand-in.ts";

const { url } = inject("service");

describe("a page with a chart", () => {
  it.skipIf(!hasChromium)(
    `stops when its person signs out, and ends the sessions of other pages${skippedWithoutChromium}`,
    async () => {
      await groups.ensure({ userGroupId: "signing out", name: "Leaving", properties: { orders: [3] } });
      const { address } = await startBackend("signing out");
      const [here, there] = [await openPage(address), await openPage(address)];
      for (const { page } of [here, there]) await status(page, "Leaving");
      await here.page.getByRole("button", { name: "Sign out" }).click();
      await status(here.page, "Sign in to see the chart.");
      expect(await bars(here.page)).toEqual([]);
      expect(here.answered.slice(-2)).toEqual(["POST /sign-out 204", "POST /session 401"]);
      // The other page is of another browser, which is still signed in: only its session has ended.
      await there.page.clock.fastForward("01:00");
      await there.page.waitForFunction("performance.now() > 0");
      await waitUntil(() => there.count("GET /api/viewer 401") === 1, "the other page's session had ended");
      const [ended] = await Array.fromAsync(
        groups.events({ type: "viewer_sessions.ended", userGroupId: "signing out" }),
      );
      expect(ended).toMatchObject({ viewerId: "jane", reason: "signed out", actor: { name: "backend" } });
    },
  );

  it.skipIf(!hasChromium)(`ends with the API key of its backend${skippedWithoutChromium}`, async () => {
    await groups.ensure({ userGroupId: "key end", name: "Key end", properties: { orders: [1] } });
    const own = await newMintingKey();
    const { page, count } = await openPage((await startBackend("key end", { apiKey: own.key })).address);
    await status(page, "Key end");
    await operator.revokeKey({ ...WORKSPACE, id: own.id });
    await page.clock.fastForward("01:00");
    await expect.poll(() => count("GET /api/viewer 401")).toBe(1);
    const shown = async () => {
      // Each step is a wait of the client between two attempts to mint.
      await page.clock.fastForward("00:01");
      return page.getByRole("status").innerText();
    };
    await expect.poll(shown).toBe("The chart cannot be updated at the moment. Try again in a few minutes.");
    // That may pass: what the person may see stays.
    expect(await bars(page)).toEqual([50]);
  });

  it.skipIf(!hasChromium)(
    `shows one sentence and no chart to a suspended customer${skippedWithoutChromium}`,
    async () => {
      const userGroupId = "chart end";
      await groups.ensure({ userGroupId, name: "Chart end", properties: { orders: [1, 2] } });
      const { page, count } = await openPage((await startBackend(userGroupId)).address);
      await status(page, "Chart end");
      await groups.suspend({ userGroupId });
      await page.clock.fastForward("01:00");
      await status(page, "Your account is suspended. Contact our support.");
      expect(await bars(page)).toEqual([]);

      await page.reload();
      await status(page, "Your account is suspended. Contact our support.");
      expect(count("POST /session 403")).toBe(1);

      await groups.resume({ userGroupId });
      await page.clock.fastForward("01:00");
      await status(page, "Chart end");
      expect(await bars(page)).toEqual([25, 50]);
    },
  );

  it.skipIf(!hasChromium)(
    `has sessions that the page of another site cannot use${skippedWithoutChromium}`,
    async () => {
      await groups.ensure({ userGroupId: "origins", name: "Origins" });
      const { address } = await startBackend("origins");
      const { token } = (await askForSession(address)).body.session;
      const { url: elsewhere } = await standIn(() => ({
        status: 200,
        headers: { "Content-Type": "text/html" },
        body: "<title>x</title>",
      }));
      const viewFrom = async (site: string) => {
        const { page } = await openPage(site);
        return page.evaluate(
          `fetch("${url}/api/viewer", { headers: { Authorization: "Bearer ${token}" } }).then((r) => r.json())`,
        ) as Promise<{ success: number; error?: { code: string } }>;
      };
      expect((await viewFrom(address)).success).toBe(1);
      expect((await viewFrom(elsewhere)).error?.code).toBe("origin_not_allowed");
    },
  );
});
