import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { app } from "../../src/http/app.ts";

const get = (callEnv: Env, method = "GET") =>
  app.fetch(
    new Request("http://localhost/demo", { method }) as Parameters<typeof app.fetch>[0],
    callEnv,
    createExecutionContext(),
  );

it("is not found unless it is turned on, and no deployment turns it on", async ({ expect }) => {
  expect(env.DEMO_PAGE).toBe("off");
  const response = await get(env);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "route_not_found" } });
});

it("is not cached, loads nothing from other hosts, and runs only its own script", async ({ expect }) => {
  const callEnv = { ...env, DEMO_PAGE: "on" };
  const [one, other] = [await get(callEnv), await get(callEnv)];
  for (const { headers } of [one, other]) {
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(headers.get("X-Request-Id")).toMatch(/^[\da-f-]{36}$/);
  }
  const policy = one.headers.get("Content-Security-Policy") ?? "";
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(other.headers.get("Content-Security-Policy")).not.toBe(policy);
  const page = await one.text();
  expect(page.match(/<script[^>]*>/g)).toEqual([`<script nonce="${nonce}">`]);
  expect(page).not.toMatch(/https?:|innerHTML|localStorage|sessionStorage/);
  expect((await get(callEnv, "POST")).status).toBe(405);
});
