import fc from "fast-check";
import { calculateJwkThumbprint, createLocalJWKSet, importJWK, jwtVerify, SignJWT, UnsecuredJWT } from "jose";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { EnvironmentTag } from "../../common/environment.ts";
import { SESSION_UNITS_MAX, VERIFIED_SESSIONS_UNITS_MAX } from "../../common/limits.ts";
import { normalizeOrigin } from "../../common/origin.ts";
import { type SessionClaims, VerifiedSessions } from "../../src/domain/credentials/verified-sessions.ts";
import { jwksOf, mintSession, verifySession } from "../../src/domain/credentials/viewer-session.ts";
import { forgedCredential } from "../support/forged.ts";
import { ringOfKeys } from "../support/signing-ring.ts";

const base64 = (byte: number) => new Uint8Array(32).fill(byte).toBase64();
const utf8 = new TextEncoder();
const encode = (bytes: Uint8Array) => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
/** A text as it is, anything else as JSON. */
const base64url = (value: unknown) => encode(utf8.encode(typeof value === "string" ? value : JSON.stringify(value)));

const OURS = `k1:${base64(7)}`;
const NOW_SECONDS = Date.UTC(2035, 0, 1) / 1000;
const NOW = NOW_SECONDS * 1000;

/**
 * Signing keys and the key pairs that have to come of them, computed with Python: RFC 5869 by its hmac, the curve by OpenSSL,
 * RFC 7638 by its hashlib. The scalar of the third begins with a zero byte.
 */
const VECTORS = [
  {
    signingKey: base64(7),
    d: "KW2eobTS_a1aLqHva2C6DxZzH-MmXwz0m_6qvQKknNM",
    x: "aO0u3xqO_IzRde8SnCauG6u7MB1bNjvtJquJZeNjrMg",
    y: "0q8PWGRAI-oB26i-lRs0nnXHOrI-g6EOtDobwaYjsMg",
    kid: "lliGSWUU3kCZb5_NQT4G59Ri3oNnXtBr0wYQchYpeHI",
  },
  {
    signingKey: Uint8Array.from({ length: 64 }, (_, index) => index).toBase64(),
    d: "iIB94D2VSSFDWkKu4_XJRiPrHZhswU-4RRyXPFILnjA",
    x: "dao6qyvW8fexJHTlkagopHCei_6aBmn-TTFcjg5cFK8",
    y: "EsSm983ErRxoDBAhAwpAXdP6Ti2mgnZMeJGHz5FqU7c",
    kid: "3eNCMy7lzJK6zFiVKYgxETGKVbDs1vtOoLtwNORc_bw",
  },
  {
    signingKey: "axjC2APvjEMHAjcLOCMCKYImIxT9ZTQP8sTLW/5jKjQ=",
    d: "ACjNE6eSQKNEoAZcCxDtE1vkcg0eTb8F33wHs_ZEvgg",
    x: "_sSwO3RFPHWy5c_ErVhM8T8MOD7LxIgAArkb0rrgdu4",
    y: "QDULP_hBjPNjCHTZSniYV9I2_bfexsCep6Chiee8ZgQ",
    kid: "A4WXRB9Bq5aatMglLL63aRMlRvY4wiQHyJYrqWa3M5k",
  },
] as const;
const [OWN, STRANGER] = VECTORS;
const { kid } = OWN;
const jwkOf = ({ x, y }: { x: string; y: string }) => ({ kty: "EC", crv: "P-256", x, y });
const PUBLIC = jwkOf(OWN);
const HEADER = { alg: "ES256", typ: "JWT", kid };

const CLAIMS: SessionClaims = {
  issuer: "https://groups.example.com",
  environment: { workspace: "acme", tag: "Customer" },
  providedId: "initech",
  teamId: 4,
  generation: new Uint8Array(16).fill(9),
  keyId: 3,
  id: "2f1f0c0e-6f0a-4f6e-9a53-0a9f6b1f7c11",
  seq: 17,
  issuedAtSeconds: NOW_SECONDS,
  expiresAtSeconds: NOW_SECONDS + 300,
};

/** The claims above by their published names. */
const PAYLOAD = {
  iss: "https://groups.example.com",
  aud: "acme/Customer",
  sub: "initech",
  team_id: 4,
  gen: "CQkJCQkJCQkJCQkJCQkJCQ",
  key: 3,
  jti: "2f1f0c0e-6f0a-4f6e-9a53-0a9f6b1f7c11",
  seq: 17,
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 300,
};

/** Signs any header and payload, as a thief of the signing key can. */
async function forge(payload: unknown, header: object = HEADER, key: { d: string; x: string; y: string } = OWN) {
  const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const signer = await crypto.subtle.importKey("jwk", { ...jwkOf(key), d: key.d }, ecdsa, false, ["sign"]);
  const signed = `${base64url(header)}.${payload instanceof Uint8Array ? encode(payload) : base64url(payload)}`;
  return `${signed}.${encode(new Uint8Array(await crypto.subtle.sign(ecdsa, signer, utf8.encode(signed))))}`;
}

afterEach(() => {
  vi.restoreAllMocks();
});

const texts = fc.string({ minLength: 1, maxLength: 255, unit: "binary" }).filter((text) => text.length <= 255);
const numbers = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const origins = fc.constantFrom("https://app.example.com", "http://localhost:3000", "https://[::1]");
const manyClaims: fc.Arbitrary<SessionClaims> = fc
  .record(
    {
      issuer: fc.webUrl(),
      environment: fc.record({
        workspace: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,39}$/),
        tag: fc.constantFrom<EnvironmentTag>("Customer", "Testing", null),
      }),
      providedId: texts,
      teamId: numbers,
      generation: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => new Uint8Array(bytes)),
      keyId: numbers,
      id: fc.uuid({ version: 4 }),
      seq: numbers,
      seconds: fc.integer({ min: 1, max: 3600 }),
      origins: fc.array(origins, { minLength: 1, maxLength: 10 }),
      viewerId: texts,
      variables: fc.dictionary(fc.string(), fc.jsonValue()).filter((each) => !Object.hasOwn(each, "__proto__")),
    },
    { requiredKeys: ["issuer", "environment", "providedId", "teamId", "generation", "keyId", "id", "seq", "seconds"] },
  )
  .map(({ seconds, ...claims }) => ({
    ...claims,
    issuedAtSeconds: NOW_SECONDS,
    expiresAtSeconds: NOW_SECONDS + seconds,
  }));

describe("a session", () => {
  it("gives back its claims, to another library too", async () => {
    const ring = await ringOfKeys(OURS);
    const jwks = createLocalJWKSet(await jwksOf(ring));
    await fc.assert(
      fc.asyncProperty(manyClaims, async (claims) => {
        const text = await mintSession(ring, claims);
        const sent = JSON.parse(JSON.stringify(claims.variables ?? null));
        const expected = claims.variables ? { ...claims, variables: sent } : claims;
        expect(await verifySession(await ringOfKeys(OURS), text, NOW)).toEqual({
          state: "valid",
          claims: expected,
          signingId: "k1",
        });

        const { payload, protectedHeader } = await jwtVerify(text, jwks, {
          currentDate: new Date(NOW),
          algorithms: ["ES256"],
          typ: "JWT",
          issuer: claims.issuer,
          audience: `${claims.environment.workspace}/${claims.environment.tag ?? "untagged"}`,
        });
        expect(protectedHeader).toEqual(HEADER);
        expect(payload).toMatchObject({ sub: claims.providedId, team_id: claims.teamId, jti: claims.id });
        expect([payload.origins, payload.viewer_id, payload.variables]).toEqual([
          claims.origins,
          claims.viewerId,
          claims.variables && sent,
        ]);
      }),
      { numRuns: 50 },
    );
  });

  it("has exactly the published header and claims", async () => {
    const text = await mintSession(await ringOfKeys(OURS), CLAIMS);
    const [header, payload] = text.split(".").map((part) => atob(part.replaceAll("-", "+").replaceAll("_", "/")));
    expect(header).toBe(JSON.stringify(HEADER));
    expect(payload).toBe(JSON.stringify(PAYLOAD));
  });

  it("is refused above 8,000 characters, also with a valid signature", async () => {
    const ring = await ringOfKeys(OURS);
    const sessionOf = (letters: number) => mintSession(ring, { ...CLAIMS, variables: { a: "v".repeat(letters) } });
    const shortest = (await sessionOf(0)).length;
    const letters = Math.floor(((SESSION_UNITS_MAX - shortest) * 3) / 4);
    expect((await sessionOf(letters)).length).toBeGreaterThan(SESSION_UNITS_MAX - 4);
    expect(await verifySession(ring, await sessionOf(letters), NOW)).toMatchObject({ state: "valid" });
    expect(await verifySession(ring, await sessionOf(letters + 4), NOW)).toBeUndefined();
  });

  it("is verified once while it is valid, and not at all where it was minted", async () => {
    const [minter, other] = [await ringOfKeys(OURS), await ringOfKeys(OURS)];
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    const text = await mintSession(minter, { ...CLAIMS, extraClaims: { tenant: 7 } });
    for (const [ring, verifications] of [
      [minter, 0],
      [other, 1],
      [other, 1],
    ] as const) {
      expect(await verifySession(ring, text, NOW)).toEqual({ state: "valid", claims: CLAIMS, signingId: "k1" });
      expect(verify).toHaveBeenCalledTimes(verifications);
    }
    // Not even the text of an expired one stays.
    for (const ring of [minter, other]) {
      expect(await verifySession(ring, text, NOW + 300_000)).toMatchObject({ state: "expired" });
      expect(ring.verifiedSessions.size).toEqual({ sessions: 0, units: 0 });
    }
  });

  it("is cached in 2 MiB of texts, the newest ones, without those that have expired", () => {
    const cache = new VerifiedSessions();
    const keep = (n: number, expiresAtSeconds: number, nowSeconds: number) =>
      cache.keep(String(n).padStart(SESSION_UNITS_MAX), session(expiresAtSeconds), nowSeconds);
    const session = (expiresAtSeconds: number) => ({ claims: { ...CLAIMS, expiresAtSeconds }, signingId: "k1" });
    const most = Math.floor(VERIFIED_SESSIONS_UNITS_MAX / SESSION_UNITS_MAX);
    for (let n = 0; n <= most + 9; n += 1) keep(n, n % 2 === 0 ? 3600 : 60, 1);
    expect(cache.size).toEqual({ sessions: most, units: most * SESSION_UNITS_MAX });
    expect(cache.find("9".padStart(SESSION_UNITS_MAX))).toBeUndefined();
    expect(cache.find("10".padStart(SESSION_UNITS_MAX))).toBeDefined();
    keep(10, 3600, 62);
    expect(cache.size.sessions).toBe(most / 2);
    // A clock that has jumped back keeps nothing for longer.
    keep(11, 30, -3600);
    keep(12, 3600, 62);
    expect(cache.find("11".padStart(SESSION_UNITS_MAX))).toBeUndefined();
  });

  it("expires at its second, and then has only what the log needs", async () => {
    const ring = await ringOfKeys(OURS);
    const text = await mintSession(ring, CLAIMS);
    expect(await verifySession(ring, text, NOW + 300_000 - 1)).toEqual({
      state: "valid",
      claims: CLAIMS,
      signingId: "k1",
    });
    for (const later of [300_000, 10_000_000]) {
      const { environment, teamId, id } = CLAIMS;
      expect(await verifySession(ring, text, NOW + later)).toEqual({
        state: "expired",
        claims: { environment, teamId, id },
        signingId: "k1",
      });
    }
  });

  it("may come from a clock that is up to a minute ahead", async () => {
    const ring = await ringOfKeys(OURS);
    const text = await mintSession(ring, CLAIMS);
    expect(await verifySession(ring, text, NOW - 60_000)).toMatchObject({ state: "valid" });
    expect(await verifySession(ring, text, NOW - 60_001)).toBeUndefined();
  });
});

/** The group that a session of this release answers with. */
const GROUP = { name: "Initech", properties: { region: "eu" }, mapping: null };
const STALE = { ...PAYLOAD, max_stale_seconds: 60, group: GROUP };

describe("a session of another release", () => {
  it.for<[string, unknown]>([
    ["an unknown claim", { ...STALE, ug_colour: "red" }],
    ["a claim that JWTs have", { ...STALE, nbf: NOW_SECONDS }],
    ["a claim by the name of a method", { ...STALE, toString: 1 }],
    ["the prototype as a claim", JSON.stringify(STALE).replace("{", '{"__proto__":{"viewer_id":"eve"},')],
    ["an unknown field of the group", { ...STALE, group: { ...GROUP, colour: "red" } }],
    ["a field of the group by the name of a method", { ...STALE, group: { ...GROUP, toString: 1 } }],
  ])("is valid, and without what this release does not know: %s", async ([, payload]) => {
    const verified = await verifySession(await ringOfKeys(OURS), await forge(payload), NOW);
    expect(verified).toMatchObject({
      state: "valid",
      claims: { ...CLAIMS, stale: { seconds: 60, group: expect.objectContaining(GROUP) } },
    });
    expect(verified?.claims).not.toHaveProperty("viewerId");
  });

  it.for<[string, object]>([
    ["no max_stale_seconds", { group: GROUP }],
    ["max_stale_seconds above 300", { max_stale_seconds: 301, group: GROUP }],
    ["max_stale_seconds that are no number", { max_stale_seconds: "60", group: GROUP }],
    ["max_stale_seconds of 0", { max_stale_seconds: 0, group: GROUP }],
    ["no group", { max_stale_seconds: 60 }],
    ["group null", { max_stale_seconds: 60, group: null }],
    ["a group as a list", { max_stale_seconds: 60, group: [GROUP] }],
    ["a group with an empty name", { max_stale_seconds: 60, group: { ...GROUP, name: "" } }],
    ["a group with a list as properties", { max_stale_seconds: 60, group: { ...GROUP, properties: [] } }],
    ["a group with a text as mapping", { max_stale_seconds: 60, group: { ...GROUP, mapping: "{}" } }],
  ])("is valid, and has no stale answer: %s", async ([, stale]) => {
    const ring = await ringOfKeys(OURS);
    const text = await forge({ ...PAYLOAD, ...stale });
    // The second time, its claims are not checked again.
    for (let call = 0; call < 2; call += 1)
      expect(await verifySession(ring, text, NOW)).toEqual({ state: "valid", claims: CLAIMS, signingId: "k1" });
  });
});

describe("the keys", () => {
  it.for(VECTORS)("are those that this signing key has always had: $kid", async (vector) => {
    const { keys } = await jwksOf(await ringOfKeys(`k1:${vector.signingKey}`));
    expect(keys).toEqual([{ ...jwkOf(vector), kid: vector.kid, alg: "ES256", use: "sig" }]);
    expect(await calculateJwkThumbprint(jwkOf(vector))).toBe(vector.kid);
  });

  it("are listed once when two ids have the same signing key", async () => {
    const { keys } = await jwksOf(await ringOfKeys(`${OURS},k2:${base64(2)},k3:${base64(7)}`));
    expect(keys.map((key) => key.kid)).toEqual([kid, expect.not.stringMatching(kid)]);
  });

  it("are derived at the first use and not before, and once", async () => {
    const derive = vi.spyOn(crypto.subtle, "deriveBits");
    const ring = await ringOfKeys(`${OURS},k2:${base64(2)}`);
    expect(derive).not.toHaveBeenCalled();
    const text = await mintSession(ring, CLAIMS);
    await verifySession(ring, text, NOW);
    await jwksOf(ring);
    expect(derive).toHaveBeenCalledTimes(2);
  });

  it("are not used for other credentials", async () => {
    const ring = await ringOfKeys(OURS);
    const others = [
      await forgedCredential("token"),
      await forgedCredential("api_key"),
      "an-operator-token-of-some-length-without-any-dot",
      "",
      "eyJ",
      `eyJ${"A".repeat(100)}.eyJ${"A".repeat(100)}`,
      `eyJ${"A".repeat(SESSION_UNITS_MAX)}.eyJA.${"A".repeat(86)}`,
    ];
    const uses = (["deriveBits", "importKey", "sign", "verify", "digest"] as const).map((name) =>
      vi.spyOn(crypto.subtle, name),
    );
    for (const text of others) expect(await verifySession(ring, text, NOW)).toBeUndefined();
    for (const use of uses) expect(use).not.toHaveBeenCalled();
  });
});

describe("an attack", () => {
  it("is a forgery that would succeed but for one change", async () => {
    const ring = await ringOfKeys(OURS);
    expect(await verifySession(ring, await forge(PAYLOAD), NOW)).toEqual({
      state: "valid",
      claims: CLAIMS,
      signingId: "k1",
    });
    const key = await importJWK({ ...PUBLIC, d: OWN.d }, "ES256");
    const byLibrary = await new SignJWT(PAYLOAD).setProtectedHeader(HEADER).sign(key);
    expect(await verifySession(ring, byLibrary, NOW)).toEqual({ state: "valid", claims: CLAIMS, signingId: "k1" });
    const asked = { ...PAYLOAD, origins: ["https://a.example"], viewer_id: "v", variables: {} };
    expect(await verifySession(ring, await forge(asked), NOW)).toMatchObject({ state: "valid" });
  });

  const signHs256 = (secret: string) =>
    new SignJWT(PAYLOAD).setProtectedHeader({ ...HEADER, alg: "HS256" }).sign(utf8.encode(secret));
  /** The two integers of a signature as DER, as OpenSSL and Java write them. */
  const toDer = (text: string) => {
    const at = text.lastIndexOf(".");
    const raw = Uint8Array.fromBase64(text.slice(at + 1), { alphabet: "base64url" });
    const integer = (bytes: Uint8Array) => [2, bytes.length + 1, 0, ...bytes];
    const body = [...integer(raw.subarray(0, 32)), ...integer(raw.subarray(32))];
    const der = Uint8Array.from([0x30, body.length, ...body]);
    return `${text.slice(0, at)}.${encode(der)}`;
  };
  const withPart = (text: string, index: number, change: (part: string) => string) =>
    text
      .split(".")
      .map((part, each) => (each === index ? change(part) : part))
      .join(".");
  const unsigned = (header: object, signature = "") => `${base64url(header)}.${base64url(PAYLOAD)}.${signature}`;
  const signature = async () => (await forge(PAYLOAD)).split(".")[2] ?? "";

  it.for<[string, () => Promise<string>]>([
    ["alg none, made by a library", async () => new UnsecuredJWT(PAYLOAD).encode()],
    ["alg none with the kid", async () => unsigned({ ...HEADER, alg: "none" })],
    ["alg none and a signature", async () => unsigned({ ...HEADER, alg: "none" }, await signature())],
    ["the right header and no signature", async () => unsigned(HEADER)],
    ["the right header and a signature of zeros", async () => unsigned(HEADER, "A".repeat(86))],
    ["HS256 with the public key as JWK", () => signHs256(JSON.stringify(PUBLIC))],
    ["HS256 with the public point", () => signHs256(OWN.x + OWN.y)],
    ["alg in lower case", () => forge(PAYLOAD, { ...HEADER, alg: "es256" })],
    ["alg ES384", () => forge(PAYLOAD, { ...HEADER, alg: "ES384" })],
    ["another typ", () => forge(PAYLOAD, { ...HEADER, typ: "at+jwt" })],
    ["no typ", () => forge(PAYLOAD, { alg: "ES256", kid })],
    ["no kid", () => forge(PAYLOAD, { alg: "ES256", typ: "JWT" })],
    ["a kid of nobody", () => forge(PAYLOAD, { ...HEADER, kid: "k1" })],
    ["its own key in the header", () => forge(PAYLOAD, { ...HEADER, jwk: PUBLIC })],
    ["an address of keys in the header", () => forge(PAYLOAD, { ...HEADER, jku: "https://thief.example/jwks" })],
    ["an unknown crit", () => forge(PAYLOAD, { ...HEADER, crit: ["x"], x: 1 })],
    ["another order of the header", () => forge(PAYLOAD, { kid, typ: "JWT", alg: "ES256" })],
    ["another deployment's key", () => forge(PAYLOAD, { ...HEADER, kid: STRANGER.kid }, STRANGER)],
    ["another deployment's key, under our kid", () => forge(PAYLOAD, HEADER, STRANGER)],
    ["a changed payload", async () => withPart(await forge(PAYLOAD), 1, () => base64url({ ...PAYLOAD, sub: "other" }))],
    ["a DER signature", async () => toDer(await forge(PAYLOAD))],
    ["a signature that is too short", async () => (await forge(PAYLOAD)).slice(0, -1)],
    ["a signature that is too long", async () => `${await forge(PAYLOAD)}A`],
    [
      "a signature with spare bits",
      async () => withPart(await forge(PAYLOAD), 2, (part) => part.slice(0, -1) + nextLetter(part.at(-1))),
    ],
    ["padding", async () => withPart(await forge(PAYLOAD), 1, (part) => `${part}=`)],
    [
      "base64 instead of base64url",
      async () =>
        withPart(await forge(PAYLOAD), 2, (part) =>
          part
            .replaceAll("-", "+")
            .replaceAll("_", "/")
            .replace(/^[^+/]*$/, "+"),
        ),
    ],
    ["a trailing part", async () => `${await forge(PAYLOAD)}.${base64url(PAYLOAD)}`],
    ["a trailing dot", async () => `${await forge(PAYLOAD)}.`],
    ["a trailing line", async () => `${await forge(PAYLOAD)}\n`],
    ["a leading blank", async () => ` ${await forge(PAYLOAD)}`],
    ["too much text", () => forge({ ...PAYLOAD, variables: { a: "a".repeat(SESSION_UNITS_MAX) } })],
  ])("fails: %s", async ([, make]) => {
    expect(await verifySession(await ringOfKeys(OURS), await make(), NOW)).toBeUndefined();
  });

  const without = (name: keyof typeof PAYLOAD) => {
    const { [name]: _, ...rest } = PAYLOAD;
    return rest;
  };

  it.for<[string, unknown]>([
    ...(Object.keys(PAYLOAD) as (keyof typeof PAYLOAD)[]).flatMap((name): [string, unknown][] => [
      [`no ${name}`, without(name)],
      [`${name} null`, { ...PAYLOAD, [name]: null }],
      [`${name} in a list`, { ...PAYLOAD, [name]: [PAYLOAD[name]] }],
      [`${name} of the other type`, { ...PAYLOAD, [name]: typeof PAYLOAD[name] === "string" ? 1 : "1" }],
    ]),
    ["no object", []],
    ["a text", '"text"'],
    ["no JSON", "{"],
    ["an empty sub", { ...PAYLOAD, sub: "" }],
    ["a long sub", { ...PAYLOAD, sub: "s".repeat(256) }],
    ["a long iss", { ...PAYLOAD, iss: "i".repeat(301) }],
    ["a fraction for team_id", { ...PAYLOAD, team_id: 1.5 }],
    ["zero for team_id", { ...PAYLOAD, team_id: 0 }],
    ["a negative key", { ...PAYLOAD, key: -1 }],
    ["a huge key", { ...PAYLOAD, key: 2 ** 53 }],
    ["a seq of zero", { ...PAYLOAD, seq: 0 }],
    ["a text as seq", { ...PAYLOAD, seq: "17" }],
    ["a jti that is no UUID", { ...PAYLOAD, jti: "1" }],
    ["a jti of another version", { ...PAYLOAD, jti: PAYLOAD.jti.replace("-4f", "-1f") }],
    ["a short gen", { ...PAYLOAD, gen: PAYLOAD.gen.slice(0, -2) }],
    ["a gen with spare bits", { ...PAYLOAD, gen: `${PAYLOAD.gen.slice(0, -1)}R` }],
    ["a gen of other letters", { ...PAYLOAD, gen: `+${PAYLOAD.gen.slice(1)}` }],
    ["an unknown environment", { ...PAYLOAD, aud: "acme/Production" }],
    ["an environment in lower case", { ...PAYLOAD, aud: "acme/customer" }],
    ["an environment without its workspace", { ...PAYLOAD, aud: "/Customer" }],
    ["a workspace without its environment", { ...PAYLOAD, aud: "acme" }],
    ["an audience with a third part", { ...PAYLOAD, aud: "acme/Customer/x" }],
    ["a workspace that is no slug", { ...PAYLOAD, aud: "Acme/Customer" }],
    ["no origin in origins", { ...PAYLOAD, origins: [] }],
    ["eleven origins", { ...PAYLOAD, origins: new Array(11).fill("https://a.example") }],
    ["an origin that is not normalised", { ...PAYLOAD, origins: ["https://a.example/"] }],
    ["null as origin", { ...PAYLOAD, origins: ["null"] }],
    ["an origin that is no text", { ...PAYLOAD, origins: [1] }],
    ["an origin as origins", { ...PAYLOAD, origins: "https://a.example" }],
    ["an empty viewer_id", { ...PAYLOAD, viewer_id: "" }],
    ["a long viewer_id", { ...PAYLOAD, viewer_id: "v".repeat(256) }],
    ["null as viewer_id", { ...PAYLOAD, viewer_id: null }],
    ["a list as variables", { ...PAYLOAD, variables: [] }],
    ["null as variables", { ...PAYLOAD, variables: null }],
    ["a life of no second", { ...PAYLOAD, exp: PAYLOAD.iat }],
    ["a life before its start", { ...PAYLOAD, exp: PAYLOAD.iat - 1 }],
    ["a life of more than an hour", { ...PAYLOAD, exp: PAYLOAD.iat + 3601 }],
    ["a long life whose start is far ago", { ...PAYLOAD, iat: 1, exp: NOW_SECONDS + 300 }],
    ["a start in the future", { ...PAYLOAD, iat: NOW_SECONDS + 61, exp: NOW_SECONDS + 300 }],
    ["a fraction for exp", { ...PAYLOAD, exp: PAYLOAD.exp + 0.5 }],
  ])("of a thief of the signing key fails: %s", async ([, payload]) => {
    expect(await verifySession(await ringOfKeys(OURS), await forge(payload), NOW)).toBeUndefined();
  });

  it("fails with bytes that are no UTF-8", async () => {
    const bytes = utf8.encode(JSON.stringify({ ...PAYLOAD, sub: "?" }));
    bytes[bytes.indexOf("?".charCodeAt(0))] = 0xff;
    expect(await verifySession(await ringOfKeys(OURS), await forge(bytes), NOW)).toBeUndefined();
  });

  it("fails with any change of one character", async () => {
    const ring = await ringOfKeys(OURS);
    const text = await mintSession(ring, CLAIMS);
    const accepted: string[] = [];
    for (let at = 0; at <= text.length; at += 1) {
      const [before, after] = [text.slice(0, at), text.slice(at + 1)];
      const changes = ["A", "z", "_", ".", "=", "é", nextLetter(text[at])];
      const changed = [
        before + after,
        ...changes.flatMap((letter) => [before + letter + after, before + letter + text.slice(at)]),
      ];
      for (const each of changed) if (each !== text && (await verifySession(ring, each, NOW))) accepted.push(each);
    }
    expect(accepted).toEqual([]);
  });
});

/** The letter of base64url whose value is one more: another spelling of the same bytes at the end of a signature. */
function nextLetter(letter = "A"): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return alphabet[(alphabet.indexOf(letter) + 1) % 64] ?? "";
}

describe("an origin", () => {
  it.for([
    ["https://app.example.com", "https://app.example.com"],
    ["https://app.example.com/", "https://app.example.com"],
    ["HTTPS://App.Example.COM", "https://app.example.com"],
    ["https://app.example.com:443", "https://app.example.com"],
    ["http://app.example.com:80/", "http://app.example.com"],
    ["https://app.example.com:", "https://app.example.com"],
    ["https://app.example.com:8443", "https://app.example.com:8443"],
    ["http://localhost:3000", "http://localhost:3000"],
    ["http://127.0.0.1:8080/", "http://127.0.0.1:8080"],
    ["http://[::1]:3000", "http://[::1]:3000"],
    ["https://[0:0:0:0:0:0:0:1]", "https://[::1]"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
    ["https://example.com.", "https://example.com."],
    ["https://a_b.example", "https://a_b.example"],
  ] as const)("%s is written as %s", ([text, origin]) => {
    expect(normalizeOrigin(text)).toEqual({ ok: true, value: origin });
    expect(normalizeOrigin(origin)).toEqual({ ok: true, value: origin });
    expect(new URL(text).origin).toBe(origin);
  });

  it.for([
    "",
    "null",
    "*",
    "https://*",
    "https://*.example.com",
    "https://app.*.com",
    "app.example.com",
    "//app.example.com",
    "https:app.example.com",
    "https:/app.example.com",
    "https:///app.example.com",
    "https:\\\\app.example.com",
    "https://app.example.com//",
    "https://app.example.com/dashboards",
    "https://app.example.com/?a",
    "https://app.example.com?",
    "https://app.example.com#",
    "https://app.example.com/#a",
    "https://user@app.example.com",
    "https://user:password@app.example.com",
    "https://@app.example.com",
    "https://app.example.com:99999",
    "https://app.example.com:a",
    "https://",
    "https:///",
    " https://app.example.com",
    "https://app.example.com\n",
    "https://app\t.example.com",
    "https://app.example.com https://other.example",
    "https://app.example.com,https://other.example",
    "https://app.exa%2Fmple.com",
    "ftp://app.example.com",
    "file:///index.html",
    "data:text/html,",
    "javascript:alert(1)",
    "blob:https://app.example.com",
    "chrome-extension://abcdefgh",
    "ws://app.example.com",
    `https://${"o".repeat(300)}.example`,
  ])("is not %j", (text) => {
    expect(normalizeOrigin(text)).toEqual({ ok: false, failure: expect.stringMatching(/^Give .*\.$/) });
  });
});
