import { describe, expect, it, vi } from "vitest";
import { call } from "../../../support/client.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");

const whoami = (credential: string | undefined, headers: Record<string, string> = {}) =>
  call("GET", "/api/whoami", { credential, headers });

const IN_A_MINUTE = "2026-03-01T10:31:00.000Z";
const ACME = { workspace: "acme", environment: "Testing" };
const OF_ACME = { id: 1, name: "Acme Inc.", ...ACME, audience: "acme/Testing" };
const NOWHERE = { workspace: null, environment: null };

/** An integrator with the group acme, and its token. */
async function newGroup() {
  const integrator = await newIntegrator();
  return { ...integrator, token: await integrator.tokenOf("acme", { name: "Acme Inc." }) };
}

describe("GET /api/whoami", () => {
  it.for<[string, () => Promise<string>, object]>([
    [
      "an API key, with its environment and scopes",
      () => issueKey({ name: "renderer", scopes: ["tokens:read", "groups:read"], expires_in_seconds: 60 }),
      {
        ...{ kind: "api_key", id: 1, name: "renderer", ...ACME },
        ...{ scopes: ["groups:read", "tokens:read"], expires_at: IN_A_MINUTE },
      },
    ],
    [
      "an operator, with the role and no environment",
      () => issueOperator("support", { name: "ada", expires_in_seconds: 60 }),
      { kind: "operator", id: 1, name: "ada", ...NOWHERE, role: "support", expires_at: IN_A_MINUTE },
    ],
    [
      "the bootstrap token as the admin without a number",
      async () => operator,
      { kind: "operator", id: null, name: "bootstrap", ...NOWHERE, role: "admin", expires_at: null },
    ],
    [
      "the token of a group",
      async () => (await newGroup()).token,
      { kind: "user_group_token", ...OF_ACME, expires_at: null },
    ],
    [
      "a token in its grace, with its end",
      async () => {
        const { token, rotate } = await newGroup();
        await rotate(token, { grace_seconds: 60 });
        return token;
      },
      { kind: "user_group_token", ...OF_ACME, expires_at: IN_A_MINUTE },
    ],
    [
      "a viewer session",
      async () => sessionOf((await newGroup()).key, { viewer_id: "ann", expires_in_seconds: 60 }),
      { kind: "viewer_session", ...OF_ACME, expires_at: IN_A_MINUTE },
    ],
  ])("shows %s", async ([, credentialOf, caller]) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    expect((await whoami(await credentialOf())).body).toEqual({ success: 1, caller });
  });

  it("answers the page of any origin for the token of a group", async () => {
    const { tokenOf } = await newIntegrator();
    const shown = await whoami(await tokenOf("acme"), { Origin: "https://page.example" });
    expect([shown.status, shown.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "*"]);
  });
});

it("names the kind of a credential that was revoked", async () => {
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
