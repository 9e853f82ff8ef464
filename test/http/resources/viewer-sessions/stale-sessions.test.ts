import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { COLUMNS, GROUP_FIELDS } from "../../../../common/content.ts";
import { call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { forgedSession } from "../../../support/forged.ts";
import { bearer, claimsIn, mint, sessionOf, setSuspended } from "../../../support/sessions.ts";
import { newIntegrator } from "../../../support/states.ts";
import { answeredBy, view } from "../../../support/viewers.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const setSeconds = (seconds: number) => vi.setSystemTime(NOW.getTime() + seconds * 1000);

/** A group with everything that a view shows, and a session that may answer for so many seconds. */
async function start(maxStaleSeconds: number, fields: object = {}) {
  const integrator = await newIntegrator();
  const { key, tokenOf } = integrator;
  await tokenOf("acme", { name: "Acme", properties: { region: "eu", 2: [1, null] }, mapping: { s: "d" } });
  const session = await sessionOf(key, { max_stale_seconds: maxStaleSeconds, expires_in_seconds: 3600, ...fields });
  return { ...integrator, session };
}

const bind = (session: string, headers: Record<string, string> = {}, callEnv?: Env) =>
  call("POST", "/api/viewer/query", {
    credential: session,
    headers,
    body: { sql: "{{user_group.region}} [[AND v = {{viewer_id}}]]" },
    ...(callEnv && { env: callEnv }),
  });

describe("a session with max_stale_seconds", () => {
  it("answers as the directory would, with its age, and costs no RPC and no KV", async () => {
    const { session } = await start(60, { viewer_id: "ann", viewer_properties: { store: 7 } });
    const fresh = await view(session, { "Cache-Control": "no-cache" });
    const { watched, costs } = watchedEnv();
    setSeconds(59);
    const stale = await view(session, {}, watched);
    expect([answeredBy(fresh), answeredBy(stale), stale.headers.get("Age")]).toEqual(["directory", "session", "59"]);
    expect(JSON.stringify(stale.body)).toBe(JSON.stringify(fresh.body));
    const bound = await bind(session, {}, watched);
    expect([answeredBy(bound), bound.body]).toEqual([
      "session",
      { success: 1, audience: "acme/Testing", sql: "? AND v = ?", params: ["eu", "ann"], dropped: [] },
    ]);
    expect(costs).toEqual({ rpcs: [], kv: [] });
  });

  it.for([
    [0, 60, {}, "session"],
    [60, 60, {}, "session"],
    [60.001, 60, {}, "directory"],
    [61, 60, {}, "directory"],
    [300, 300, {}, "session"],
    [301, 300, {}, "directory"],
    [3599, 300, {}, "directory"],
    [0, 0, {}, "directory"],
    [10, 60, { "Cache-Control": "no-cache" }, "directory"],
    [10, 60, { "Cache-Control": "no-store" }, "directory"],
    [10, 60, { "Cache-Control": "max-age=0" }, "directory"],
    [10, 60, { "Cache-Control": "max-age=9" }, "directory"],
    [10, 60, { "Cache-Control": "max-age=10" }, "session"],
    [10, 60, { "Cache-Control": "max-age=3600" }, "session"],
    [61, 60, { "Cache-Control": "max-age=3600" }, "directory"],
    [10, 60, { "Cache-Control": "max-age=3600, max-age=5" }, "directory"],
    [10, 60, { "Cache-Control": "max-age=x" }, "directory"],
    [10, 60, { "Cache-Control": "=" }, "directory"],
    [10, 60, { "Cache-Control": "public" }, "session"],
    [-5, 60, {}, "session"],
    [-5.001, 60, {}, "directory"],
  ] as const)("after %d s of %d s, with %j, is answered by the %s", async ([at, max, headers, by]) => {
    const { session } = await start(max);
    setSeconds(at);
    const { watched, costs } = watchedEnv();
    const answer = await view(session, headers, watched);
    expect([answer.status, answeredBy(answer), costs.rpcs.length]).toEqual([200, by, by === "directory" ? 1 : 0]);
  });

  it("answers for no longer when its time is over, whatever the page sends", async () => {
    const { session } = await start(300, { expires_in_seconds: 60 });
    setSeconds(59);
    expect((await view(session)).status).toBe(200);
    setSeconds(60);
    for (const value of ["", "max-age=3600", "no-cache", "only-if-cached"])
      expect(codeOf(await view(session, value === "" ? {} : { "Cache-Control": value }))).toEqual([
        401,
        "credential_expired",
      ]);
  });

  it("still obeys its origins", async () => {
    const { session } = await start(60, { origins: ["https://app.example.com"] });
    expect((await view(session, { Origin: "https://app.example.com" })).status).toBe(200);
    expect(codeOf(await view(session, { Origin: "https://evil.example" }))).toEqual([403, "origin_not_allowed"]);
  });

  it("shows no change before its time, and each one after it or with no-cache", async () => {
    const { key, session, put } = await start(30);
    await put({ user_group_id: "acme", name: "Renamed" });
    await setSuspended(key, true);
    setSeconds(30);
    expect((await view(session)).body.user_group.name).toBe("Acme");
    expect(codeOf(await view(session, { "Cache-Control": "no-cache" }))).toEqual([403, "user_group_suspended"]);
    setSeconds(31);
    expect(codeOf(await view(session))).toEqual([403, "user_group_suspended"]);
  });

  it("never answers who it is", async () => {
    const { session } = await start(300);
    const { watched, costs } = watchedEnv();
    const { status } = await call("GET", "/api/whoami", { headers: bearer(session), env: watched });
    expect([status, costs.rpcs]).toEqual([200, ["viewSession"]]);
  });

  it("says how stale it may be, and begins at the directory's time", async () => {
    const { key } = await start(0);
    const minted = await mint(key, { max_stale_seconds: 300 });
    expect(minted.body.session).toMatchObject({ max_stale_seconds: 300, expires_in_seconds: 300 });
    expect(claimsIn(minted.body.session.token)).toMatchObject({
      iat: Math.floor(NOW.getTime() / 1000),
      max_stale_seconds: 300,
      group: { name: "Acme", properties: { region: "eu", 2: [1, null] }, mapping: { s: "d" } },
    });
    const plain = (await mint(key)).body.session;
    expect(plain.max_stale_seconds).toBe(0);
    expect(Object.keys(claimsIn(plain.token))).not.toContain("group");
  });

  it("is minted without, if it would be too long for a header", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme", { properties: { text: "x".repeat(8000) } });
    const { status, body } = await mint(key, { max_stale_seconds: 60 });
    expect([status, body.session.max_stale_seconds]).toEqual([201, 0]);
    expect(body.session.token.length).toBeLessThanOrEqual(8000);
    expect(answeredBy(await view(body.session.token))).toBe("directory");
  });

  it.for([-1, 301, 1.5, "60", null])("is refused with %j", async (value) => {
    const { key } = await start(0);
    expect(codeOf(await mint(key, { max_stale_seconds: value }))).toEqual([422, "invalid_body"]);
  });
});

describe("a session of the next release", () => {
  it("answers for itself, without the claims and fields that it has in addition", async () => {
    const { session } = await start(60);
    const claims = claimsIn(session);
    const next = { ...claims, ug_colour: "red", group: { ...(claims.group as object), colour: "red" } };
    const seen = await view(await forgedSession(next));
    expect([answeredBy(seen), seen.body]).toEqual(["session", (await view(session)).body]);
    const asked = await call("GET", "/api/whoami", { headers: bearer(await forgedSession(next)) });
    expect(asked.status).toBe(200);
  });

  it.for(GROUP_FIELDS)("without the %s is answered by the directory, and ends as others do", async (field) => {
    const { key, session } = await start(60);
    const { [COLUMNS[field]]: _, ...group } = claimsIn(session).group as Record<string, unknown>;
    const next = await forgedSession({ ...claimsIn(session), group });
    const seen = await view(next);
    expect([answeredBy(seen), seen.body]).toEqual(["directory", (await view(session)).body]);
    await setSuspended(key, true);
    expect(codeOf(await view(next))).toEqual([403, "user_group_suspended"]);
  });
});

describe("a session that was verified before", () => {
  it("admits no forged one that shares its beginning", async () => {
    const { session } = await start(60);
    expect((await view(session)).status).toBe(200);
    const [header = "", payload = "", signature = ""] = session.split(".");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
    const forge = (changes: object) =>
      new TextEncoder()
        .encode(JSON.stringify({ ...claims, ...changes }))
        .toBase64({ alphabet: "base64url", omitPadding: true });
    for (const forged of [
      `${header}.${forge({ sub: "globex", team_id: 2 })}.${signature}`,
      `${header}.${forge({ max_stale_seconds: 300 })}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -2)}AA`,
    ])
      expect(codeOf(await view(forged))).toEqual([401, "unauthenticated"]);
    expect((await view(session)).status).toBe(200);
  });
});
