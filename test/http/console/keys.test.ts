import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { call, codeOf } from "../../support/client.ts";
import { NOW } from "../../support/clock.ts";
import { signIn, visit } from "../../support/console.ts";
import { CREDENTIAL_PATTERN } from "../../support/credential-pattern.ts";
import { logLines } from "../../support/each-test.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";
import { inDirectory } from "../../support/storage.ts";

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
  it("stand out on the environment's page when nobody used them for 90 days, from their creation", async ({
    expect,
  }) => {
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

  it("are issued with preset or chosen scopes, and shown once", async ({ expect }) => {
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

  it("are refused with the fields that are wrong", async ({ expect }) => {
    const { visitor } = await newVisitor();
    const nothing = await visitor.send(`${KEYS}/issue`, { name: " ", preset: "chosen" });
    expect(nothing.status).toBe(422);
    for (const field of ["name", "preset"]) expect(nothing.body).toContain(`href="#field-${field}"`);
    expect(nothing.body).toContain("Tick at least one scope.");
  });

  it("are issued for sessions alone and a year, if nobody chooses otherwise", async ({ expect }) => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const { body: page } = await visitor.get(`${KEYS}/issue`);
    const [, preset = ""] = /name="preset" value="(\w+)" checked/.exec(page) ?? [];
    const [, expires_in_seconds = ""] = /<option value="(\d*)" selected/.exec(page) ?? [];
    const issued = await visitor.send(`${KEYS}/issue`, { name: "page", preset, expires_in_seconds, operator_key });
    const { caller } = (await call("GET", "/api/whoami", { credential: shownKey(issued.body) })).body;
    expect(caller.scopes).toEqual(["sessions:create"]);
    expect(Math.round((Date.parse(caller.expires_at) - Date.now()) / 86_400_000)).toBe(365);
  });

  it("are not issued with ticks that the choice would ignore", async ({ expect }) => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    for (const preset of ["sessions", "read", "mirror", "write"]) {
      const fields = { name: "backend", preset, scope: "groups:read", operator_key };
      const { status, body } = await visitor.send(`${KEYS}/issue`, fields);
      expect([preset, status, body.includes('href="#field-preset"')]).toEqual([preset, 422, true]);
      expect(body).not.toMatch(CREDENTIAL_PATTERN);
    }
  });

  it("name their successor, and stand out when they end soon", async ({ expect }) => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const rolled = await visitor.send(`${KEYS}/1/roll`, { grace_seconds: "3600", reason: "yearly", operator_key });
    expect(rolled.body).toMatch(/<dt>Replaces<\/dt><dd><a href="[^"]+\/keys\/1\/about">number 1<\/a>, which ends/);
    const list = await visitor.get(KEYS);
    expect(list.body).toMatch(/data-state="soon">ends .*replaced by <a href="[^"]+\/keys\/2\/about">number 2</);
    expect((await visitor.get(`${KEYS}/1/about`)).body).toMatch(/Rolled <time.*ada admin.*yearly/);
  });

  it("are revoked with their name typed, and rolled with a grace", async ({ expect }) => {
    const { visitor, key, operatorKey } = await newVisitor();
    const rolled = await visitor.send(`${KEYS}/1/roll`, { grace_seconds: "3600", operator_key: operatorKey });
    expect(await lists(shownKey(rolled.body))).toBe(200);
    expect(await lists(key)).toBe(200);
    expect((await visitor.send(`${KEYS}/1/revoke`, { confirmation: "2" })).status).toBe(422);
    expect(await lists(key)).toBe(200);
    const name = /Type ([\w ]+) to confirm/.exec((await visitor.get(`${KEYS}/1/revoke`)).body)?.[1] ?? "";
    expect((await visitor.send(`${KEYS}/1/revoke`, { confirmation: name, reason: "leaked" })).status).toBe(303);
    expect(await lists(key)).toBe(401);
    expect((await visitor.get(`${KEYS}/99/revoke`)).status).toBe(404);
  });

  it("are not offered to be changed by others than admins", async ({ expect }) => {
    const { visitor } = await newVisitor("support");
    const list = await visitor.get(KEYS);
    expect(list.status).toBe(200);
    expect(list.body).not.toMatch(/\/(?:issue|roll|revoke)"/);
  });
});

describe("the search of a key", () => {
  it("names the key of a beginning or of a whole text, and what it lacks", async ({ expect }) => {
    const { visitor, key, tokenOf } = await newVisitor();
    const token = await tokenOf("acme");
    const ask = async (text: string) => (await visitor.send("/console/search", { text })).body;
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

  it("says of a whole key that no signing key verifies it", async ({ expect }) => {
    const { visitor, key } = await newVisitor();
    const ask = async (text: string) => (await visitor.send("/console/search", { text })).body;
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

  it("finds operators, and keys of environments that are gone", async ({ expect }) => {
    const { visitor, operatorKey, key } = await newVisitor("viewer");
    const ask = async (text: string) => (await visitor.send("/console/search", { text })).body;
    expect(await ask(operatorKey)).toMatch(/the deployment.*ada viewer.*valid/s);
    await call("DELETE", `/api/environments${inEnvironment()}&confirm=acme/Testing`, {
      credential: operator,
      body: {},
    });
    expect(await ask(key)).toContain("does not exist");
  });
});

describe("operators", () => {
  it("are issued with any role", async ({ expect }) => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    for (const [index, role] of ["viewer", "admin"].entries()) {
      const issued = await visitor.send("/console/operators/issue", { name: "bob", role, operator_key });
      expect(logLines.at(-1)).toMatchObject({ operator: "ada admin", subject_operator_id: 2 + index });
      expect((await call("GET", "/api/whoami", { credential: shownKey(issued.body) })).body.caller.role).toBe(role);
    }
    expect((await visitor.get("/console/operators")).body).not.toMatch(CREDENTIAL_PATTERN);
  });

  it("are rolled and revoked by admins, also in their own session", async ({ expect }) => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    const bob = await issueOperator("support", { name: "bob" });
    const warnings = [1, 2].map(async (id) =>
      (await visitor.get(`/console/operators/${id}/revoke`)).body.includes("If no other admin is left"),
    );
    expect(await Promise.all(warnings)).toEqual([true, false]);
    const rolled = await visitor.send("/console/operators/2/roll", { grace_seconds: "0", operator_key });
    expect(codeOf(await call("GET", "/api/whoami", { credential: bob }))).toEqual([401, "credential_revoked"]);
    expect((await call("GET", "/api/whoami", { credential: shownKey(rolled.body) })).status).toBe(200);
    expect((await visitor.send("/console/operators/1/revoke", { confirmation: "" })).status).toBe(422);
    expect((await visitor.send("/console/operators/1/revoke", { confirmation: "ada admin" })).status).toBe(303);
    expect((await visitor.get("/console/operators")).headers.get("Location")).toContain("/console/sign-in");
  });
});

describe("environments", () => {
  it("are searched, and created with their first key", async ({ expect }) => {
    const { visitor, operatorKey: operator_key } = await newVisitor();
    await issueKey({ workspace: "globex" });
    const found = await visitor.get("/console/environments?search=LOB");
    expect([found.body.includes(">globex/Testing</a></td>"), found.body.includes(">acme/Testing</a></td>")]).toEqual([
      true,
      false,
    ]);
    const form = { workspace: "initech", environment: "untagged", name: "backend", preset: "write", operator_key };
    const created = await visitor.send("/console/environments/create", form);
    expect(await lists(shownKey(created.body))).toBe(200);
    expect(created.body).toContain('href="/console/environments/initech/untagged" aria-current');
    const again = await visitor.send("/console/environments/create", form);
    expect([again.status, again.body.includes("exists already")]).toEqual([422, true]);
    const wrong = await visitor.send("/console/environments/create", { ...form, workspace: "Initech!" });
    expect([wrong.status, wrong.body.includes("#field-workspace")]).toEqual([422, true]);
  });

  it("are erased with their name typed and the operator's key, and by admins alone", async ({ expect }) => {
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

describe("events", () => {
  it("are shown newest first, filtered and paged by the URL", async ({ expect }) => {
    const { visitor, tokenOf, key } = await newVisitor("viewer");
    for (let n = 0; n < 60; n += 1) await tokenOf(`g${n}`);
    await call("PUT", "/api/user_groups/8", { credential: key, body: { suspended: true, reason: "unpaid" } });
    const page = await visitor.get(`${ENVIRONMENT}/events`);
    expect(page.body.indexOf("<b>Group suspended</b>")).toBeLessThan(page.body.indexOf("<b>Group created</b>"));
    expect(page.body).toMatch(
      /Group suspended<\/b> <a href="[^"]+\/groups\/8"><bdi>g7<.*the API key <a href="[^"]+\/keys\/1\/about">.*unpaid/,
    );
    const [, next = ""] = /href="([^"]+)" rel="next"/.exec(page.body) ?? [];
    const second = await visitor.get(next.replaceAll("&amp;", "&"));
    expect(second.body).toContain("<b>API key issued</b>");
    const filtered = await visitor.get(
      `${ENVIRONMENT}/events?type=user_group.suspended&actor=api_key:1&user_group_id=g7&since=`,
    );
    expect(filtered.body.match(/<b>[\w ]+<\/b>/g)).toEqual(["<b>Group suspended</b>"]);
    const wrong = await visitor.get(`${ENVIRONMENT}/events?actor=nobody&since=yesterday`);
    expect([wrong.status, wrong.body.includes("#field-actor"), wrong.body.includes("#field-since")]).toEqual([
      422,
      true,
      true,
    ]);
    const deployment = await visitor.get("/console/events?type=environment.created");
    expect(deployment.body.match(/<b>Environment created<\/b>/g)).toHaveLength(1);
  });

  it("are filtered by days in UTC, of which the last one counts", async ({ expect }) => {
    const { visitor, tokenOf } = await newVisitor("viewer");
    await tokenOf("acme");
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const countOf = async (query: string) =>
      (await visitor.get(`${ENVIRONMENT}/events?${query}`)).body.match(/<b>/g)?.length ?? 0;
    expect(await countOf(`since=${day(-1)}&until=${day(0)}`)).toBeGreaterThan(1);
    expect([await countOf(`until=${day(-1)}`), await countOf(`since=${day(1)}`)]).toEqual([0, 0]);
  });

  it("of one group are found behind a thousand others, from the group's page on", async ({ expect }) => {
    const { visitor, tokenOf, put } = await newVisitor("viewer");
    await tokenOf("acme");
    await addEventsOfOthers(1500);
    await put({ user_group_id: "acme", name: "Acme" });
    for (const path of [`${ENVIRONMENT}/groups/1`, `${ENVIRONMENT}/groups/1/events`]) {
      const { body } = await visitor.get(path);
      expect([path, body.match(/<b>(?:Changed|Created)<\/b>/g)]).toEqual([path, ["<b>Changed</b>", "<b>Created</b>"]]);
    }
  });

  it("are searched on by the page itself, over thousands that the filter leaves out", async ({ expect }) => {
    const { visitor, tokenOf } = await newVisitor("viewer");
    await tokenOf("acme");
    await addEventsOfOthers(5500);
    const { body } = await visitor.get(`${ENVIRONMENT}/events?user_group_id=acme`);
    expect([body.match(/<b>Group created<\/b>/g), body.includes('rel="next"')]).toEqual([
      ["<b>Group created</b>"],
      false,
    ]);
  });

  it("that take too long to search end with the day up to which they were searched, and a link onward", async ({
    expect,
  }) => {
    const { visitor, tokenOf, put } = await newVisitor("viewer");
    await tokenOf("acme");
    await addEventsOfOthers(5500);
    await put({ user_group_id: "acme", name: "Acme" });
    let now = Date.now();
    // Each look at the clock takes a second.
    vi.spyOn(Date, "now").mockImplementation(() => {
      now += 1000;
      return now;
    });
    let path = `${ENVIRONMENT}/events?user_group_id=acme`;
    const found: string[][] = [];
    for (let pages = 0; path !== ""; pages += 1) {
      expect(pages).toBeLessThan(6);
      const { body } = await visitor.get(path);
      found.push((body.match(/<b>Group (?:changed|created)<\/b>/g) ?? []).map(String));
      path = (/href="([^"]+)" rel="next"/.exec(body)?.[1] ?? "").replaceAll("&amp;", "&");
      expect(/[Ss]earched back to/.test(body)).toBe(path !== "");
    }
    expect(found.length).toBeGreaterThan(1);
    expect(found.flat()).toEqual(["<b>Group changed</b>", "<b>Group created</b>"]);
  });
});

/** Adds events of another group to the feed, newer than those that are there. */
const addEventsOfOthers = (count: number) =>
  inDirectory(({ sql }) => {
    for (let n = 0; n < count; n += 1)
      sql.exec(
        `INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
          SELECT at, type, actor, request_id, 99, 'other', details FROM events WHERE team_id = 1 LIMIT 1`,
      );
    sql.exec("UPDATE feed SET last_id = (SELECT max(id) FROM events)");
  });
