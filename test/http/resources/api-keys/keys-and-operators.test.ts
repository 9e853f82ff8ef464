import { describe, expect, it, vi } from "vitest";
import { type Answer, call, codeOf } from "../../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { operatorPath, ROUTES, type Route } from "../../../support/routes.ts";
import { inEnvironment, issueKey, operator } from "../../../support/states.ts";

const HOUR = 60 * 60 * 1000;
const NOW = new Date("2026-03-01T10:30:00.000Z");

/** The keys of integrators and of operators, to which the same rules apply. */
const KINDS = [
  {
    kind: "an API key",
    path: "/api/keys",
    query: inEnvironment(),
    item: "api_key",
    items: "api_keys",
    notFound: "api_key_not_found",
    fields: { workspace: "acme", environment: "Testing", name: "reports", access: "read" },
    shown: {
      workspace: "acme",
      environment: "Testing",
      name: "reports",
      access: "read",
      scopes: ["groups:read", "events:read"],
    },
    form: /^ugk_testing_[\w-]+$/,
    pathOf: ({ access, path }: Route) => access.scope && path,
  },
  {
    kind: "an operator's key",
    path: "/api/operators",
    query: "",
    item: "operator",
    items: "operators",
    notFound: "operator_not_found",
    fields: { name: "reports", role: "admin" },
    shown: { name: "reports", role: "admin", email: null, has_key: true },
    form: /^ugo_[\w-]{59,100}$/,
    pathOf: (route: Route) => route.access.role && operatorPath(route),
  },
] as const;

/** Stops the clock of the Worker and of the Durable Objects, which is moved by hand from there. */
function stopClock(): void {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
}

const use = (credential: string) => call("GET", "/api/whoami", { credential });

describe.for(KINDS)("$kind", ({ path, query, item, items, notFound, fields, shown, form, pathOf }) => {
  const manage = (method: string, of: string, body?: object): Promise<Answer> =>
    call(method, `${path}${of}${query}`, { credential: operator, body });
  const issue = (more: object = {}): Promise<Answer> =>
    call("POST", path, { credential: operator, body: { ...fields, ...more } });
  const revoke = (id: number | string) => manage("DELETE", `/${id}`);
  const roll = (body?: object, id: number | string = 1) => manage("POST", `/${id}/roll`, body);
  const list = async () => (await manage("GET", "")).body[items] ?? [];

  /** The codes of all calls that take such a key. */
  async function everyCall(credential: string): Promise<unknown[]> {
    const codes: unknown[] = [];
    for (const route of ROUTES) {
      const called = pathOf(route);
      if (called) codes.push((await call(route.method, called, { credential, body: route.body })).body.error?.code);
    }
    return [...new Set(codes)];
  }

  it.for([
    ["without a body", undefined],
    ["with an empty body", ""],
    ["with a body without any field", {}],
  ] as const)("is rolled %s", async ([, body]) => {
    await issue();
    const rolled = await call("POST", `${path}/1/roll${query}`, { credential: operator, body });
    expect([rolled.status, rolled.body[item].id]).toEqual([201, 2]);
  });

  it("is issued and shown this once", async () => {
    stopClock();
    const answer = await issue({ expires_in_seconds: 3600 });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      success: 1,
      [item]: {
        id: 1,
        ...shown,
        created_at: "2026-03-01T10:30:00.000Z",
        expires_at: "2026-03-01T11:30:00.000Z",
        last_used_at: null,
        revoked_at: null,
      },
      key: expect.stringMatching(form),
    });
    expect((await issue()).body[item].expires_at).toBeNull();
  });

  it("is listed without the key, oldest first, also when it has ended", async () => {
    const [one, two] = [await issue({ name: "one" }), await issue({ name: "two" })];
    await revoke(1);
    const { body } = await manage("GET", "");
    expect(body).toEqual({
      success: 1,
      [items]: [{ ...one.body[item], revoked_at: expect.any(String) }, two.body[item]],
      next_cursor: null,
    });
    expect(JSON.stringify(body)).not.toMatch(CREDENTIAL_PATTERN);
  });

  it.for([
    ["nothing", "", "Give a"],
    ["256 characters", "x".repeat(256), "Give a"],
    ["nothing but blanks", " \u00a0\u3000", "Give at least one visible character."],
    ["nothing but a Hangul filler", "\u3164", "Give at least one visible character."],
    ["nothing but blanks of Braille", "\u2800\u2800", "Give at least one visible character."],
    ["nothing but a variation selector", " \ufe0f", "Give at least one visible character."],
    ["nothing but a grapheme joiner", "\u034f\u2800 ", "Give at least one visible character."],
    ["a line break", "back\nend", "Leave out control characters"],
    ["U+0000", "a\u0000", "U+0000"],
    ["a C1 control", "back\u009bend", "Leave out control characters"],
    ["a bidi override", "back\u202eend", "Leave out characters that are not visible"],
    ["a bidi isolate", "back\u2066end", "Leave out characters that are not visible"],
    ["a zero-width space", "back\u200bend", "Leave out characters that are not visible"],
    ["a byte order mark", "\ufeffbackend", "Leave out characters that are not visible"],
    ["a tag character", "backend\u{e0041}", "Leave out characters that are not visible"],
    ["a line separator", "back\u2028end", "Leave out characters that are not visible"],
    ["a paragraph separator", "back\u2029end", "Leave out characters that are not visible"],
    ["a private-use character", "back\ue000end", "Leave out characters that are not visible"],
    ["half of a surrogate pair", "back\ud800end", ""],
  ] as const)("may not have a name with %s", async ([, name, message]) => {
    const answer = await issue({ name });
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(answer.body.error.issues[0]).toEqual({ path: ["name"], message: expect.stringContaining(message) });
    expect(await list()).toEqual([]);
  });

  it.for(["b", "Zoë's back-end (2)", "后端", "مفتاح", "🔑", "❤\ufe0f", "a\u3164"])(
    "may have the name %s",
    async (name) => {
      expect((await issue({ name })).body[item].name).toBe(name);
    },
  );

  it("is refused at every call once it is revoked", async () => {
    await issueKey();
    const { body } = await issue();
    expect(await revoke(body[item].id)).toMatchObject({ status: 200, body: { success: 1 } });
    expect(await everyCall(body.key)).toEqual(["credential_revoked"]);
  });

  it("is refused at every call from its expiry on", async () => {
    stopClock();
    await issueKey();
    const { key } = (await issue({ expires_in_seconds: 60 })).body;
    vi.setSystemTime(NOW.getTime() + 59_999);
    expect((await use(key)).status).toBe(200);
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(await everyCall(key)).toEqual(["credential_expired"]);
  });

  it("shows when it was last used, right to the hour, and not by calls that are refused", async () => {
    stopClock();
    const { key } = (await issue()).body;
    const lastUsedAfter = async (milliseconds: number) => {
      vi.setSystemTime(NOW.getTime() + milliseconds);
      await use(key);
      return Date.parse((await list())[0].last_used_at) - NOW.getTime();
    };
    expect(await lastUsedAfter(0)).toBe(0);
    expect(await lastUsedAfter(HOUR - 1)).toBe(0);
    expect(await lastUsedAfter(HOUR)).toBe(HOUR);
    expect(await lastUsedAfter(2 * HOUR - 1)).toBe(HOUR);
    await revoke(1);
    expect(await lastUsedAfter(3 * HOUR)).toBe(HOUR);
  });

  it("keeps the time of the first revocation, which touches no other", async () => {
    stopClock();
    await issue();
    const { key } = (await issue()).body;
    await revoke(1);
    vi.setSystemTime(NOW.getTime() + HOUR);
    expect((await revoke(1)).status).toBe(200);
    expect(await list()).toMatchObject([{ revoked_at: NOW.toISOString() }, { revoked_at: null }]);
    expect((await use(key)).status).toBe(200);
  });

  it.for(["2", "0", "-1", "01", "1.0", "0x1", "1e0", "acme", "9007199254740993"])(
    "is not revoked or rolled by the id %s",
    async (id) => {
      const { key } = (await issue()).body;
      for (const answer of [await revoke(id), await roll({}, id)]) expect(codeOf(answer)).toEqual([404, notFound]);
      expect((await use(key)).status).toBe(200);
    },
  );

  it("is rolled into one with the same name, rights and expiry, and ends", async () => {
    stopClock();
    const old = (await issue({ expires_in_seconds: 3600 })).body;
    vi.setSystemTime(NOW.getTime() + 1000);
    const rolled = await roll();
    expect(rolled.status).toBe(201);
    expect(rolled.body).toEqual({
      success: 1,
      [item]: { ...old[item], id: 2, created_at: "2026-03-01T10:30:01.000Z" },
      key: expect.stringMatching(form),
    });
    expect(codeOf(await use(old.key))).toEqual([401, "credential_revoked"]);
    expect((await use(rolled.body.key)).body.caller).toMatchObject({ id: 2, name: "reports" });
  });

  it("stays good for the grace of a roll, and no longer", async () => {
    stopClock();
    const old = (await issue()).body;
    const { key } = (await roll({ grace_seconds: 60 })).body;
    vi.setSystemTime(NOW.getTime() + 59_999);
    expect((await use(old.key)).status).toBe(200);
    expect((await list())[0].revoked_at).toBe("2026-03-01T10:31:00.000Z");
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await use(old.key))).toEqual([401, "credential_revoked"]);
    expect((await use(key)).status).toBe(200);
  });

  it("ends at its expiry in a longer grace", async () => {
    stopClock();
    const { key } = (await issue({ expires_in_seconds: 60 })).body;
    await roll({ grace_seconds: 604800 });
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await use(key))).toEqual([401, "credential_expired"]);
  });

  it("ends in its grace when it is revoked, and gets no longer one", async () => {
    stopClock();
    const old = (await issue()).body;
    const { key } = (await roll({ grace_seconds: 60 })).body;
    await roll({ grace_seconds: 600 });
    expect((await list())[0].revoked_at).toBe("2026-03-01T10:31:00.000Z");
    await revoke(1);
    expect(codeOf(await use(old.key))).toEqual([401, "credential_revoked"]);
    expect((await use(key)).status).toBe(200);
  });

  it("is not rolled when it has ended", async () => {
    stopClock();
    await issue({ expires_in_seconds: 60 });
    await issue();
    await revoke(2);
    vi.setSystemTime(NOW.getTime() + 60_000);
    for (const id of [1, 2]) expect(codeOf(await roll({}, id))).toEqual([404, notFound]);
    expect(await list()).toHaveLength(2);
  });

  it("is rolled by one of three calls at the same time", async () => {
    await issue();
    const answers = await Promise.all([1, 2, 3].map(() => roll({})));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 404, 404]);
  });

  it.for([{ grace_seconds: -1 }, { grace_seconds: 604801 }, { grace_seconds: "1" }, { name: "x" }])(
    "is not rolled with %o",
    async (body) => {
      await issue();
      expect(codeOf(await roll(body))).toEqual([422, "invalid_body"]);
      expect(await list()).toHaveLength(1);
    },
  );
});
