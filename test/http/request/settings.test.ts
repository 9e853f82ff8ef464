import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { SETTING_NAMES, type SettingName } from "../../../common/settings/settings.ts";
import { call, codeOf } from "../../support/client.ts";
import { logLines } from "../../support/each-test.ts";
import { SETTING_TEXTS, secretsIn, withOthers } from "../../support/setting-texts.ts";
import { newIntegrator, operator } from "../../support/states.ts";

const envWith = (name: SettingName, text: unknown) => ({ ...env, ...withOthers(name, text) }) as Env;
const ready = (name: SettingName, text: unknown) => call("GET", "/ready", { env: envWith(name, text) });

/** Without these, the Worker serves no call: it could verify nothing, or would ask the wrong databases. */
const NEEDED: SettingName[] = ["SIGNING_KEYS", "JURISDICTION"];

describe.each(SETTING_NAMES)("%s", (name) => {
  // The runtime of the tests has no jurisdictions; ready.test.ts stands in for them.
  const good = SETTING_TEXTS[name].good.filter((text) => name !== "JURISDICTION" || text === "");

  it.for(good)("is ready with %j", async (text) => {
    expect((await ready(name, text)).status).toBe(200);
  });

  it.for(SETTING_TEXTS[name].wrong)("is not ready with %j, and the log says why", async (text) => {
    const { status, body } = await ready(name, text);
    expect([status, body.error.code, body.error.failed]).toEqual([503, "not_ready", ["settings"]]);
    const { problem } = logLines.at(-1) ?? {};
    expect(problem).toMatch(new RegExp(`^${name} cannot be read: .*\\.$`));
    for (const secret of secretsIn(name, text)) expect(problem).not.toContain(secret);
  });

  it("is reported once by each isolate, and other calls go on where they can", async () => {
    const callEnv = envWith(name, SETTING_TEXTS[name].wrong[0]);
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await call("GET", "/health", { env: callEnv })).status);
    expect(new Set(statuses)).toEqual(new Set([NEEDED.includes(name) ? 503 : 200]));
    expect(logLines.filter(({ message }) => message === "Settings cannot be read.")).toMatchObject([
      { level: "error", error: expect.stringContaining(`${name} cannot be read`) },
    ]);
  });
});

it("is ready with numbers, as wrangler.toml may have them, and with variables that are missing", async () => {
  expect((await ready("UNDO_DAYS", 30)).status).toBe(200);
  for (const missing of [undefined, null]) expect((await ready("CONSOLE", missing)).status).toBe(200);
  const { body } = await ready("SIGNING_KEYS", undefined);
  expect([body.error.failed, logLines.at(-1)?.problem]).toEqual([
    ["settings"],
    expect.stringMatching(/^SIGNING_KEYS is missing\./),
  ]);
});

it("is not ready with a part of the settings of the sign-in with the company", async () => {
  const names = ["SSO_HEADER", "SSO_ISSUER", "SSO_AUDIENCE", "SSO_JWKS_URL"] as const;
  for (const missing of names) {
    for (const text of ["", undefined, null]) {
      const callEnv = { ...envWith("SSO_HEADER", "X-Assertion"), [missing]: text } as Env;
      expect((await call("GET", "/ready", { env: callEnv })).body.error?.failed).toEqual(["settings"]);
      expect(logLines.at(-1)?.problem).toBe(`${missing} is missing. Set all of ${names.join(", ")}, or none of them.`);
    }
    const alone = { ...env, [missing]: SETTING_TEXTS[missing].good[1] } as Env;
    expect((await call("GET", "/ready", { env: alone })).status).toBe(503);
  }
});

it("takes the safe side of a setting that cannot be read", async () => {
  const { tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  const fromPage = { credential: token, headers: { Origin: "https://page.example" } };
  const view = await call("GET", "/api/viewer", { ...fromPage, env: envWith("BROWSER_TOKENS", "alow") });
  expect(codeOf(view)).toEqual([403, "token_in_browser"]);
  const listed = await call("GET", "/api/operators", {
    credential: operator,
    env: envWith("OPERATOR_TOKEN", `${"x".repeat(32)}\r`),
  });
  expect(codeOf(listed)).toEqual([503, "service_not_configured"]);
  expect(logLines.at(-1)?.problem).toMatch(/^OPERATOR_TOKEN cannot be read/);
  const { body } = await call("GET", "/", { env: envWith("CONSOLE", "yes") });
  expect(body.links.console).toBeNull();
});
