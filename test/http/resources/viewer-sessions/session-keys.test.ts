import { env } from "cloudflare:workers";
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from "jose";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { JWKS_SECONDS } from "../../../../common/limits.ts";
import { call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { claimsIn, sessionOf } from "../../../support/sessions.ts";
import { isolateAt, type Step } from "../../../support/signing-ring.ts";
import { newIntegrator } from "../../../support/states.ts";
import { view } from "../../../support/viewers.ts";

/** Issues a key in an isolate of this step. */
async function issueKeyAt(step: Step): Promise<string> {
  const body = { workspace: "acme", environment: "Testing", name: "backend" };
  const credential = env.OPERATOR_TOKEN;
  return (await call("POST", "/api/keys", { credential, body, env: isolateAt(step) })).body.key;
}

/** An integrator's key, and the token of its group acme, both from an isolate of this step. */
async function acmeAt(step: Step): Promise<{ key: string; token: string }> {
  const key = await issueKeyAt(step);
  const body = { user_group_id: "acme" };
  const { user_group: group } = (await call("GET", "/api/user", { credential: key, body, env: isolateAt(step) })).body;
  return { key, token: group.token };
}

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});

const passSeconds = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const fetchKeys = (callEnv: Env = env, headers: Record<string, string> = {}) =>
  call("GET", "/.well-known/jwks.json", { env: callEnv, headers });

const kidsAt = async (step: Step): Promise<string[]> =>
  (await fetchKeys(isolateAt(step))).body.keys.map(({ kid }: { kid: string }) => kid);

describe("GET /.well-known/jwks.json", () => {
  it("answers with exactly the public keys, which caches may keep for 300 seconds", async () => {
    const { status, headers, body } = await fetchKeys();
    expect(status).toBe(200);
    expect(body).toEqual({
      keys: [
        {
          kty: "EC",
          crv: "P-256",
          x: expect.stringMatching(/^[\w-]{43}$/),
          y: expect.stringMatching(/^[\w-]{43}$/),
          kid: expect.stringMatching(/^[\w-]{43}$/),
          alg: "ES256",
          use: "sig",
        },
      ],
    });
    expect(headers.get("Cache-Control")).toBe("public, max-age=300");
    expect(headers.get("Content-Type")).toMatch(/^application\/json/);
  });

  it("answers any page, and HEAD", async () => {
    for (const each of [{}, { Origin: "https://anywhere.example" }, { Origin: "null" }] as Record<string, string>[]) {
      const { headers } = await fetchKeys(env, each);
      expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
    }
    const head = await call("HEAD", "/.well-known/jwks.json");
    expect([head.status, head.body, head.headers.get("Cache-Control")]).toEqual([
      200,
      undefined,
      `public, max-age=${JWKS_SECONDS}`,
    ]);
  });

  it("has the keys of the whole ring, in its order", async () => {
    const [one, two] = [await kidsAt("k1"), await kidsAt("k2")];
    expect(await kidsAt("k1,k2")).toEqual([...one, ...two]);
    expect(await kidsAt("k2,k1")).toEqual([...two, ...one]);
  });

  it("is 503 while the signing keys are unusable", async () => {
    for (const SIGNING_KEYS of ["", "k1:short"])
      expect(codeOf(await fetchKeys({ ...env, SIGNING_KEYS }))).toEqual([503, "service_not_configured"]);
  });
});

describe("GET /.well-known/openid-configuration", () => {
  const path = "/.well-known/openid-configuration";

  it("names the issuer of sessions and its keys, to any page and for 300 seconds", async () => {
    const callEnv = { ...env, PUBLIC_URL: "https://groups.example.com" };
    for (const headers of [{}, { Origin: "https://anywhere.example" }] as Record<string, string>[]) {
      const answer = await call("GET", path, { env: callEnv, headers });
      expect([answer.status, answer.body]).toEqual([
        200,
        {
          issuer: "https://groups.example.com",
          jwks_uri: "https://groups.example.com/.well-known/jwks.json",
          id_token_signing_alg_values_supported: ["ES256"],
          subject_types_supported: ["public"],
          response_types_supported: ["id_token"],
        },
      ]);
      expect(answer.headers.get("Cache-Control")).toBe("public, max-age=300");
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("*");
    }
    expect((await call("POST", path)).headers.get("Allow")).toBe("GET, HEAD");
  });

  it("has the issuer that is in sessions", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    expect((await call("GET", path)).body.issuer).toBe(claimsIn(await sessionOf(key)).iss);
  });

  it("is 503 while PUBLIC_URL cannot be read", async () => {
    const callEnv = { ...env, PUBLIC_URL: "groups.example.com" };
    expect(codeOf(await call("GET", path, { env: callEnv }))).toEqual([503, "service_not_configured"]);
  });
});

it("a session shows no properties that were not asked for", async () => {
  const { key, tokenOf } = await newIntegrator();
  await tokenOf("acme", { name: "Acme Secrets", mapping: { m: "warehouse-7" }, properties: { secret: "eu-west" } });
  const plain = atob((await sessionOf(key)).split(".")[1]?.replaceAll("-", "+").replaceAll("_", "/") ?? "");
  expect(plain).toContain('"sub":"acme"');
  for (const value of ["Acme Secrets", "warehouse-7", "secret", "eu-west"]) expect(plain).not.toContain(value);
});

/** A verifier that fetches the keys again when its copy is 300 seconds old, and never sooner. */
class CachingVerifier {
  #keys: JSONWebKeySet = { keys: [] };
  #fetchedAt = Number.NEGATIVE_INFINITY;

  async accepts(session: string, isolate: Env): Promise<boolean> {
    if (Date.now() - this.#fetchedAt >= JWKS_SECONDS * 1000) {
      this.#keys = (await fetchKeys(isolate)).body;
      this.#fetchedAt = Date.now();
    }
    const options = { currentDate: new Date(Date.now()), algorithms: ["ES256"] };
    return jwtVerify(session, createLocalJWKSet(this.#keys), options).then(
      () => true,
      () => false,
    );
  }
}

/** Two isolates at each of these moments, the one that has the newer secret last, and how long it lasts. */
const MOMENTS: { isolates: [Step, Step]; seconds: number }[] = [
  { isolates: ["k1", "k1"], seconds: 100 },
  { isolates: ["k1", "k1,k2"], seconds: 100 },
  { isolates: ["k1,k2", "k1,k2"], seconds: 15 * 60 },
  { isolates: ["k1,k2", "k2,k1"], seconds: 100 },
  // Until no session that k1 signed is left: they last an hour at most.
  { isolates: ["k2,k1", "k2,k1"], seconds: 3700 },
  { isolates: ["k2,k1", "k2"], seconds: 100 },
  { isolates: ["k2", "k2"], seconds: 600 },
];
const TICK_SECONDS = 100;

type Minted = { session: string; expiresAt: number };

/**
 * Goes through the moments of a rotation. At every tick each isolate mints a session, and all that are valid are viewed in
 * both isolates and verified by both verifiers, one that fetches from the isolate that is late and one that does not. Returns
 * what was refused.
 */
async function goThrough(moments: typeof MOMENTS) {
  // Signed by both keys in turn, so that the integrators' own credentials are none of this test's business.
  const keys = { k1: await issueKeyAt("k1"), k2: await issueKeyAt("k2") };
  const verifiers = [new CachingVerifier(), new CachingVerifier()] as const;
  const minted: Minted[] = [];
  const refused: unknown[] = [];
  let views = 0;
  for (const { isolates, seconds } of moments) {
    for (let at = 0; at < seconds; at += TICK_SECONDS) {
      for (const step of isolates) {
        const lifeSeconds = [60, 600, 3600][minted.length % 3] ?? 60;
        const key = step.startsWith("k1") ? keys.k1 : keys.k2;
        const session = await sessionOf(key, { expires_in_seconds: lifeSeconds }, isolateAt(step));
        minted.push({ session, expiresAt: Date.now() + lifeSeconds * 1000 });
      }
      // The newest, and a sample of the others: all of them would be thousands of views.
      const valid = minted.filter(({ expiresAt }) => Date.now() < expiresAt);
      for (const { session } of [...valid.slice(-2), ...valid.filter((_, n) => n % 7 === at % 7)]) {
        views += 1;
        for (const [index, step] of isolates.entries()) {
          const { status } = await view(session, {}, isolateAt(step));
          const isVerified = await verifiers[index === 0 ? 0 : 1].accepts(session, isolateAt(step));
          if (status !== 200 || !isVerified) refused.push({ isolates, step, at, status, isVerified });
        }
      }
      passSeconds(TICK_SECONDS);
    }
  }
  return { refused, views, minted };
}

describe("signing keys that rotate in steps", () => {
  it("let no valid session be refused, by the service or by verifiers with a cache", async () => {
    await acmeAt("k1");
    const { refused, views, minted } = await goThrough(MOMENTS);
    expect(refused).toEqual([]);
    expect(views).toBeGreaterThan(200);
    const kids = minted.map(({ session }) => decodeProtectedHeader(session).kid);
    expect(new Set(kids)).toEqual(new Set(await kidsAt("k1,k2")));
  });

  it("would fail verifiers if the new key signed before their cache has it", async () => {
    await acmeAt("k1");
    const hasty = MOMENTS.filter(({ isolates }) => isolates.join(" ") !== "k1,k2 k1,k2");
    const { refused } = await goThrough(hasty.slice(0, 3));
    expect(refused).toContainEqual(expect.objectContaining({ status: 200, isVerified: false }));
  });

  it("end the sessions of a key once it has left, in the service and in verifiers", async () => {
    const { key } = await acmeAt("k1");
    const old = await sessionOf(key, { expires_in_seconds: 3600 }, isolateAt("k1"));
    const verifier = new CachingVerifier();
    for (const step of ["k1", "k1,k2", "k2,k1"] as const) {
      expect((await view(old, {}, isolateAt(step))).status).toBe(200);
      passSeconds(JWKS_SECONDS);
      expect(await verifier.accepts(old, isolateAt(step))).toBe(true);
    }
    expect(codeOf(await view(old, {}, isolateAt("k2")))).toEqual([401, "unauthenticated"]);
    passSeconds(JWKS_SECONDS - 1);
    expect(await verifier.accepts(old, isolateAt("k2")), "from its cache").toBe(true);
    passSeconds(1);
    expect(await verifier.accepts(old, isolateAt("k2"))).toBe(false);
  });

  it("change neither the groups nor what ends their sessions", async () => {
    const { key, token } = await acmeAt("k1");
    const sessions = [await sessionOf(key, {}, isolateAt("k1,k2")), await sessionOf(key, {}, isolateAt("k2,k1"))];
    expect(new Set(sessions.map((session) => claimsIn(session).gen)).size).toBe(1);
    const rotation = { credential: key, body: { current_token: token }, env: isolateAt("k1,k2") };
    expect((await call("POST", "/api/user", rotation)).status).toBe(200);
    for (const session of sessions)
      for (const step of ["k1,k2", "k2,k1"] as const)
        expect(codeOf(await view(session, {}, isolateAt(step)))).toEqual([401, "credential_revoked"]);
  });
});
