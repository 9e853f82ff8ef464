import { describe, it, vi } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");

const whoami = (credential: string | undefined, headers: Record<string, string> = {}) =>
  call("GET", "/api/whoami", { credential, headers });

function stopClock(): void {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
}

describe("GET /api/whoami", () => {
  it("shows an API key: its environment and scopes", async ({ expect }) => {
    stopClock();
    const key = await issueKey({ name: "renderer", scopes: ["tokens:read", "groups:read"], expires_in_seconds: 60 });
    expect((await whoami(key)).body).toEqual({
      success: 1,
      caller: {
        kind: "api_key",
        id: 1,
        name: "renderer",
        workspace: "acme",
        environment: "Testing",
        scopes: ["groups:read", "tokens:read"],
        expires_at: "2026-03-01T10:31:00.000Z",
      },
    });
  });

  it("shows an operator: no environment, and the role", async ({ expect }) => {
    stopClock();
    const key = await issueOperator("support", { name: "ada", expires_in_seconds: 60 });
    expect((await whoami(key)).body).toEqual({
      success: 1,
      caller: {
        kind: "operator",
        id: 1,
        name: "ada",
        workspace: null,
        environment: null,
        role: "support",
        expires_at: "2026-03-01T10:31:00.000Z",
      },
    });
  });

  it("shows the bootstrap token as the admin without a number", async ({ expect }) => {
    expect((await whoami(operator)).body).toEqual({
      success: 1,
      caller: {
        kind: "operator",
        id: null,
        name: "bootstrap",
        workspace: null,
        environment: null,
        role: "admin",
        expires_at: null,
      },
    });
  });

  it("shows the token of a group: number, name, and the end of a grace", async ({ expect }) => {
    stopClock();
    const { rotate, tokenOf } = await newIntegrator();
    await tokenOf("another");
    const old = await tokenOf("acme", { name: "Acme Inc." });
    const current = (await rotate(old, { grace_seconds: 60 })).body.user_group.token;
    const caller = {
      kind: "user_group_token",
      id: 2,
      name: "Acme Inc.",
      workspace: "acme",
      environment: "Testing",
      audience: "acme/Testing",
      expires_at: null,
    };
    expect((await whoami(current)).body).toEqual({ success: 1, caller });
    expect((await whoami(old)).body).toEqual({
      success: 1,
      caller: { ...caller, expires_at: "2026-03-01T10:31:00.000Z" },
    });
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await whoami(old))).toEqual([401, "credential_revoked"]);
  });

  it("answers the page of any origin for the token of a group", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    const shown = await whoami(await tokenOf("acme"), { Origin: "https://page.example" });
    expect([shown.status, shown.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "*"]);
  });
});

it("names the kind of a credential that was revoked", async ({ expect }) => {
  const { key, rotate, tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  const session = await sessionOf(key, { user_group_id: "acme" });
  const operatorKey = await issueOperator("viewer");
  await rotate(token);
  await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
  await call("DELETE", "/api/operators/1", { credential: operator });
  const messageTo = async (credential: string) => (await whoami(credential)).body.error.message;
  const kinds = { "API key": key, "group token": token, "viewer session": session, "operator key": operatorKey };
  for (const [kind, credential] of Object.entries(kinds))
    expect(await messageTo(credential)).toBe(
      `This ${kind} was valid once and has been revoked. Use the current one, or ask for a new one.`,
    );
});
