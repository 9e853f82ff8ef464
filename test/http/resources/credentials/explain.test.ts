import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { logLines } from "../../../support/each-test.ts";
import { forgedCredential, forgedSession } from "../../../support/forged.ts";
import { limiter } from "../../../support/limiter.ts";
import { claimsIn, sessionOf, setSuspended } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { view } from "../../../support/viewers.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const PATH = "/api/credentials/explain";
const BOOTSTRAP = { kind: "operator", id: null, name: "bootstrap" };

/** What an operator learns of a credential; the fields name an audience and an origin. */
const explain = async (credential: string, fields: object = {}, by = operator) =>
  (await call("POST", PATH, { credential: by, body: { credential, ...fields } })).body.credential;

/** The codes of the reasons, in their order. */
const codesOf = async (...args: Parameters<typeof explain>) =>
  (await explain(...args)).reasons.map(({ code }: { code: string }) => code);

const endSessions = (fields: object, by = operator) =>
  call("POST", `/api/viewer_sessions/end${inEnvironment()}`, { credential: by, body: fields });
const removeGroup = () => call("DELETE", `/api/user_groups/1${inEnvironment()}`, { credential: operator, body: {} });

/** An integrator with the group acme, its token, and a session of it. */
async function newViewer(fields: object = {}) {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme");
  return { ...integrator, token, session: await sessionOf(integrator.key, fields) };
}

const stopClock = (now = NOW) => void vi.useFakeTimers({ now, toFake: ["Date"] });

describe("a valid credential", () => {
  it("has its kind, its number and its environment, and no reasons", async () => {
    const { key, token, session } = await newViewer();
    const ada = await issueOperator("viewer");
    const valid = { valid: true, reasons: [] };
    const audience = "acme/Testing";
    expect(await explain(key)).toEqual({ kind: "api_key", number: 1, audience, ...valid });
    expect(await explain(ada)).toEqual({ kind: "operator", number: 1, audience: null, ...valid });
    expect(await explain(operator)).toEqual({ kind: "operator", number: null, audience: null, ...valid });
    expect(await explain(token)).toEqual({ kind: "user_group_token", number: 1, audience, ...valid });
    expect(await explain(session, { audience })).toEqual({ kind: "viewer_session", number: 1, audience, ...valid });
  });

  it("is valid in its grace, and superseded after it", async () => {
    stopClock();
    const { rotate, tokenOf } = await newIntegrator();
    const old = await tokenOf("acme");
    await rotate(old, { grace_seconds: 60 });
    await tokenOf("other");
    await call("POST", `/api/user_groups/2/rotate${inEnvironment()}`, { credential: operator });
    expect(await codesOf(old)).toEqual([]);
    const end = new Date(Number(NOW) + 60_000);
    stopClock(end);
    expect((await explain(old)).reasons).toMatchObject([
      { code: "token_superseded", since: end.toISOString(), by: { kind: "api_key", id: 1, name: "backend" } },
    ]);
  });
});

describe("the reason", () => {
  it("of a suspended group names who has suspended it, and since when", async () => {
    stopClock();
    const { token, session, key } = await newViewer();
    await setSuspended(key, true);
    for (const credential of [token, session])
      expect(await explain(credential)).toMatchObject({
        valid: false,
        reasons: [
          {
            code: "user_group_suspended",
            message: expect.stringContaining("suspended"),
            since: new Date(NOW).toISOString(),
            by: { kind: "api_key", id: 1, name: "backend" },
          },
        ],
      });
  });

  it("of a deleted group is gone when it is restored, and another one when it is purged", async () => {
    const { token, session } = await newViewer();
    await removeGroup();
    for (const credential of [token, session]) {
      const { reasons } = await explain(credential);
      expect(reasons).toMatchObject([{ code: "credential_revoked", by: BOOTSTRAP }]);
      expect(reasons[0].message).toContain("deleted");
    }
    await call("POST", `/api/user_groups/1/restore${inEnvironment()}`, { credential: operator, body: {} });
    expect(await codesOf(token)).toEqual([]);
    await removeGroup();
    await call("POST", `/api/user_groups/1/purge${inEnvironment()}`, { credential: operator, body: {} });
    expect((await explain(token)).reasons).toMatchObject([
      { code: "credential_revoked", message: expect.stringContaining("does not exist"), since: null, by: null },
    ]);
  });

  it("of an ended session is its own end, its person's, the group's or a rotation", async () => {
    const { key, token, session, rotate } = await newViewer();
    const ofAnn = await sessionOf(key, { viewer_id: "ann" });
    const ofBen = await sessionOf(key, { viewer_id: "ben" });
    const ada = await issueOperator("support", { name: "ada" });
    await endSessions({ session });
    await endSessions({ user_group_id: "acme", viewer_id: "ann" }, ada);
    const by = { kind: "operator", id: 1, name: "ada" };
    expect((await explain(session)).reasons).toMatchObject([{ code: "credential_revoked", by: BOOTSTRAP }]);
    expect((await explain(ofAnn)).reasons).toMatchObject([{ code: "credential_revoked", by }]);
    expect(await codesOf(ofBen)).toEqual([]);
    expect(await codesOf(await sessionOf(key, { viewer_id: "ann" }))).toEqual([]);
    await endSessions({ user_group_id: "acme" }, ada);
    await endSessions({ user_group_id: "acme" });
    // Of two ends, the first was the end of this session.
    expect((await explain(ofBen)).reasons).toMatchObject([
      { code: "credential_revoked", message: expect.stringContaining("All sessions"), by },
    ]);
    const later = await sessionOf(key);
    await rotate(token);
    expect((await explain(later)).reasons).toMatchObject([{ code: "credential_revoked", by: { kind: "api_key" } }]);
    expect((await explain(token)).reasons).toMatchObject([{ code: "token_superseded", by: { kind: "api_key" } }]);
  });

  it("of a session whose API key was revoked is the key", async () => {
    stopClock();
    const { session, key } = await newViewer();
    // Another key that somebody else revokes in the same millisecond.
    await issueKey();
    await call("DELETE", `/api/keys/2${inEnvironment()}`, { credential: await issueOperator("admin"), body: {} });
    await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator, body: {} });
    expect((await explain(session)).reasons).toMatchObject([
      { code: "credential_revoked", message: expect.stringContaining("API key that minted"), by: BOOTSTRAP },
    ]);
    expect((await explain(key)).reasons).toMatchObject([{ code: "credential_revoked", by: BOOTSTRAP }]);
  });

  it("of an expired key or session is its end", async () => {
    stopClock();
    await newViewer();
    const key = await issueKey({ expires_in_seconds: 120 });
    const ada = await issueOperator("viewer", { expires_in_seconds: 120 });
    const session = await sessionOf(key, { expires_in_seconds: 60 });
    stopClock(new Date(Number(NOW) + 60_000));
    expect(await codesOf(session)).toEqual(["credential_expired"]);
    const end = new Date(Number(NOW) + 120_000);
    stopClock(end);
    for (const credential of [key, ada])
      expect((await explain(credential)).reasons).toMatchObject([
        { code: "credential_expired", since: end.toISOString(), by: null },
      ]);
    expect((await explain(session)).reasons).toMatchObject([
      { code: "credential_expired", since: new Date(Number(NOW) + 60_000).toISOString(), by: null },
      { code: "credential_revoked", since: end.toISOString() },
    ]);
  });

  it("of a revoked operator's key names who has revoked it", async () => {
    const ada = await issueOperator("viewer");
    await call("DELETE", "/api/operators/1", { credential: operator, body: {} });
    expect((await explain(ada)).reasons).toMatchObject([{ code: "credential_revoked", by: BOOTSTRAP }]);
  });

  it("of another environment or origin is the one of the question", async () => {
    const { token, session, key } = await newViewer({ origins: ["https://app.example.com"] });
    const audience = "acme/Customer";
    for (const credential of [token, session, key])
      expect(await codesOf(credential, { audience })).toEqual(["audience_mismatch"]);
    expect(await codesOf(session, { origin: "https://app.example.com" })).toEqual([]);
    expect(await codesOf(session, { origin: "https://evil.example" })).toEqual(["origin_not_allowed"]);
    expect(await codesOf(key, { origin: "https://app.example.com" })).toEqual(["secret_key_in_browser"]);
    expect((await view(token, { Origin: "https://app.example.com" })).status).toBe(200);
    expect(await codesOf(token, { origin: "https://app.example.com" })).toEqual([]);
  });

  it("is every one that there is, in the order of the checks", async () => {
    stopClock();
    const { key, token, session, rotate } = await newViewer({ origins: ["https://app.example.com"] });
    await setSuspended(key, true);
    await rotate(token);
    await removeGroup();
    await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator, body: {} });
    stopClock(new Date(Number(NOW) + 3_600_000));
    const asked = { audience: "acme/Customer", origin: "https://evil.example" };
    expect(await codesOf(session, asked)).toEqual([
      ...["credential_expired", "origin_not_allowed", "credential_revoked", "credential_revoked"],
      ...["credential_revoked", "user_group_suspended", "audience_mismatch"],
    ]);
    expect((await codesOf(token, asked)).slice(-4)).toEqual([
      ...["token_superseded", "credential_revoked", "user_group_suspended", "audience_mismatch"],
    ]);
  });
});

describe("a text that this service has not signed", () => {
  const UNKNOWN = { kind: "unknown", number: null, audience: null, valid: false };

  it("is unknown, and nothing is said or asked about what it names", async () => {
    const { token, session } = await newViewer();
    const { iat: _, ...claims } = claimsIn(session);
    const otherKeys = `k1:${btoa("another deployment's key, 32 by!")}`;
    const [header = "", payload = ""] = session.split(".");
    const none = `${btoa('{"alg":"none"}').replaceAll("=", "")}.${payload}.`;
    const { watched, costs } = watchedEnv();
    const answers = new Set<string>();
    for (const credential of [
      ...[
        `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
        token.slice(0, 40),
        `${header}.${payload}.${"A".repeat(86)}`,
      ],
      ...[none, await forgedSession({ ...claims, iat: (claims.exp as number) - 60 }, otherKeys), "ugt_acme", "x"],
    ]) {
      const body = { credential, audience: "acme/Customer", origin: "https://app.example.com" };
      const answer = await call("POST", PATH, { credential: operator, body, env: watched });
      expect([credential, answer.body.credential]).toMatchObject([
        credential,
        { ...UNKNOWN, reasons: [{ code: "unauthenticated" }] },
      ]);
      answers.add(JSON.stringify(answer.body.credential));
    }
    expect(answers.size).toBe(1);
    expect(new Set(costs.rpcs)).toEqual(new Set(["registry.admit"]));
  });

  it("may be anything that JSON can say", async () => {
    for (const credential of ["\u2028", "\u202Etxt", "\uFEFF", "x".repeat(8000), "eyJ.eyJ.", "<script>"])
      expect([credential, await explain(credential)]).toMatchObject([credential, UNKNOWN]);
    const long = await call("POST", PATH, { credential: operator, body: { credential: "x".repeat(65_536) } });
    expect(codeOf(long)).toEqual([413, "body_too_large"]);
    for (const credential of ["", 7, null, ["x"], undefined, "\0", "a\u0000b"]) {
      const answer = await call("POST", PATH, { credential: operator, body: { credential } });
      expect([credential, ...codeOf(answer)]).toEqual([credential, 422, "invalid_body"]);
    }
  });

  it("is no way to guess OPERATOR_TOKEN", async () => {
    const viewer = await issueOperator("viewer");
    const callEnv: Env = { ...env, REFUSED_CREDENTIAL_LIMIT: limiter(2) };
    const guess = (credential: string) =>
      call("POST", PATH, {
        credential: viewer,
        headers: { "CF-Connecting-IP": "192.0.2.7" },
        body: { credential },
        env: callEnv,
      });
    for (const text of [`${operator}1`, `${operator}2`])
      expect((await guess(text)).body.credential.kind).toBe("unknown");
    // From now on a right guess looks like a wrong one.
    for (const text of [`${operator}3`, operator]) expect(codeOf(await guess(text))).toEqual([429, "rate_limited"]);
  });
});

describe("a credential that was signed with a stolen key", () => {
  it("is refused as the service refuses it", async () => {
    await newViewer();
    expect(await codesOf(await forgedCredential("api_key"))).toEqual(["unauthenticated"]);
    expect(await codesOf(await forgedCredential("operator_key"))).toEqual(["unauthenticated"]);
    expect(await codesOf(await forgedCredential("token"))).toEqual(["token_superseded"]);
    expect(await codesOf(await forgedCredential("token", 99))).toEqual(["credential_revoked"]);
  });

  it("of an environment that does not exist is one of nobody, and creates nothing", async () => {
    for (const kind of ["api_key", "token"] as const)
      expect(await codesOf(await forgedCredential(kind))).toEqual([
        kind === "token" ? "credential_revoked" : "unauthenticated",
      ]);
    const tables = await inDirectory(({ sql }) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
    );
    expect(tables).toEqual([]);
  });
});

/** Everything that a Durable Object has stored. */
const contentOf = (stub: DurableObjectStub<undefined>) =>
  runInDurableObject(stub, (_, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'")
      .toArray()
      .map(({ name }) => [name, [...sql.exec(`SELECT * FROM "${name}"`).raw()].map((row) => row.map(String))]),
  );

it("leaves no mark: no view, no use, no event, and nothing of the credential in the state or the log", async () => {
  const { key, token, session } = await newViewer();
  const unused = await issueKey({ name: "unused" });
  const unusedOperator = await issueOperator("viewer");
  const stubs = [env.GROUP_DIRECTORY.getByName("acme/Testing"), env.REGISTRY.getByName(REGISTRY_NAME)];
  const state = () => Promise.all(stubs.map((stub) => contentOf(stub as never)));
  // The mint has noted a view and a use of the key.
  await runInDurableObject(stubs[0] as never, (_, { storage }: DurableObjectState) =>
    storage.sql.exec("UPDATE user_groups SET last_viewed_on = NULL; UPDATE api_keys SET last_used_at = NULL"),
  );
  // It has a cache of its keys.
  await evictDurableObject(stubs[0] as never);
  const before = await state();
  logLines.length = 0;
  const asked = [key, token, session, unused, unusedOperator, `${token}x`, "not a credential at all"];
  for (const credential of asked) await explain(credential, { origin: "https://app.example.com" });
  expect(await state()).toEqual(before);
  expect(logLines).toHaveLength(asked.length);
  for (const text of asked)
    for (const part of [text, text.slice(0, 24)]) expect(JSON.stringify(logLines)).not.toContain(part);
});

it("is 503 where the directory is of a release that lacks the method", async () => {
  const { token } = await newViewer();
  const older = new Proxy(env.GROUP_DIRECTORY, {
    get: (target, name) =>
      name === "getByName"
        ? () => ({
            explainViewer: () =>
              Promise.reject(new TypeError('The RPC receiver does not implement the method "explainViewer".')),
          })
        : Reflect.get(target, name),
  });
  const answer = await call("POST", PATH, {
    credential: operator,
    body: { credential: token },
    env: { ...env, GROUP_DIRECTORY: older },
  });
  expect(codeOf(answer)).toEqual([503, "directory_unavailable"]);
});
