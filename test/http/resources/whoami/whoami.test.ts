import { describe, it, vi } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");
const ORIGIN = { Origin: "https://page.example" };

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

  it.for([
    [
      "write",
      [
        "groups:read",
        "groups:write",
        "groups:delete",
        "tokens:read",
        "tokens:rotate",
        "sessions:create",
        "events:read",
      ],
    ],
    ["read", ["groups:read", "events:read"]],
  ] as const)("shows the scopes that %s access means", async ([access, scopes], { expect }) => {
    const { caller } = (await whoami(await issueKey({ access, environment: null }))).body;
    expect(caller).toMatchObject({ environment: null, scopes, expires_at: null });
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

  it("never shows a credential", async ({ expect }) => {
    const { key, tokenOf } = await newIntegrator();
    for (const credential of [key, await tokenOf("acme"), await issueOperator("admin"), operator]) {
      const { body } = await whoami(credential);
      expect(JSON.stringify(body)).not.toMatch(CREDENTIAL_PATTERN);
      expect(JSON.stringify(body)).not.toContain(credential);
    }
  });

  it("moves the time of a key's last use", async ({ expect }) => {
    await whoami(await issueKey());
    const { body } = await call("GET", `/api/keys${inEnvironment()}`, { credential: operator });
    expect(body.api_keys[0].last_used_at).not.toBeNull();
  });

  it("refuses what has ended, with its own code", async ({ expect }) => {
    stopClock();
    const { remove, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const [revoked, expiring] = [await issueKey(), await issueKey({ expires_in_seconds: 60 })];
    const [gone, ending] = [await issueOperator("viewer"), await issueOperator("viewer", { expires_in_seconds: 60 })];
    await remove(token);
    await call("DELETE", `/api/keys/2${inEnvironment()}`, { credential: operator });
    await call("DELETE", "/api/operators/1", { credential: operator });
    vi.setSystemTime(NOW.getTime() + 60_000);
    const codes = [];
    for (const credential of [token, revoked, gone, expiring, ending, "x", undefined])
      codes.push((await whoami(credential)).body.error.code);
    expect(codes).toEqual([
      ...Array(3).fill("credential_revoked"),
      ...Array(2).fill("credential_expired"),
      ...Array(2).fill("unauthenticated"),
    ]);
  });

  it("takes no query, from any caller", async ({ expect }) => {
    const { key, tokenOf } = await newIntegrator();
    for (const credential of [key, await tokenOf("acme"), await issueOperator("admin"), operator])
      for (const query of [inEnvironment(), "?x=1"])
        expect(codeOf(await call("GET", `/api/whoami${query}`, { credential }))).toEqual([422, "invalid_body"]);
  });

  it("answers the page of any origin, for the token of a group alone", async ({ expect }) => {
    const { key, tokenOf } = await newIntegrator();
    const shown = await whoami(await tokenOf("acme"), ORIGIN);
    expect(shown.status).toBe(200);
    for (const credential of [key, await issueOperator("viewer"), operator]) {
      const refused = await whoami(credential, ORIGIN);
      expect(codeOf(refused)).toEqual([403, "secret_key_in_browser"]);
      expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
    }
    expect(shown.headers.get("Access-Control-Allow-Origin")).toBe("*");
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
