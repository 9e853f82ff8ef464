import { describe, expect, it } from "vitest";
import { SCOPES, type Scope } from "../../../src/domain/credentials/rights.ts";
import { type Answer, call, codeOf } from "../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../support/credential-pattern.ts";
import { operatorPath, ROUTES } from "../../support/routes.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator, withKey } from "../../support/states.ts";

const READ = ["groups:read", "events:read"];

const issue = (fields: object) =>
  call("POST", "/api/keys", {
    credential: operator,
    body: { workspace: "acme", environment: "Testing", name: "backend", ...fields },
  });
const listKeys = async () => (await call("GET", `/api/keys${inEnvironment()}`, { credential: operator })).body.api_keys;
const without = (...missing: Scope[]) => ({ scopes: SCOPES.filter((scope) => !missing.includes(scope)) });

describe("the scopes of a new API key", () => {
  it.for([
    ["nothing", {}, "write", SCOPES],
    ["write access", { access: "write" }, "write", SCOPES],
    ["read access", { access: "read" }, "read", READ],
    ["one scope", { scopes: ["sessions:create"] }, null, ["sessions:create"]],
    ["scopes in any order", { scopes: ["tokens:rotate", "groups:read"] }, null, ["groups:read", "tokens:rotate"]],
    ["the scopes of read access", { scopes: READ }, null, READ],
    ["every scope", { scopes: SCOPES }, null, SCOPES],
  ] as const)("are those asked for: %s", async ([, fields, access, scopes]) => {
    const { status, body } = await issue(fields);
    expect(status).toBe(201);
    expect(body.api_key).toMatchObject({ access, scopes });
    expect(await listKeys()).toEqual([body.api_key]);
    const { caller } = (await call("GET", "/api/whoami", { credential: body.key })).body;
    expect(caller.scopes).toEqual(scopes);
  });

  it.for([
    ["both access and scopes", { access: "read", scopes: ["groups:read"] }],
    ["both, though they mean the same", { access: "read", scopes: READ }],
    ["an empty list", { scopes: [] }],
    ["an unknown scope", { scopes: ["groups:read", "groups:purge"] }],
    ["a scope in capitals", { scopes: ["Groups:read"] }],
    ["a repeated scope", { scopes: ["groups:read", "groups:read"] }],
    ["a shorthand in the list", { scopes: ["read"] }],
    ["two scopes in one", { scopes: ["groups:read groups:write"] }],
    ["an empty scope", { scopes: [""] }],
    ["text", { scopes: "groups:read" }],
    ["null", { scopes: null }],
    ["null for access", { access: null }],
    ["unknown access", { access: "admin" }],
  ] as const)("refuse %s with 422", async ([, fields]) => {
    const answer = await issue(fields);
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    const [field] = answer.body.error.issues[0].path;
    expect(["scopes", "access"]).toContain(field);
    const environments = await call("GET", "/api/environments", { credential: operator });
    expect(environments.body.environments).toEqual([]);
  });

  it("stay with its successor", async () => {
    await issue({ scopes: ["tokens:rotate", "groups:read"] });
    const rolled = await call("POST", `/api/keys/1/roll${inEnvironment()}`, { credential: operator });
    expect(rolled.body.api_key).toMatchObject({ access: null, scopes: ["groups:read", "tokens:rotate"] });
    const credential = rolled.body.key;
    expect((await call("GET", "/api/user_groups", { credential })).status).toBe(200);
    expect(codeOf(await call("GET", "/api/events", { credential }))).toEqual([403, "insufficient_access"]);
  });
});

describe("a refusal for want of a scope", () => {
  it("names the scope, and nothing of the body", async () => {
    const credential = await issueKey({ scopes: ["events:read"] });
    for (const body of [{ user_group_id: "acme" }, { nonsense: true }, "{"]) {
      const answer = await call("PUT", "/api/user", { credential, body });
      expect(answer.body.error).toEqual({
        code: "insufficient_access",
        message: expect.stringContaining("required_scope"),
        required_scope: "groups:write",
      });
    }
  });

  it("comes after the key itself is judged", async () => {
    const credential = await issueKey({ scopes: ["events:read"] });
    await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
    const answer = await call("PUT", "/api/user", { credential, body: { user_group_id: "acme" } });
    expect(codeOf(answer)).toEqual([401, "credential_revoked"]);
  });
});

describe("without tokens:read", () => {
  /** A group whose token another key, with all scopes, has just rotated under an Idempotency-Key. */
  async function rotatedByAnother() {
    const { key, get, tokenOf } = await newIntegrator();
    const repeat = { body: { current_token: await tokenOf("acme") }, ...withKey("k") };
    const rotated = await call("POST", "/api/user", { credential: key, ...repeat });
    return { key, get, repeat, rotated, current: rotated.body.user_group.token as string };
  }

  it("no answer has a token, nor has the repeat of another key's rotation", async () => {
    const { repeat, rotated, current } = await rotatedByAnother();
    const { key: credential, get, put } = await newIntegrator(without("tokens:read"));
    const where = (path: string) => `/api/user_groups${path}`;
    const repeated = await call("POST", "/api/user", { credential, ...repeat });
    const answers: Answer[] = [
      repeated,
      await get({ user_group_id: "acme" }),
      await get({ user_group_id: "created" }),
      await put({ user_group_id: "acme", name: "B" }),
      await put({ user_group_id: "acme" }),
      await call("GET", where(""), { credential }),
      await call("GET", where("?user_group_id_prefix=a"), { credential }),
      await call("GET", where("/1"), { credential }),
      await call("PUT", where("/1"), { credential, body: { name: "C" } }),
      await call("POST", where("/1/rotate"), { credential }),
      await call("GET", "/api/events", { credential }),
      await call("GET", "/api/whoami", { credential }),
      await call("POST", "/api/user", { credential, body: repeat.body }),
      await call("DELETE", where("/1"), { credential }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([...Array(12).fill(200), 409, 200]);
    for (const { body, headers } of answers) {
      expect(JSON.stringify([body, ...headers])).not.toMatch(CREDENTIAL_PATTERN);
      expect(JSON.stringify(body)).not.toMatch(/"token"|ugt_/);
      expect(JSON.stringify(body)).not.toContain(current);
    }
    const { token: _, ...shown } = rotated.body.user_group;
    expect(repeated.body).toEqual({ success: 1, user_group: shown });
    expect(repeated.headers.get("ETag")).toBe(rotated.headers.get("ETag"));
  });

  it("a key that rotates sees the new token, in its answer and in its repeat", async () => {
    const { get, current } = await rotatedByAnother();
    const credential = await issueKey({ scopes: ["tokens:rotate"] });
    const mine = { credential, body: { current_token: current }, ...withKey("mine") };
    const first = await call("POST", "/api/user", mine);
    expect(first.body.user_group.token).toMatch(/^ugt_testing_/);
    expect((await get({ user_group_id: "acme" })).body.user_group.token).toBe(first.body.user_group.token);
    const again = await call("POST", "/api/user", mine);
    expect([again.status, again.body]).toEqual([200, first.body]);
  });

  it("its successor after a roll does not see the token in the repeat", async () => {
    const { current } = await rotatedByAnother();
    const old = await issueKey({ scopes: ["tokens:rotate"] });
    const repeat = { body: { current_token: current }, ...withKey("mine") };
    await call("POST", "/api/user", { credential: old, ...repeat });
    const rolled = await call("POST", `/api/keys/2/roll${inEnvironment()}`, { credential: operator });
    const again = await call("POST", "/api/user", { credential: rolled.body.key, ...repeat });
    expect(again.status).toBe(200);
    expect(again.body.user_group.token).toBeUndefined();
  });

  it("with it, the repeat of another key's rotation has the token", async () => {
    const { repeat, rotated } = await rotatedByAnother();
    const credential = await issueKey({ scopes: ["tokens:rotate", "tokens:read"] });
    expect((await call("POST", "/api/user", { credential, ...repeat })).body).toEqual(rotated.body);
  });
});

describe("an operator who is a viewer or support", () => {
  it.for(["viewer", "support"] as const)("never sees a credential, nor makes one: %s", async (role) => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    await issueOperator("admin");
    const credential = await issueOperator(role);
    const answers: Answer[] = [];
    for (const route of ROUTES) {
      const body = route.body && "current_token" in route.body ? { current_token: token } : route.body;
      answers.push(await call(route.method, operatorPath(route), { credential, body }));
    }
    answers.push(await call("GET", "/api/events", { credential }));
    for (const { body, headers } of answers) {
      expect(JSON.stringify([body, ...headers])).not.toMatch(CREDENTIAL_PATTERN);
      for (const secret of [key, token, operator, credential]) expect(JSON.stringify(body)).not.toContain(secret);
    }
    expect(answers.filter(({ status }) => status === 201)).toEqual([]);
    expect(await listKeys()).toHaveLength(1);
    const { operators } = (await call("GET", "/api/operators", { credential })).body;
    expect(operators).toHaveLength(2);
  });
});
