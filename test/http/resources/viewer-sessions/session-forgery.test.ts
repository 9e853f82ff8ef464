import { beforeEach, describe, expect, it, vi } from "vitest";
import { byNumber } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, tokenIn } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { logLines } from "../../../support/each-test.ts";
import { forgedSession } from "../../../support/forged.ts";
import { bearer, claimsIn, restore, sessionOf, setSuspended } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, newIntegrator, operator, withKey } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { query, STALE, view } from "../../../support/viewers.ts";

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
  // The same numbers in another environment.
  const elsewhere = await newIntegrator({ environment: "Customer" });
  for (const id of ["victim", "second victim"]) await elsewhere.tokenOf(id);
  return { key, token, rotate, tokenOf, own };
}

it("a forgery with the right gen would be admitted", async () => {
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

  it.for(gens)("nothing is admitted: %s", async ([, genOf]) => {
    const { key, rotate, token, own } = await newTheft();
    const old = claimsIn(await sessionOf(key, { user_group_id: "victim" }));
    await rotate(token);
    const forged = await forgedSession({ ...old, jti: crypto.randomUUID(), gen: genOf(claimsIn(own), old) });
    const answers = await tryAll(forged);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });

  it("no change of a single claim of the thief's own session shows the victim", async () => {
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
    const chosen = ["iss", "sub", "jti", "seq", "iat", "exp", "origins", "viewer_id", "viewer_properties", "variables"];
    expect(admittedBy).toEqual(chosen);
  });

  it("no group of an environment can be found by trying its numbers", async () => {
    const { own } = await newTheft();
    for (const team_id of [1, 3, 4, 999, Number.MAX_SAFE_INTEGER])
      for (const key of [1, 2])
        for (const answer of await tryAll(await forgedSession({ ...claimsIn(own), team_id, key })))
          expect(codeOf(answer)).toEqual([401, "credential_revoked"]);
  });

  it("a suspended or deleted group answers as one that never was", async () => {
    const { key } = await newTheft();
    const claims = { ...claimsIn(await sessionOf(key, { user_group_id: "victim" })), gen: randomGen() };
    for (const change of [
      () => setSuspended(key, true, "victim"),
      () => byNumber(key).remove(1),
      () => restore(key, 1),
    ]) {
      await change();
      expect(codeOf(await view(await forgedSession(claims)))).toEqual([401, "credential_revoked"]);
    }
  });

  it.for([
    ["been revoked", 0],
    ["expired", 61],
  ] as const)("a session of a key that has %s is not revived by new times and numbers", async ([, seconds]) => {
    await newTheft();
    const ended = await issueKey({ expires_in_seconds: 60 });
    const session = await sessionOf(ended, { user_group_id: "thief", expires_in_seconds: 60 });
    if (seconds === 0) await call("DELETE", `/api/keys/2${inEnvironment()}`, { credential: operator });
    vi.setSystemTime(NOW.getTime() + seconds * 1000);
    for (const key of [2, 3, 999]) {
      const forged = await forgedSession({ ...claimsIn(session), key, iat: NOW_SECONDS, exp: NOW_SECONDS + 3600 });
      expect(admitted(await tryAll(forged))).toEqual([]);
    }
  });
});

it("a forged session creates nothing in an environment without tables", async () => {
  const { own } = await newTheft();
  const forged = await forgedSession({ ...claimsIn(own), aud: "globex/Testing" });
  for (const answer of await tryAll(forged)) expect(codeOf(answer)).toEqual([401, "credential_revoked"]);
  const tables = await inDirectory(
    ({ sql }) => sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
    "globex/Testing",
  );
  expect(tables).toEqual([]);
});

it("gen is in no answer but inside sessions, and in no event and no line of the log", async () => {
  const { key, get, put, rotate, remove, tokenOf } = await newIntegrator();
  const by = byNumber(key);
  const seen: unknown[] = [];
  const gens = new Set<string>();
  /** Keeps an answer, and each gen that is stored after it. */
  const keep = async (answering: Promise<Answer>) => {
    const answer = await answering;
    seen.push(answer.body, [...answer.headers]);
    await inDirectory(({ sql }) => {
      for (const table of ["user_groups", "deleted_groups"])
        for (const row of sql.exec(`SELECT hex(generation), hex(grace_generation) FROM ${table}`).raw())
          for (const hex of row) gens.add(String(hex));
    });
    return answer;
  };

  const token = await tokenOf("acme", { properties: { a: 1 } });
  const session = await sessionOf(key, { viewer_id: "ann", include_variables: true });
  await keep(get({ user_group_id: "acme" }));
  await keep(put({ user_group_id: "acme", name: "Acme Inc." }));
  for (const credential of [token, session]) {
    await keep(view(credential));
    await keep(view(credential, STALE));
    await keep(query(credential, { sql: "{{user_group_id}} [[ {{viewer_id}} ]]" }));
    await keep(call("GET", "/api/whoami", { credential }));
  }
  const rotateOnce = () => rotate(token, { grace_seconds: 60 }, withKey("k"));
  const rotated = await keep(rotateOnce());
  await keep(rotateOnce());
  await keep(by.rotate(1, { grace_seconds: 60 }));
  await keep(by.list());
  await keep(by.show(1));
  await keep(rotate(tokenIn(rotated)));
  await keep(remove(tokenIn(await get({ user_group_id: "acme" }))));
  await keep(by.list({ state: "deleted" }));
  await keep(view(session));
  await keep(by.restore(1, { rotate_token: true }));
  await keep(call("GET", "/api/events", { credential: key }));
  await keep(call("GET", "/.well-known/jwks.json"));
  await keep(call("GET", `/api/keys${inEnvironment()}`, { credential: operator }));

  gens.delete("");
  expect(gens.size).toBeGreaterThanOrEqual(4);
  const ofSession = Uint8Array.fromBase64(String(claimsIn(session).gen), { alphabet: "base64url" });
  expect(gens).toContain(ofSession.toHex().toUpperCase());
  expect(seen.length).toBeGreaterThan(30);
  const text = JSON.stringify([seen, logLines]);
  for (const hex of gens) {
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
