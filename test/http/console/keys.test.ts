import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { call, codeOf } from "../../support/client.ts";
import { NOW } from "../../support/clock.ts";
import { signIn, visit } from "../../support/console.ts";
import { CREDENTIAL_PATTERN } from "../../support/credential-pattern.ts";
import { logLines } from "../../support/each-test.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const ENVIRONMENT = "/console/environments/acme/Testing";
const KEYS = `${ENVIRONMENT}/keys`;

const shownKey = (html: string): string => CREDENTIAL_PATTERN.exec(html)?.[0] ?? "";
const lists = async (credential: string) => (await call("GET", "/api/user_groups", { credential })).status;
const eventsOf = async (query: string) =>
  (await call("GET", `/api/events${query}`, { credential: operator })).body.events;

/** An environment with one key, and an operator who has signed in. */
async function newVisitor(role: "viewer" | "support" | "admin" = "admin") {
  const integrator = await newIntegrator();
  const key = await issueOperator(role, { name: `ada ${role}` });
  return { ...integrator, operatorKey: key, visitor: await signIn(key) };
}

describe("API keys", () => {
  it("stand out on the environment's page when nobody used them for 90 days, from their creation", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await issueKey({ name: "spare" });
    const operatorKey = await issueOperator("viewer");
    const noticedAfter = async (milliseconds: number) => {
      vi.setSystemTime(NOW.getTime() + milliseconds);
      const { body } = await (await signIn(operatorKey)).get(ENVIRONMENT);
      return /<bdi>spare<\/bdi><\/a> not used since <time datetime="([^"]*)"/.exec(body)?.[1];
    };
    expect(await noticedAfter(90 * DAY_MS - 1)).toBeUndefined();
    expect(await noticedAfter(90 * DAY_MS)).toBe(NOW.toISOString());
  });

  it("are issued with preset or chosen scopes, and shown once", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const fields = { name: "backend", preset: "sessions", reason: "new page", operator_key };
    const issued = await visitor.send(`${KEYS}/issue`, fields);
    expect(issued.status).toBe(200);
    const secret = shownKey(issued.body);
    const { caller } = (await call("GET", "/api/whoami", { credential: secret })).body;
    expect(caller).toMatchObject({ name: "backend", scopes: ["sessions:create"], expires_at: null });
    const chosen = { name: "x", preset: "chosen", scope: "groups:read", expires_in_seconds: "2592000", operator_key };
    const second = await visitor.send(`${KEYS}/issue`, chosen);
    const { body } = await call("GET", "/api/whoami", { credential: shownKey(second.body) });
    expect([body.caller.scopes, typeof body.caller.expires_at]).toEqual([["groups:read"], "string"]);
    expect(second.body).toMatch(/<dt>Name<\/dt><dd><bdi>x<.*<dt>May<\/dt><dd>groups:read<.*<dt>Expires<\/dt><dd>20/);
    const list = await visitor.get(KEYS);
    expect(list.body).toContain("backend");
    expect(list.body).not.toMatch(CREDENTIAL_PATTERN);
    const [event] = (await eventsOf(`${inEnvironment()}&type=api_key.issued`)).slice(-2);
    expect(event).toMatchObject({ actor: { name: "ada admin" }, reason: "new page" });
  });

  it("are refused with the fields that are wrong", async () => {
    const { visitor } = await newVisitor();
    const nothing = await visitor.send(`${KEYS}/issue`, { name: " ", preset: "chosen" });
    expect(nothing.status).toBe(422);
    for (const field of ["name", "preset"]) expect(nothing.body).toContain(`href="#field-${field}"`);
    expect(nothing.body).toContain("Tick at least one scope.");
  });

  it("are issued for sessions alone and 90 days, if nobody chooses otherwise", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const { body: page } = await visitor.get(`${KEYS}/issue`);
    const [, preset = ""] = /name="preset" value="(\w+)" checked/.exec(page) ?? [];
    expect(page.match(/name="preset" value="\w+"/g)).toHaveLength(4);
    const [, expires_in_seconds = ""] = /<option value="(\d*)" selected/.exec(page) ?? [];
    const issued = await visitor.send(`${KEYS}/issue`, { name: "page", preset, expires_in_seconds, operator_key });
    const { caller } = (await call("GET", "/api/whoami", { credential: shownKey(issued.body) })).body;
    expect(caller.scopes).toEqual(["sessions:create"]);
    expect(Math.round((Date.parse(caller.expires_at) - Date.now()) / 86_400_000)).toBe(90);
  });

  it("are not issued with ticks that the choice would ignore", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    for (const preset of ["sessions", "read", "write"]) {
      const fields = { name: "backend", preset, scope: "groups:read", operator_key };
      const { status, body } = await visitor.send(`${KEYS}/issue`, fields);
      expect([preset, status, body.includes('href="#field-preset"')]).toEqual([preset, 422, true]);
      expect(body).not.toMatch(CREDENTIAL_PATTERN);
    }
  });

  it("name their successor, and stand out when they end soon", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const fields = { leaked: "no", grace_seconds: "3600", reason: "yearly", operator_key };
    const rolled = await visitor.send(`${KEYS}/1/end`, fields);
    expect(rolled.body).toMatch(/<dt>Replaces<\/dt><dd><a href="[^"]+\/keys\/1\/about">number 1<\/a>, which ends/);
    const list = await visitor.get(KEYS);
    expect(list.body).toMatch(/data-state="soon">ends .*<a href="[^"]+\/keys\/2\/about">its successor</);
    expect((await visitor.get(`${KEYS}/1/about`)).body).toMatch(/Rolled <time.*ada admin.*yearly/);
  });

  it("are replaced with a grace, or at once if they have leaked, and ended without the operator's key", async () => {
    const { visitor, key, operatorKey } = await newVisitor();
    const path = (id: number) => `${KEYS}/${id}/end`;
    const replace = (id: number, leaked: string) =>
      visitor.send(path(id), { leaked, grace_seconds: "3600", operator_key: operatorKey });
    const unsaid = await replace(1, "");
    expect([unsaid.status, unsaid.body.includes('href="#field-leaked"')]).toEqual([422, true]);
    const second = shownKey((await replace(1, "no")).body);
    expect([await lists(key), await lists(second)]).toEqual([200, 200]);
    const third = shownKey((await replace(2, "yes")).body);
    expect([await lists(second), await lists(third)]).toEqual([401, 200]);

    expect((await visitor.send(path(3), { danger: "yes" })).status).toBe(422);
    expect(await lists(third)).toBe(200);
    expect((await visitor.send(path(3), { danger: "yes", leaked: "yes", reason: "leaked" })).status).toBe(303);
    expect(await lists(third)).toBe(401);
    expect((await visitor.get(path(99))).status).toBe(404);
  });

  it("are not offered to be changed by others than admins", async () => {
    const { visitor } = await newVisitor("support");
    const list = await visitor.get(KEYS);
    expect(list.status).toBe(200);
    expect(list.body).not.toMatch(/\/(?:issue|end)"/);
  });
});

describe("the search of a key", () => {
  it("names the key of a beginning or of a whole text, and what it lacks", async () => {
    const { visitor, key, tokenOf } = await newVisitor();
    const token = await tokenOf("acme");
    const ask = async (text: string) => (await visitor.send("/console/operators", { text }, "/console/search")).body;
    expect(await ask(key)).toMatch(/It is this key.*acme\/Testing.*valid/s);
    const beginning = `${key.slice(0, key.indexOf("_", 5) + 30)}…`;
    expect(await ask(beginning)).toMatch(/It may be (?:this key|one of these keys)/);
    expect(await ask(key)).not.toContain(key);
    await call("DELETE", `/api/keys/1${inEnvironment()}`, {
      credential: operator,
      body: { reason: "on a screenshot" },
    });
    expect(await ask(key)).toMatch(/revoked.*bootstrap.*on a screenshot/s);
    expect(await ask(`${key.slice(0, -4)}AAAA`)).toMatch(/It may be/);
    expect(await ask(token)).toContain(`${ENVIRONMENT}/groups/1`);
    expect(await ask(key.slice(0, 16))).toContain("Give more of it");
  });

  it("says of a whole key that no signing key verifies it", async () => {
    const { visitor, key } = await newVisitor();
    const ask = async (text: string) => (await visitor.send("/console/operators", { text }, "/console/search")).body;
    const removed = `removed:${new Uint8Array(32).fill(9).toBase64()}`;
    const issued = await call("POST", "/api/keys", {
      credential: operator,
      body: { workspace: "acme", environment: "Testing", name: "old" },
      env: { ...env, SIGNING_KEYS: `${removed},${env.SIGNING_KEYS}` },
    });
    const unsigned = "no signing key of the service verifies it";
    const found = await ask(issued.body.key);
    expect([/It may be this key.*old/s.test(found), found.includes(unsigned)]).toEqual([true, true]);
    for (const text of [key, key.slice(0, -3), issued.body.key.slice(0, -3)])
      expect(await ask(text)).not.toContain(unsigned);
    const signedIn = await visit("POST", "/console/sign-in", { fields: { operator_key: issued.body.key } });
    expect([signedIn.status, signedIn.body.includes("signed with a key that has been removed")]).toEqual([401, true]);
  });

  it("finds operators, and keys of environments that are gone", async () => {
    const { visitor, operatorKey, key } = await newVisitor("viewer");
    const ask = async (text: string) => (await visitor.send("/console/operators", { text }, "/console/search")).body;
    expect(await ask(operatorKey)).toMatch(/the deployment.*ada viewer.*valid/s);
    await call("DELETE", `/api/environments${inEnvironment()}&confirm=acme/Testing`, {
      credential: operator,
      body: {},
    });
    expect(await ask(key)).toContain("does not exist");
  });
});

describe("operators", () => {
  it("are issued with any role", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    for (const [index, role] of ["viewer", "admin"].entries()) {
      const issued = await visitor.send("/console/operators/issue", { name: "bob", role, operator_key });
      expect(logLines.at(-1)).toMatchObject({ operator: "ada admin", subject_operator_id: 2 + index });
      expect((await call("GET", "/api/whoami", { credential: shownKey(issued.body) })).body.caller.role).toBe(role);
    }
    expect((await visitor.get("/console/operators")).body).not.toMatch(CREDENTIAL_PATTERN);
  });

  it("are rolled and revoked by admins, also in their own session", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const bob = await issueOperator("support", { name: "bob" });
    const warnings = [1, 2].map(async (id) =>
      (await visitor.get(`/console/operators/${id}/end`)).body.includes("If no other admin is left"),
    );
    expect(await Promise.all(warnings)).toEqual([true, false]);
    const rolled = await visitor.send("/console/operators/2/end", { leaked: "yes", operator_key });
    expect(codeOf(await call("GET", "/api/whoami", { credential: bob }))).toEqual([401, "credential_revoked"]);
    expect((await call("GET", "/api/whoami", { credential: shownKey(rolled.body) })).status).toBe(200);
    const ended = await visitor.send("/console/operators/1/end", { danger: "yes", leaked: "no" });
    expect(ended.status).toBe(303);
    expect((await visitor.get("/console/operators")).headers.get("Location")).toContain("/console/sign-in");
  });
});

describe("environments", () => {
  it("are searched, and created with their first key", async () => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    await issueKey({ workspace: "globex" });
    const found = await visitor.get("/console/environments?search=LOB");
    expect(found.body.match(/aria-label="\w+\/Testing"/g)).toEqual(['aria-label="globex/Testing"']);
    const form = { workspace: "initech", environment: "untagged", name: "backend", preset: "write", operator_key };
    const created = await visitor.send("/console/environments/create", form);
    expect(await lists(shownKey(created.body))).toBe(200);
    expect(created.body).toContain('href="/console/environments/initech/untagged" aria-current');
    const again = await visitor.send("/console/environments/create", form);
    expect([again.status, again.body.includes("exists already")]).toEqual([422, true]);
    const wrong = await visitor.send("/console/environments/create", { ...form, workspace: "Initech!" });
    expect([wrong.status, wrong.body.includes("#field-workspace")]).toEqual([422, true]);
  });

  it("are erased with their name typed and the operator's key, and by admins alone", async () => {
    const { visitor, operatorKey, key } = await newVisitor();
    const path = `${ENVIRONMENT}/erase`;
    for (const [confirmation, operator_key] of [
      ["acme", operatorKey],
      ["acme/Testing", ""],
      ["acme/Testing", key],
    ] as const)
      expect((await visitor.send(path, { confirmation, operator_key })).status).toBe(422);
    expect(await lists(key)).toBe(200);
    const fields = { confirmation: "acme/Testing", operator_key: operatorKey, reason: "contract ended" };
    const support = await signIn(await issueOperator("support"));
    expect((await support.forge(path, fields)).status).toBe(403);
    expect((await visitor.send(path, fields)).status).toBe(303);
    expect(await lists(key)).toBe(401);
    expect((await visitor.get(ENVIRONMENT)).status).toBe(404);
    const [event] = await eventsOf("?type=environment.erased");
    expect(event).toMatchObject({ actor: { name: "ada admin" }, reason: "contract ended" });
  });
});
