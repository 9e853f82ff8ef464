import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, it, vi } from "vitest";
import { type Answer, call } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { logLines } from "../../../support/each-test.ts";
import { forgedSession } from "../../../support/forged.ts";
import { bearer, claimsIn, restore, sessionOf, setSuspended } from "../../../support/sessions.ts";
import { issueKey, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { query, view } from "../../../support/viewers.ts";

/**
 * What a thief can make who has the whole signing ring, and so the private keys of sessions, and knows every public fact, but
 * not the `gen` of the group's current token.
 */

type Claims = Record<string, unknown>;

const NOW_SECONDS = NOW.getTime() / 1000;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});

const randomGen = () =>
  crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url", omitPadding: true });

const tryAll = (session: string): Promise<Answer[]> =>
  Promise.all([
    view(session),
    view(undefined, bearer(session)),
    query(session, { sql: "{{user_group_id}}" }),
    call("GET", "/api/whoami", { credential: session }),
  ]);

/** The answers that show a group. */
const admitted = (answers: Answer[]): Answer[] => answers.filter(({ status }) => status === 200);

/** The victim's group, whose session the thief has not seen, and what the thief has: a session of another group. */
async function newTheft() {
  const { key, tokenOf, rotate } = await newIntegrator();
  const token = await tokenOf("victim");
  await tokenOf("thief");
  const own = await sessionOf(key, { user_group_id: "thief", origins: ["https://app.example.com"], viewer_id: "eve" });
  return { key, token, rotate, tokenOf, own };
}

it("a forgery with the right gen would be admitted", async ({ expect }) => {
  const { key } = await newTheft();
  const claims = claimsIn(await sessionOf(key, { user_group_id: "victim" }));
  const forged = await forgedSession({ ...claims, jti: crypto.randomUUID() });
  for (const answer of await tryAll(forged)) expect(answer.status).toBe(200);
});

describe("with the signing ring and every public fact, but not gen,", () => {
  const gens: [string, (own: Claims, old: Claims) => unknown][] = [
    ["a random gen", randomGen],
    ["a gen of zeros", () => "A".repeat(22)],
    ["no gen", () => undefined],
    ["an empty gen", () => ""],
    ["gen null", () => null],
    ["the gen of another group", ({ gen }) => gen],
    ["the gen of a token that was rotated", (_, { gen }) => gen],
  ];

  it.for(gens)("nothing is admitted: %s", async ([, genOf], { expect }) => {
    const { key, rotate, token, own } = await newTheft();
    const old = claimsIn(await sessionOf(key, { user_group_id: "victim" }));
    await rotate(token);
    const forged = await forgedSession({ ...old, jti: crypto.randomUUID(), gen: genOf(claimsIn(own), old) });
    const answers = await tryAll(forged);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });

  it("no change of a single claim of the thief's own session shows the victim", async ({ expect }) => {
    const { own } = await newTheft();
    const claims = claimsIn(own);
    const changes: Claims = {
      iss: "https://evil.example",
      aud: "acme/Customer",
      sub: "victim",
      team_id: 1,
      gen: randomGen(),
      key: 2,
      jti: crypto.randomUUID(),
      seq: 1_000_000,
      iat: NOW_SECONDS - 60,
      exp: NOW_SECONDS + 3000,
      origins: ["https://evil.example"],
      viewer_id: "ann",
      viewer_properties: { store: 7 },
      variables: { user_group_id: "victim" },
    };
    expect(Object.keys(changes)).toEqual(expect.arrayContaining(Object.keys(claims)));
    const admittedBy: string[] = [];
    for (const [name, value] of Object.entries(changes)) {
      const shown = admitted(await tryAll(await forgedSession({ ...claims, [name]: value })));
      if (shown.length > 0) admittedBy.push(name);
      for (const { body } of shown)
        expect([name, JSON.stringify(body)]).not.toEqual([name, expect.stringContaining("victim")]);
    }
    // These claims do not say whose group it is. A thief of a session and of the ring may choose them.
    expect(admittedBy).toEqual([
      "iss",
      "sub",
      "jti",
      "seq",
      "iat",
      "exp",
      "origins",
      "viewer_id",
      "viewer_properties",
      "variables",
    ]);
  });

  it("no change of two claims of the thief's own session shows the victim", async ({ expect }) => {
    const { own } = await newTheft();
    const claims = claimsIn(own);
    const changes: [string, unknown][] = [
      ["team_id", 1],
      ["sub", "victim"],
      ["gen", randomGen()],
      ["key", 1],
      ["aud", "acme/Testing"],
      ["variables", { user_group_id: "x" }],
    ];
    for (const [name, value] of changes)
      for (const [other, otherValue] of changes) {
        const answers = await tryAll(await forgedSession({ ...claims, [name]: value, [other]: otherValue }));
        for (const { body } of admitted(answers)) expect(JSON.stringify(body)).not.toContain("victim");
      }
  });

  it("no group of an environment can be found by trying its numbers", async ({ expect }) => {
    const { own } = await newTheft();
    const statuses: number[] = [];
    for (const teamId of [1, 3, 4, 999, Number.MAX_SAFE_INTEGER])
      for (const key of [1, 2]) {
        const [answer] = await tryAll(await forgedSession({ ...claimsIn(own), team_id: teamId, key }));
        statuses.push(answer?.status ?? 0);
        expect(answer?.body.error.code).toBe("credential_revoked");
      }
    expect(new Set(statuses)).toEqual(new Set([401]));
  });

  it("a suspended or deleted group answers as one that never was", async ({ expect }) => {
    const { key, token } = await newTheft();
    const claims = { ...claimsIn(await sessionOf(key, { user_group_id: "victim" })), gen: randomGen() };
    const codes: unknown[] = [];
    const tryOnce = async () => codes.push((await view(await forgedSession(claims))).body.error.code);
    await setSuspended(key, true, "victim");
    await tryOnce();
    await call("DELETE", "/api/user", { credential: key, body: { current_token: token } });
    await tryOnce();
    await restore(key, 1);
    await tryOnce();
    expect(codes).toEqual(Array(3).fill("credential_revoked"));
  });

  it.for([
    ["been revoked", 0],
    ["expired", 61],
  ] as const)(
    "a session of a key that has %s is not revived by new times and numbers",
    async ([, seconds], { expect }) => {
      await newTheft();
      const ended = await issueKey({ expires_in_seconds: 60 });
      const session = await sessionOf(ended, { user_group_id: "thief", expires_in_seconds: 60 });
      if (seconds === 0)
        await call("DELETE", "/api/keys/2?workspace=acme&environment=Testing", { credential: operator });
      vi.setSystemTime(NOW.getTime() + seconds * 1000);
      for (const key of [2, 3, 999]) {
        const forged = await forgedSession({ ...claimsIn(session), key, iat: NOW_SECONDS, exp: NOW_SECONDS + 3600 });
        expect(admitted(await tryAll(forged))).toEqual([]);
      }
    },
  );

  it("another environment with the same numbers shows nothing", async ({ expect }) => {
    const { own } = await newTheft();
    const other = await newIntegrator({ environment: "Customer" });
    await other.tokenOf("victim");
    await other.tokenOf("second victim");
    for (const aud of ["acme/Customer", "acme/untagged", "globex/Testing"])
      expect(admitted(await tryAll(await forgedSession({ ...claimsIn(own), aud })))).toEqual([]);
  });
});

it("a session of another deployment is refused though it has the same signing keys", async ({ expect }) => {
  const { key } = await newTheft();
  const session = await sessionOf(key, { user_group_id: "victim" });
  // Another deployment has made its own random bits for groups of the same numbers.
  const changed = await inDirectory(
    ({ sql }) => sql.exec("UPDATE user_groups SET generation = randomblob(16) RETURNING 1").toArray().length,
  );
  expect(changed).toBe(2);
  for (const answer of await tryAll(session)) expect(answer.body.error?.code).toBe("credential_revoked");
});

it("a forged session creates nothing in an environment without tables", async ({ expect }) => {
  const tables = () =>
    runInDurableObject(env.GROUP_DIRECTORY.getByName("globex/Testing"), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
    );
  const { own } = await newTheft();
  const forged = await forgedSession({ ...claimsIn(own), aud: "globex/Testing" });
  for (const answer of await tryAll(forged))
    expect([answer.status, answer.body.error.code]).toEqual([401, "credential_revoked"]);
  expect(await tables()).toEqual([]);
});

it("gen is in no answer but inside sessions, and in no event and no line of the log", async ({ expect }) => {
  const { key, get, put, rotate, remove, tokenOf } = await newIntegrator();
  const seen: unknown[] = [];
  const keep = (answer: Answer) => {
    seen.push(answer.body, [...answer.headers]);
    return answer;
  };
  const byKey = async (method: string, path: string, body?: object, headers = {}) =>
    keep(await call(method, path, { credential: key, body, headers }));
  const gens: string[] = [];
  const noteGens = async () => {
    const rows = await inDirectory(({ sql }) =>
      ["user_groups", "deleted_groups"].flatMap((table) =>
        sql
          .exec<Record<"current" | "previous", string | null>>(
            `SELECT hex(generation) AS current, hex(grace_generation) AS previous FROM ${table}`,
          )
          .toArray(),
      ),
    );
    gens.push(
      ...(rows
        .flatMap(({ current, previous }) => [current, previous])
        .filter((hex) => hex !== null && hex !== "") as string[]),
    );
  };

  const token = await tokenOf("acme", { properties: { a: 1 } });
  await noteGens();
  const session = await sessionOf(key, { viewer_id: "ann", include_variables: true });
  keep(await get({ user_group_id: "acme" }));
  keep(await put({ user_group_id: "acme", name: "Acme Inc." }));
  for (const credential of [token, session]) {
    keep(await view(credential));
    keep(await view(credential, { "Cache-Control": "max-age=60" }));
    keep(await query(credential, { sql: "{{user_group_id}} [[ {{viewer_id}} ]]" }));
    keep(await call("GET", "/api/whoami", { credential }));
  }
  const rotation = await byKey(
    "POST",
    "/api/user",
    { current_token: token, grace_seconds: 60 },
    { "Idempotency-Key": "k" },
  );
  await byKey("POST", "/api/user", { current_token: token, grace_seconds: 60 }, { "Idempotency-Key": "k" });
  await noteGens();
  await byKey("POST", "/api/user_groups/1/rotate", { grace_seconds: 60 });
  await byKey("GET", "/api/user_groups");
  await byKey("GET", "/api/user_groups/1");
  keep(await rotate(rotation.body.user_group.token));
  const current = (await get({ user_group_id: "acme" })).body.user_group.token;
  keep(await remove(current));
  await noteGens();
  await byKey("GET", "/api/user_groups?state=deleted");
  keep(await view(session));
  await byKey("POST", "/api/user_groups/1/restore", { rotate_token: true });
  await noteGens();
  await byKey("GET", "/api/events");
  await byKey("GET", "/.well-known/jwks.json");
  keep(await call("GET", "/api/keys?workspace=acme&environment=Testing", { credential: operator }));

  expect(new Set(gens).size).toBeGreaterThanOrEqual(4);
  expect(
    Uint8Array.fromBase64(String(claimsIn(session).gen), { alphabet: "base64url" })
      .toHex()
      .toUpperCase(),
  ).toBe(gens[0]);
  expect(seen.length).toBeGreaterThan(30);
  const text = JSON.stringify([seen, logLines]);
  for (const hex of new Set(gens)) {
    const bytes = Uint8Array.fromHex(hex);
    const forms = [
      hex,
      hex.toLowerCase(),
      bytes.toBase64().replace(/=+$/, ""),
      bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
      [...bytes].join(","),
    ];
    for (const form of forms) expect(text).not.toContain(form);
  }
});
