import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { limiter } from "../../../support/limiter.ts";
import { issueKey, newIntegrator, operator } from "../../../support/states.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const ACME = "?workspace=acme&environment=Testing";
const HOUR = 60 * 60 * 1000;
const NOW = new Date("2026-03-01T10:30:00.000Z");

const manage = (method: string, path: string, body?: object) => call(method, path, { credential: operator, body });
const issue = async (fields: object = {}) =>
  (await manage("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "backend", ...fields })).body;
const list = async (where = ACME) => (await manage("GET", `/api/keys${where}`)).body.api_keys;
const ensure = (key: string, id = "acme", callEnv = env) =>
  call("GET", "/api/user", { credential: key, body: { user_group_id: id }, env: callEnv });

/** Stops the clock of the Worker and of the directory, which is moved by hand from there. */
function stopClock(): void {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
}

describe("POST /api/keys", () => {
  it("issues a key and shows it this once", async ({ expect }) => {
    stopClock();
    const answer = await manage("POST", "/api/keys", {
      workspace: "acme",
      environment: null,
      name: "reports",
      access: "read",
      expires_in_seconds: 3600,
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      success: 1,
      api_key: {
        id: 1,
        workspace: "acme",
        environment: null,
        name: "reports",
        access: "read",
        scopes: ["groups:read", "events:read"],
        created_at: "2026-03-01T10:30:00.000Z",
        expires_at: "2026-03-01T11:30:00.000Z",
        last_used_at: null,
        revoked_at: null,
      },
      key: expect.stringMatching(/^ugk_untagged_[\w-]+$/),
    });
  });

  it("gives write access and no expiry where none is said", async ({ expect }) => {
    expect((await issue()).api_key).toMatchObject({ access: "write", expires_at: null });
  });
});

describe("the name of an API key", () => {
  const issueNamed = (name: string) => manage("POST", "/api/keys", { workspace: "acme", environment: "Testing", name });

  it.for([
    ["nothing but blanks", " \u00a0\u3000", "Give at least one visible character."],
    ["nothing but a Hangul filler", "\u3164", "Give at least one visible character."],
    ["nothing but blanks of Braille", "\u2800\u2800", "Give at least one visible character."],
    ["nothing but a variation selector", " \ufe0f", "Give at least one visible character."],
    ["a line break", "back\nend", "Leave out control characters"],
    ["a C1 control", "back\u009bend", "Leave out control characters"],
    ["a bidi override", "back\u202eend", "Leave out characters that are not visible"],
    ["a bidi isolate", "back\u2066end", "Leave out characters that are not visible"],
    ["a zero-width space", "back\u200bend", "Leave out characters that are not visible"],
    ["a byte order mark", "\ufeffbackend", "Leave out characters that are not visible"],
    ["a tag character", "backend\u{e0041}", "Leave out characters that are not visible"],
    ["a line separator", "back\u2028end", "Leave out characters that are not visible"],
    ["a paragraph separator", "back\u2029end", "Leave out characters that are not visible"],
    ["a private-use character", "back\ue000end", "Leave out characters that are not visible"],
  ] as const)("may not hold %s", async ([, name, message], { expect }) => {
    const { status, body } = await issueNamed(name);
    expect([status, body.error.code]).toEqual([422, "invalid_body"]);
    expect(body.error.issues).toEqual([{ path: ["name"], message: expect.stringContaining(message) }]);
    expect(codeOf(await manage("GET", `/api/keys${ACME}`))).toEqual([404, "environment_not_found"]);
  });

  it("may not hold half of a surrogate pair", async ({ expect }) => {
    const { status, body } = await issueNamed("back\ud800end");
    expect([status, body.error.code, body.error.issues[0].path]).toEqual([422, "invalid_body", ["name"]]);
  });

  it.for(["b", "Zoë's back-end (2)", "后端", "مفتاح", "🔑", "❤\ufe0f", "a\u3164"])(
    "may be %s",
    async (name, { expect }) => {
      expect((await issueNamed(name)).body.api_key.name).toBe(name);
    },
  );
});

describe("GET /api/keys", () => {
  it("lists the keys of one environment, and never a key", async ({ expect }) => {
    const one = await issue({ name: "one" });
    const two = await issue({ name: "two" });
    await issue({ name: "elsewhere", environment: "Customer" });
    const answer = await manage("GET", `/api/keys${ACME}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: 1, api_keys: [one.api_key, two.api_key], next_cursor: null });
  });

  it("reads untagged as the environment without a tag", async ({ expect }) => {
    const { api_key: apiKey } = await issue({ environment: null });
    expect(await list("?workspace=acme&environment=untagged")).toEqual([apiKey]);
  });

  it.for([
    ["?environment=Testing", "workspace"],
    ["?workspace=acme", "environment"],
    ["?workspace=acme&environment=null", "environment"],
    ["?workspace=acme&environment=testing", "environment"],
    ["?workspace=ACME&environment=Testing", "workspace"],
    [`${ACME}&page=2`, "page"],
    [`${ACME}&workspace=acme`, "workspace"],
  ] as const)("refuses the query %s, and so do DELETE and roll", async ([query, path], { expect }) => {
    await issue();
    for (const answer of [
      await manage("GET", `/api/keys${query}`),
      await manage("DELETE", `/api/keys/1${query}`),
      await manage("POST", `/api/keys/1/roll${query}`, {}),
    ])
      expect(answer).toMatchObject({
        status: 422,
        body: { error: { code: "invalid_body", issues: [{ path: [path] }] } },
      });
  });
});

describe("DELETE /api/keys/{id}", () => {
  it("revokes: from its answer on the key is refused at every call", async ({ expect }) => {
    const { key, get, put, rotate, remove, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const answer = await manage("DELETE", `/api/keys/1${ACME}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: 1 });
    for (const refused of [
      await get({ user_group_id: "acme" }),
      await get({ nonsense: true }),
      await put({ user_group_id: "acme" }),
      await rotate(token),
      await remove(token),
    ])
      expect(codeOf(refused)).toEqual([401, "credential_revoked"]);
    expect((await ensure(await issueKey())).body.user_group.token).toBe(token);
    expect(key).not.toBe("");
  });

  it("lets not one call of eight busy clients succeed after it was answered", async ({ expect }) => {
    for (let round = 1; round <= 2; round += 1) {
      const key = await issueKey({ workspace: `round-${round}` });
      let revokedAt = Number.POSITIVE_INFINITY;
      let turn = 0;
      const late: number[] = [];
      const client = async () => {
        for (let calls = 0; calls < 20; calls += 1) {
          turn += 1;
          const startedAt = turn;
          const { status } = await ensure(key, `group ${calls % 3}`);
          if (startedAt > revokedAt) late.push(status);
        }
      };
      const clients = Array.from({ length: 8 }, client);
      await ensure(key);
      await manage("DELETE", `/api/keys/1?workspace=round-${round}&environment=Testing`);
      revokedAt = turn;
      await Promise.all(clients);
      expect(late.length).toBeGreaterThan(0);
      expect(new Set(late)).toEqual(new Set([401]));
    }
  });

  it("keeps the time of the first revocation", async ({ expect }) => {
    stopClock();
    await issue();
    await manage("DELETE", `/api/keys/1${ACME}`);
    vi.setSystemTime(NOW.getTime() + HOUR);
    expect((await manage("DELETE", `/api/keys/1${ACME}`)).status).toBe(200);
    expect((await list())[0].revoked_at).toBe(NOW.toISOString());
  });

  it.for(["2", "0", "-1", "01", "1.0", "0x1", "1e0", "acme", "9007199254740993"])(
    "answers 404 api_key_not_found for the id %s, and so does roll",
    async (id, { expect }) => {
      const { key } = await issue();
      expect(codeOf(await manage("DELETE", `/api/keys/${id}${ACME}`))).toEqual([404, "api_key_not_found"]);
      expect(codeOf(await manage("POST", `/api/keys/${id}/roll${ACME}`, {}))).toEqual([404, "api_key_not_found"]);
      expect((await ensure(key)).status).toBe(200);
    },
  );

  it("touches no other environment's key of the same id", async ({ expect }) => {
    const { key } = await issue();
    await issue({ environment: "Customer" });
    await manage("DELETE", "/api/keys/1?workspace=acme&environment=Customer");
    expect((await ensure(key)).status).toBe(200);
  });
});

describe("a key with read access", () => {
  it("gets groups that exist without their token, and creates none", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const reader = await issueKey({ access: "read" });
    expect((await ensure(reader)).body).toEqual({
      success: 1,
      new_user_group: false,
      user_group: { team_id: 1, name: "acme", provided_id: "acme", properties: null },
    });
    expect(codeOf(await ensure(reader, "unknown"))).toEqual([404, "user_group_not_found"]);
    expect((await ensure(await issueKey(), "unknown")).body.new_user_group).toBe(true);
  });

  it("is shown no token by any call, idempotent repeats included", async ({ expect }) => {
    const { key, tokenOf } = await newIntegrator();
    const body = { current_token: await tokenOf("acme") };
    const headers = { "Idempotency-Key": "k" };
    const rotated = await call("POST", "/api/user", { credential: key, body, headers });
    expect(rotated.status).toBe(200);

    const credential = await issueKey({ access: "read" });
    const answers = [
      await ensure(credential),
      await call("GET", "/api/user_groups", { credential }),
      await call("GET", "/api/user_groups?user_group_id_prefix=a", { credential }),
      await call("PUT", "/api/user", { credential, body: { user_group_id: "acme" } }),
      await call("POST", "/api/user", { credential, body, headers }),
      await call("DELETE", "/api/user", { credential, body, headers }),
      await call("POST", "/api/user", { credential, body }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 403, 403, 403, 403]);
    for (const { body: answer } of answers) expect(JSON.stringify(answer)).not.toMatch(/"token"|ugt_/);
  });

  it("does nothing else: 403 insufficient_access, whatever the body", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    const current_token = await tokenOf("acme");
    const reader = await newIntegrator({ access: "read" });
    for (const answer of [
      await reader.put({ user_group_id: "acme", name: "x" }),
      await reader.put({ user_group_id: "unknown" }),
      await reader.put({ nonsense: true }),
      await reader.rotate(current_token),
      await reader.remove(current_token),
    ])
      expect(codeOf(answer)).toEqual([403, "insufficient_access"]);
    expect(await tokenOf("acme")).toBe(current_token);
  });
});

describe("a key that expires", () => {
  it("works until then, and is refused with credential_expired from then on", async ({ expect }) => {
    stopClock();
    const key = await issueKey({ expires_in_seconds: 60 });
    vi.setSystemTime(NOW.getTime() + 59_999);
    expect((await ensure(key)).status).toBe(200);
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await ensure(key))).toEqual([401, "credential_expired"]);
  });
});

describe("last_used_at", () => {
  it("is right to the hour, and written at most once in it", async ({ expect }) => {
    stopClock();
    const key = await issueKey();
    const lastUsedAfter = async (milliseconds: number) => {
      vi.setSystemTime(NOW.getTime() + milliseconds);
      await ensure(key);
      return Date.parse((await list())[0].last_used_at) - NOW.getTime();
    };
    expect(await lastUsedAfter(0)).toBe(0);
    expect(await lastUsedAfter(HOUR - 1)).toBe(0);
    expect(await lastUsedAfter(HOUR)).toBe(HOUR);
    expect(await lastUsedAfter(2 * HOUR - 1)).toBe(HOUR);
  });

  it("is not moved by calls that the key's judge refuses", async ({ expect }) => {
    const key = await issueKey();
    await manage("DELETE", `/api/keys/1${ACME}`);
    await ensure(key);
    expect((await list())[0].last_used_at).toBeNull();
  });
});

describe("POST /api/keys/{id}/roll", () => {
  const roll = (body?: object, id = 1) => manage("POST", `/api/keys/${id}/roll${ACME}`, body);

  it("issues a key with the same name, access and expiry, and ends the old one", async ({ expect }) => {
    stopClock();
    const old = await issue({ name: "reports", access: "read", expires_in_seconds: 3600 });
    vi.setSystemTime(NOW.getTime() + 1000);

    const rolled = await roll({});

    expect(rolled.status).toBe(201);
    expect(rolled.body).toEqual({
      success: 1,
      api_key: { ...old.api_key, id: 2, created_at: "2026-03-01T10:30:01.000Z" },
      key: expect.stringMatching(/^ugk_testing_/),
    });
    expect(codeOf(await ensure(old.key))).toEqual([401, "credential_revoked"]);
    expect(codeOf(await ensure(rolled.body.key))).toEqual([404, "user_group_not_found"]);
  });

  it("needs no body", async ({ expect }) => {
    await issue();
    expect((await roll()).status).toBe(201);
  });

  it("leaves the old key good for the grace, and no longer", async ({ expect }) => {
    stopClock();
    const old = await issue();
    const { key } = (await roll({ grace_seconds: 60 })).body;
    vi.setSystemTime(NOW.getTime() + 59_999);
    expect((await ensure(old.key)).status).toBe(200);
    expect((await list())[0].revoked_at).toBe("2026-03-01T10:31:00.000Z");
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await ensure(old.key))).toEqual([401, "credential_revoked"]);
    expect((await ensure(key)).status).toBe(200);
  });

  it("does not lengthen the old key's life", async ({ expect }) => {
    stopClock();
    const old = await issue({ expires_in_seconds: 60 });
    await roll({ grace_seconds: 604800 });
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await ensure(old.key))).toEqual([401, "credential_expired"]);
  });

  it("a revocation ends the grace of the old key, and a longer grace does not extend it", async ({ expect }) => {
    stopClock();
    const old = await issue();
    await roll({ grace_seconds: 60 });
    await roll({ grace_seconds: 600 });
    expect((await list())[0].revoked_at).toBe("2026-03-01T10:31:00.000Z");
    await manage("DELETE", `/api/keys/1${ACME}`);
    expect(codeOf(await ensure(old.key))).toEqual([401, "credential_revoked"]);
  });

  it("refuses a key that is no longer valid with 404 api_key_not_found", async ({ expect }) => {
    stopClock();
    await issue({ expires_in_seconds: 60 });
    await issue();
    await manage("DELETE", `/api/keys/2${ACME}`);
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await roll({}, 1))).toEqual([404, "api_key_not_found"]);
    expect(codeOf(await roll({}, 2))).toEqual([404, "api_key_not_found"]);
    expect(await list()).toHaveLength(2);
  });

  it.for([{ grace_seconds: -1 }, { grace_seconds: 604801 }, { grace_seconds: "1" }, { name: "x" }])(
    "refuses %o",
    async (body, { expect }) => {
      await issue();
      expect(codeOf(await roll(body))).toEqual([422, "invalid_body"]);
    },
  );
});

describe("rate limits", () => {
  it("answer 429 with Retry-After to one API key that calls too often, before any RPC", async ({ expect }) => {
    const { watched, costs } = watchedEnv();
    const limit = limiter(2);
    const callEnv = { ...watched, API_KEY_LIMIT: limit };
    const [busy, other] = [await issueKey(), await issueKey()];
    for (const status of [200, 200, 429, 429]) {
      const answer = await ensure(busy, "acme", callEnv);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("Retry-After")).toBe(status === 429 ? "60" : null);
    }
    expect(costs.rpcs).toHaveLength(2);
    expect((await ensure(other, "acme", callEnv)).status).toBe(200);
    const counted = [...limit.counts.keys()];
    expect(counted).toHaveLength(2);
    // Not by its number, by which a key forged with a stolen signing key could use it up.
    for (const key of [busy, other]) expect(counted.filter((name) => key.includes(name))).toEqual([]);
  });

  it("answer 429 to one address that shows too many refused credentials, and no other", async ({ expect }) => {
    const callEnv = { ...env, REFUSED_CREDENTIAL_LIMIT: limiter(2) };
    const key = await issueKey();
    const from = (address: string, credential: string) =>
      call("GET", "/api/user", {
        credential,
        body: { user_group_id: "acme" },
        env: callEnv,
        headers: { "CF-Connecting-IP": address },
      });
    for (const status of [401, 401, 429]) {
      const { status: shown, headers } = await from("203.0.113.1", "x");
      expect(shown).toBe(status);
      expect(headers.get("WWW-Authenticate")).toBe(status === 401 ? "Token" : null);
      expect(headers.get("Retry-After")).toBe(status === 429 ? "60" : null);
    }
    expect((await from("203.0.113.2", "x")).status).toBe(401);
    expect((await from("203.0.113.1", key)).status).toBe(200);
  });

  it("are those of the design, by the platform's own bindings", async ({ expect }) => {
    const callsFrom = (address: string) =>
      Promise.all(
        Array.from({ length: 650 }, () =>
          call("GET", "/api/user", { credential: "x", headers: { "CF-Connecting-IP": address } }),
        ),
      );
    // The local binding counts by minutes of the wall clock, so all calls must be made within one.
    const minute = () => Math.floor(Date.now() / 60_000);
    let startedAt: number;
    let answers: Awaited<ReturnType<typeof callsFrom>>;
    do {
      startedAt = minute();
      answers = await callsFrom(`203.0.113.${startedAt % 256}`);
    } while (minute() !== startedAt);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(600);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(50);
    const { success } = await env.API_KEY_LIMIT.limit({ key: "acme/Testing/1" });
    expect(success).toBe(true);
  });
});
