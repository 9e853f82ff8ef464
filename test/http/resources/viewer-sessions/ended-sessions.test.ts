import { evictAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ENDED_SESSIONS_MAX } from "../../../../common/limits.ts";
import { byNumber } from "../../../support/by-number.ts";
import { type Answer, call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { bearer, claimsIn, sessionOf, setSuspended } from "../../../support/sessions.ts";
import { issueKey, newIntegrator, withKey } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { view } from "../../../support/viewers.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});
const setMinutes = (minutes: number) => vi.setSystemTime(NOW.getTime() + minutes * 60_000);

const end = (credential: string, body: object, query = ""): Promise<Answer> =>
  call("POST", `/api/viewer_sessions/end${query}`, { credential, body });

/** An integrator with the group acme, its token, and its events of ended sessions. */
async function start() {
  const integrator = await newIntegrator();
  const { key, tokenOf } = integrator;
  const token = await tokenOf("acme");
  const sessions = (fields: object = {}) => sessionOf(key, { expires_in_seconds: 3600, ...fields });
  const events = async () =>
    (await call("GET", "/api/events?type=viewer_sessions.ended", { credential: key })).body.events;
  return { ...integrator, token, sessions, events };
}

const REVOKED = [401, "credential_revoked"];

describe("POST /api/viewer_sessions/end", () => {
  it("ends one session at once, and no other", async () => {
    const { key, sessions, token, events } = await start();
    const [session, other] = [await sessions({ viewer_id: "ann" }), await sessions({ viewer_id: "ann" })];
    expect((await end(key, { session, reason: "signed out" })).body).toEqual({ success: 1 });
    expect(codeOf(await view(session))).toEqual(REVOKED);
    expect(codeOf(await call("GET", "/api/whoami", { headers: bearer(session) }))).toEqual(REVOKED);
    expect((await view(other)).status).toBe(200);
    expect((await view(token)).status).toBe(200);
    expect(await events()).toEqual([
      expect.objectContaining({
        type: "viewer_sessions.ended",
        user_group: { team_id: 1, provided_id: "acme" },
        session_id: claimsIn(session).jti,
        reason: "signed out",
      }),
    ]);
  });

  it("ends the sessions of one person, and none that is minted later", async () => {
    const { key, sessions, tokenOf, events } = await start();
    await tokenOf("globex");
    const ann = [await sessions({ viewer_id: "ann" }), await sessions({ viewer_id: "ann" })];
    const others = [
      await sessions({ viewer_id: "bob" }),
      await sessions(),
      await sessions({ user_group_id: "globex", viewer_id: "ann" }),
    ];
    await end(key, { user_group_id: "acme", viewer_id: "ann" });
    // In the same millisecond.
    const later = await sessions({ viewer_id: "ann" });
    for (const session of ann) expect(codeOf(await view(session))).toEqual(REVOKED);
    for (const session of [...others, later]) expect((await view(session)).status).toBe(200);
    expect(await events()).toMatchObject([{ viewer_id: "ann" }]);
    await end(key, { user_group_id: "acme", viewer_id: "ann" });
    expect(codeOf(await view(later))).toEqual(REVOKED);
  });

  it("ends the sessions of a person that were minted after a change which could not be stored", async () => {
    const { key, sessions, token, rotate } = await start();
    const full = "SELECT RAISE(ABORT, 'no room')";
    await inDirectory(({ sql }) =>
      sql.exec(`CREATE TRIGGER full BEFORE INSERT ON stored_responses BEGIN ${full}; END`),
    );
    expect((await rotate(token, {}, withKey("k"))).status).toBe(500);
    await inDirectory(({ sql }) => sql.exec("DROP TRIGGER full"));
    const session = await sessions({ viewer_id: "ann" });
    await evictAllDurableObjects();
    await end(key, { user_group_id: "acme", viewer_id: "ann" });
    expect(codeOf(await view(session))).toEqual(REVOKED);
  });

  it("ends all sessions of a group, and none of its tokens, also in grace", async () => {
    const { key, sessions, token, tokenOf, rotate } = await start();
    const before = await sessions();
    const current = (await rotate(token, { grace_seconds: 600 })).body.user_group.token;
    const session = await sessions();
    const other = await sessions({ user_group_id: (await tokenOf("globex")) && "globex" });
    const etag = (await call("GET", "/api/user_groups/1", { credential: key })).headers.get("ETag");
    expect((await end(key, { user_group_id: "acme" })).status).toBe(200);
    for (const ended of [before, session]) expect(codeOf(await view(ended))).toEqual(REVOKED);
    for (const works of [token, current, other, await sessions()]) expect((await view(works)).status).toBe(200);
    expect((await call("GET", "/api/user_groups/1", { credential: key })).headers.get("ETag")).toBe(etag);
  });

  it("names the group by its number, with a person or without", async () => {
    const { key, sessions, events } = await start();
    const [anns, bobs] = [await sessions({ viewer_id: "ann" }), await sessions({ viewer_id: "bob" })];
    expect((await end(key, { team_id: 1, viewer_id: "ann" })).status).toBe(200);
    expect([(await view(anns)).status, (await view(bobs)).status]).toEqual([401, 200]);
    expect((await end(key, { team_id: 1 })).status).toBe(200);
    expect((await view(bobs)).status).toBe(401);
    expect(await events()).toHaveLength(2);
    expect(codeOf(await end(key, { team_id: 7 }))).toEqual([404, "user_group_not_found"]);
  });

  it("leaves what has ended as it is, without an event", async () => {
    const { key, sessions, events } = await start();
    const ended = await sessions();
    await end(key, { session: ended });
    expect((await end(key, { session: ended })).status).toBe(200);
    const expired = await sessions({ expires_in_seconds: 60 });
    const rotatedAway = await sessions();
    setMinutes(2);
    expect((await end(key, { session: expired })).status).toBe(200);
    await end(key, { user_group_id: "acme" });
    expect((await end(key, { session: rotatedAway })).status).toBe(200);
    expect(await events()).toHaveLength(2);
  });

  it.for([
    ["nothing", {}],
    ["a viewer without a group", { viewer_id: "ann" }],
    ["a session and a group", { session: "x", user_group_id: "acme" }],
    ["a session and a number", { session: "x", team_id: 1 }],
    ["an id and a number", { user_group_id: "acme", team_id: 1 }],
    ["a number that no group has", { team_id: 0 }],
    ["a session and a viewer", { session: "x", viewer_id: "ann" }],
    ["a field that there is not", { user_group_id: "acme", all: true }],
    ["an empty viewer", { user_group_id: "acme", viewer_id: "" }],
    ["an empty reason", { user_group_id: "acme", reason: "" }],
    ["a long reason", { user_group_id: "acme", reason: "x".repeat(256) }],
    ["a text that is no session", { session: "eyJhbGciOiJFUzI1NiJ9.e30.c2ln" }],
  ] as const)("refuses %s", async ([, body]) => {
    const { key, events } = await start();
    expect(codeOf(await end(key, body))).toEqual([422, "invalid_body"]);
    expect(await events()).toEqual([]);
  });

  it("refuses a forged session, one of another environment, and an unknown group", async () => {
    const { key, sessions } = await start();
    const session = await sessions();
    const foreign = await issueKey({ workspace: "globex" });
    const forged = `${session.slice(0, -4)}AAAA`;
    expect(codeOf(await end(foreign, { session }))).toEqual([422, "invalid_body"]);
    expect((await end(key, { session: forged })).body.error.issues).toEqual([
      { path: ["session"], message: expect.stringContaining("in this environment") },
    ]);
    expect((await view(session)).status).toBe(200);
    for (const person of [{}, { viewer_id: "ann" }])
      expect(codeOf(await end(key, { user_group_id: "unknown", ...person }))).toEqual([404, "user_group_not_found"]);
  });

  it("ends no answer of a session that may be stale, and each after that time", async () => {
    const { key, sessions } = await start();
    const session = await sessions({ max_stale_seconds: 60 });
    await end(key, { session });
    expect((await view(session)).headers.get("X-Answered-By")).toBe("session");
    expect(codeOf(await view(session, { "Cache-Control": "no-cache" }))).toEqual(REVOKED);
    setMinutes(1.1);
    expect(codeOf(await view(session))).toEqual(REVOKED);
  });

  it("ends more than was asked for when no more ends can be stored, and the event says so", async () => {
    const { key, sessions, token, events } = await start();
    const ann = [await sessions({ viewer_id: "ann" }), await sessions({ viewer_id: "ann" })];
    const [bob, nobody] = [await sessions({ viewer_id: "bob" }), await sessions()];
    await end(key, { user_group_id: "acme", viewer_id: "ann" });
    const later = [await sessions({ viewer_id: "ann" }), await sessions({ viewer_id: "ann" })];
    await inDirectory(({ sql }) =>
      sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ENDED_SESSIONS_MAX})
        INSERT INTO ended_sessions (id, name, ended_at) SELECT -i, 'filler ' || i, 0 FROM n`,
      ),
    );
    await evictAllDurableObjects();

    // The end of ann's sessions is stored already, so it takes the place of the earlier one.
    await end(key, { session: later[0] });
    expect((await events()).at(-1)).toMatchObject({ viewer_id: "ann" });
    for (const session of [...ann, ...later]) expect(codeOf(await view(session))).toEqual(REVOKED);
    expect((await view(bob)).status).toBe(200);

    await end(key, { session: bob });
    const event = (await events()).at(-1);
    expect(event).toMatchObject({ type: "viewer_sessions.ended", user_group: { team_id: 1 } });
    expect(Object.keys(event)).not.toContain("viewer_id");
    for (const session of [bob, nobody]) expect(codeOf(await view(session))).toEqual(REVOKED);
    expect((await view(token)).status).toBe(200);
  });

  it("a mint returns how long ago the sessions of its person were ended", async () => {
    const { key, sessions, token, tokenOf } = await start();
    await tokenOf("globex");
    const endedMsAgo = async (body: object) => {
      const answer = await call("POST", "/api/viewer_sessions", { credential: key, body });
      expect(answer.status).toBe(201);
      return answer.body.viewer_ended_ms_ago;
    };
    const ann = { user_group_id: "acme", viewer_id: "ann" };
    // None of these ends the sessions of a person.
    await end(key, { session: await sessions({ viewer_id: "ann" }) });
    await end(key, { user_group_id: "acme" });
    await call("POST", "/api/user", { credential: key, body: { current_token: token } });
    expect(await endedMsAgo(ann)).toBeNull();
    expect(await endedMsAgo({ user_group_id: "acme" })).toBeUndefined();

    await end(key, ann);
    expect(await endedMsAgo(ann)).toBe(0);
    vi.setSystemTime(NOW.getTime() + 2_500);
    expect(await endedMsAgo(ann)).toBe(2_500);
    expect(await endedMsAgo({ team_id: 1, viewer_id: "ann", max_stale_seconds: 60 })).toBe(2_500);
    expect(await endedMsAgo({ user_group_id: "globex", viewer_id: "ann" })).toBeNull();
    expect(await endedMsAgo({ user_group_id: "acme", viewer_id: "bob" })).toBeNull();
    expect(await endedMsAgo({ user_group_id: "acme" })).toBeUndefined();
    await end(key, ann);
    expect(await endedMsAgo(ann)).toBe(0);
    // A clock that was put back.
    vi.setSystemTime(NOW.getTime());
    expect(await endedMsAgo(ann)).toBe(0);
  });

  it("remembers an end for 65 minutes, when no session of that time lives", async () => {
    const { key, sessions } = await start();
    const session = await sessions({ viewer_id: "ann" });
    await end(key, { session });
    await end(key, { user_group_id: "acme", viewer_id: "ann" });
    const stub = env.GROUP_DIRECTORY.getByName("acme/Testing");
    const countAt = async (minutes: number) => {
      setMinutes(minutes);
      await runInDurableObject(stub, (directory) => directory.alarm());
      return inDirectory(({ sql }) => sql.exec("SELECT count(*) AS n FROM ended_sessions").one().n);
    };
    expect([await countAt(64.9), await countAt(65)]).toEqual([2, 0]);
    expect(codeOf(await view(session))).toEqual([401, "credential_expired"]);
  });
});

it.for<[string, (key: string) => Promise<Answer>, (key: string) => Promise<Answer>]>([
  ["deleted, and is restored", (key) => byNumber(key).remove(1), (key) => byNumber(key).restore(1)],
  ["suspended, and is resumed", (key) => setSuspended(key, true), (key) => setSuspended(key, false)],
])("an end stays in force when the session's group was %s", async ([, stop, goOn]) => {
  const { key, sessions } = await start();
  const [ended, open] = [await sessions(), await sessions()];
  await stop(key);
  expect((await end(key, { session: ended })).status).toBe(200);
  await goOn(key);
  expect(codeOf(await view(ended))).toEqual(REVOKED);
  expect((await view(open)).status).toBe(200);
});
