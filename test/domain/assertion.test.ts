import { UnsecuredJWT } from "jose";
import { describe, expect, it, vi } from "vitest";
import { hasSigned, importProviderKeys, readAssertion } from "../../src/domain/credentials/assertion.ts";
import { NOW } from "../support/clock.ts";
import { AUDIENCE, claimsOf, ISSUER, newPair, type ProviderPair, signed } from "../support/identity-provider.ts";

const EXPECTED = { issuer: ISSUER, audience: AUDIENCE };
const NOW_SECONDS = NOW.getTime() / 1000;
const DAY_SECONDS = 24 * 60 * 60;
/** A month of the longest sessions at Cloudflare Access, and a minute for both clocks. */
const SPAN_SECONDS = 31 * DAY_SECONDS + 60;
const utf8 = new TextEncoder();
const base64url = (value: string | Uint8Array) =>
  (typeof value === "string" ? utf8.encode(value) : value).toBase64({ alphabet: "base64url", omitPadding: true });

/** What the service makes of an assertion: the person, or why it is refused. */
async function verified(text: string, { jwk }: ProviderPair, expected = EXPECTED): Promise<unknown> {
  const read = readAssertion(text, expected, NOW.getTime());
  if (!read.ok) return read.failure;
  const { keyId, algorithm, email, issuedAtSeconds } = read.value;
  const keys = await importProviderKeys({ keys: [jwk] });
  const key = keys.find((each) => each.id === keyId && each.algorithm === algorithm);
  if (!key) return "no key";
  return (await hasSigned(key, read.value)) ? { email, issuedAtSeconds } : "no signature";
}

const at = (fields: object = {}, email = "ada@example.com") => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  return claimsOf(email, fields);
};
const ADA = { email: "ada@example.com", issuedAtSeconds: NOW_SECONDS };

/** What the service makes of an assertion with these claims and a valid signature. */
async function verifiedAs(fields: object, email?: string): Promise<unknown> {
  const pair = await newPair("k");
  return verified(await signed(pair, at(fields, email)), pair);
}

describe("an assertion", () => {
  it.for(["ES256", "RS256"] as const)("is taken with %s, and names the person", async (algorithm) => {
    const pair = await newPair("k", algorithm);
    expect(await verified(await signed(pair, at()), pair)).toEqual(ADA);
  });

  it("may have one audience or several, an nbf, and a verified address", async () => {
    for (const fields of [
      { aud: AUDIENCE },
      { aud: AUDIENCE, azp: AUDIENCE },
      { aud: AUDIENCE, azp: "a client that asks the provider for this audience" },
      { aud: [AUDIENCE, AUDIENCE] },
      { aud: ["other", AUDIENCE], azp: AUDIENCE },
      { nbf: NOW_SECONDS },
      { nbf: 0 },
      { email_verified: true },
      { email_verified: "true" },
      { groups: Array(400).fill("engineering") },
    ])
      expect(await verifiedAs(fields)).toEqual(ADA);
  });

  it("names an address in upper case by the same person", async () => {
    expect(await verifiedAs({}, "Ada@EXAMPLE.com")).toEqual(ADA);
  });

  it("may be from a clock that differs by 30 seconds", async () => {
    expect(await verifiedAs({ exp: NOW_SECONDS - 29 })).toEqual(ADA);
    expect(await verifiedAs({ exp: NOW_SECONDS - 30 })).toBe("it has expired");
    const ahead = { iat: NOW_SECONDS + 30, nbf: NOW_SECONDS + 30 };
    expect(await verifiedAs(ahead)).toMatchObject({ email: ADA.email });
    for (const fields of [{ iat: NOW_SECONDS + 31 }, { nbf: NOW_SECONDS + 31 }])
      expect(await verifiedAs(fields)).toBe("its iat or nbf is in the future");
  });

  it("may be 31 days and a minute old, last as long, and have fractions of seconds", async () => {
    for (const iat of [NOW_SECONDS - SPAN_SECONDS, NOW_SECONDS - 0.5])
      expect(await verifiedAs({ iat, exp: NOW_SECONDS + 0.5 })).toEqual({ email: ADA.email, issuedAtSeconds: iat });
    expect(await verifiedAs({ exp: NOW_SECONDS + SPAN_SECONDS })).toEqual(ADA);
    for (const fields of [{ iat: NOW_SECONDS - SPAN_SECONDS - 1 }, { exp: NOW_SECONDS + SPAN_SECONDS + 1 }])
      expect(await verifiedAs(fields)).toMatch(/31 days/);
  });
});

const ACCESS = {
  iss: "https://team.cloudflareaccess.com",
  aud: ["32eafc7626e974616deaf0dc3ce63d7bcbed58a2731e84d06bc3cdf1b53c4228"],
  type: "app",
  identity_nonce: "6ei69kawdKzMIAPF",
  sub: "7335d417-61da-459d-899c-0a01c76a2f94",
  country: "US",
};
const KEYCLOAK = {
  iss: "https://id.example.com/realms/staff",
  aud: "user-groups",
  azp: "user-groups",
  typ: "ID",
  jti: "6d1c9a3f",
  sid: "5a8e0c1b",
  auth_time: NOW_SECONDS - 60,
  acr: "1",
  email_verified: true,
  preferred_username: "ada",
};
const GOOGLE_AUDIENCE = "7-a.apps.googleusercontent.com";
const IAP_AUDIENCE = "/projects/1234567890/global/backendServices/1234567890123456789";

/** What the proxies of docs/operators/company-sign-in.md send: `iss`, `aud`, the times in seconds from now, and what else they sign. */
const PROXIES: [
  proxy: string,
  algorithm: "ES256" | "RS256",
  claims: { iss: string; aud: string | string[] },
  iat: number,
  exp: number,
][] = [
  ["Cloudflare Access, after a sign-in", "RS256", ACCESS, 0, 31 * DAY_SECONDS],
  ["Cloudflare Access, at the end of a month", "RS256", ACCESS, -31 * DAY_SECONDS + 1, 1],
  ["oauth2-proxy or mod_auth_openidc, with Keycloak", "RS256", KEYCLOAK, 0, 300],
  ["the same, with an audience more", "RS256", { ...KEYCLOAK, aud: ["account", "user-groups"] }, 0, 300],
  [
    "the same, with Google",
    "RS256",
    {
      ...{ iss: "https://accounts.google.com", aud: GOOGLE_AUDIENCE, azp: GOOGLE_AUDIENCE },
      ...{ sub: "1103", hd: "example.com", email_verified: true, at_hash: "HK6E_P6Dh8Y93mRNtsDB1Q" },
    },
    0,
    3600,
  ],
  [
    "the same, with Okta",
    "RS256",
    {
      ...{ iss: "https://example.okta.com", aud: "0oa1", sub: "00u1", ver: 1, jti: "ID.4", amr: ["pwd"], idp: "00o1" },
      ...{ auth_time: NOW_SECONDS, at_hash: "fc1", email_verified: true },
    },
    0,
    3600,
  ],
  [
    "the same, with Entra ID",
    "RS256",
    {
      ...{ iss: "https://login.microsoftonline.com/9122/v2.0", aud: "6cb0", nbf: NOW_SECONDS - 300, ver: "2.0" },
      ...{ oid: "690a", tid: "9122", sub: "HKZp", rh: "0.AX", uti: "4nS", preferred_username: "ada@example.com" },
    },
    -300,
    3600,
  ],
  [
    "Pomerium",
    "ES256",
    {
      ...{ iss: "https://groups.example.com/", aud: "groups.example.com", jti: "9a3b", sub: "7", user: "7" },
      ...{ groups: ["staff"], name: "Ada" },
    },
    0,
    300,
  ],
  [
    "Google IAP",
    "ES256",
    {
      ...{ iss: "https://cloud.google.com/iap", aud: IAP_AUDIENCE, azp: IAP_AUDIENCE, hd: "example.com" },
      ...{ sub: "accounts.google.com:1103", identity_source: "GOOGLE", google: { access_levels: [] } },
    },
    0,
    600,
  ],
];

it.for(PROXIES)("an assertion is taken as it is signed by %s", async ([, algorithm, claims, iat, exp]) => {
  const pair = await newPair("k", algorithm);
  const times = { iat: NOW_SECONDS + iat, exp: NOW_SECONDS + exp };
  const text = await signed(pair, { ...claims, ...times, email: ADA.email });
  const expected = { issuer: claims.iss, audience: [claims.aud].flat().at(-1) ?? "" };
  expect(await verified(text, pair, expected)).toEqual({ email: ADA.email, issuedAtSeconds: times.iat });
});

const WRONG_CLAIMS: [what: string, fields: object, reason: RegExp][] = [
  ["another issuer", { iss: "https://evil.example" }, /iss/],
  ["an issuer with a slash more", { iss: `${ISSUER}/` }, /iss/],
  ["no issuer", { iss: undefined }, /iss/],
  ["a list of issuers", { iss: [ISSUER] }, /iss/],
  ["another audience", { aud: "other" }, /aud/],
  ["other audiences", { aud: ["other", "another"] }, /aud/],
  ["a part of the audience", { aud: AUDIENCE.slice(0, -1) }, /aud/],
  ["an object as audience", { aud: { 0: AUDIENCE } }, /aud/],
  ["no audience", { aud: undefined }, /aud/],
  ["an empty list of audiences", { aud: [] }, /aud/],
  ["a list of audiences in a list", { aud: [[AUDIENCE]] }, /aud/],
  ["an audience that is no text", { aud: [AUDIENCE, 7], azp: AUDIENCE }, /aud/],
  ["two audiences, and no client that it was issued to", { aud: ["other", AUDIENCE] }, /azp/],
  ["two audiences, issued to another client", { aud: [AUDIENCE, "other"], azp: "other" }, /azp/],
  ["two audiences, and a list of clients that it was issued to", { aud: ["other", AUDIENCE], azp: [AUDIENCE] }, /azp/],
  ["two audiences, and null as the client", { aud: ["other", AUDIENCE], azp: null }, /azp/],
  ["an end that has passed", { exp: NOW_SECONDS - 60 }, /expired/],
  ["no end", { exp: undefined }, /missing/],
  ["an end as text", { exp: String(NOW_SECONDS + 600) }, /no number/],
  ["no time of its making", { iat: undefined }, /missing/],
  ["an end in the year 9999", { exp: 253_402_300_799 }, /31 days/],
  ["an end in milliseconds", { exp: NOW.getTime() + 600_000 }, /31 days/],
  ["a time of its making in 2001", { iat: 1_000_000_000 }, /31 days/],
  ["a time of its making before 1970", { iat: -1 }, /no number/],
  ["a beginning before 1970", { nbf: -1 }, /no number/],
  ["a beginning as text", { nbf: "0" }, /no number/],
  ["a beginning of null", { nbf: null }, /no number/],
  ["no address", { email: undefined }, /email/],
  ["an empty address", { email: "" }, /email/],
  ["a list of addresses", { email: ["ada@example.com"] }, /email/],
  ["an address that is not verified", { email_verified: false }, /email_verified/],
  ["an address that is not verified, as text", { email_verified: "false" }, /email_verified/],
  ["an address that may be verified", { email_verified: null }, /email_verified/],
];

const NO_ADDRESSES = [
  "ada",
  "ada@",
  "@example.com",
  "ada@example.com ",
  " ada@example.com",
  "ada@example.com\n",
  "ada@example.com\u0000",
  "ada@exam ple.com",
  "ada@example.com,eve@example.com",
  "Ada <ada@example.com>",
  "ada@ex\u00e4mple.com",
  "\u0430da@example.com",
  // The Kelvin sign, which is "k" in lower case.
  "\u212aate@example.com",
  "ada@example.com\u200b",
  "accounts.google.com:ada@example.com",
  "<script>@example.com",
  `${"a".repeat(250)}@example.com`,
];

describe("an assertion with a valid signature is refused", () => {
  it.for(WRONG_CLAIMS)("with %s", async ([, fields, reason]) => {
    expect(await verifiedAs(fields)).toMatch(reason);
  });

  it.for(NO_ADDRESSES)("with the address %j", async (email) => {
    expect(await verifiedAs({}, email)).toMatch(/email/);
  });

  it("with an extension that must be understood, and without the name of its key", async () => {
    const pair = await newPair("k");
    const [head, payload = "", signature = ""] = (await signed(pair, at())).split(".");
    expect(head).toBeDefined();
    for (const header of [{ crit: ["b64"], b64: false }, { kid: undefined }, { kid: "" }, { kid: 7 }]) {
      const changed = base64url(JSON.stringify({ alg: "ES256", kid: "k", ...header }));
      expect(await verified(`${changed}.${payload}.${signature}`, pair)).toMatch(/crit|kid/);
    }
  });
});

describe("a forged assertion is refused", () => {
  it("unsigned, in each spelling of none", async () => {
    const pair = await newPair("k");
    const unsigned = new UnsecuredJWT(at()).encode();
    expect(await verified(unsigned, pair)).toMatch(/compact form/);
    for (const alg of ["none", "None", "nOnE", "", null, ["ES256"], "toString", "HS256", "ES384", "PS256", "es256"])
      for (const signature of ["", "AAAA"]) {
        const [, payload = ""] = unsigned.split(".");
        const text = `${base64url(JSON.stringify({ alg, kid: "k" }))}.${payload}.${signature}`;
        expect(await verified(text, pair)).toMatch(/alg|compact form/);
      }
  });

  it("signed with HS256, with the public key as its secret", async () => {
    const pair = await newPair("k", "RS256");
    for (const secret of [JSON.stringify(pair.jwk), pair.jwk.n ?? "", pair.jwk.kid ?? ""]) {
      const hmac = { name: "HMAC", hash: "SHA-256" };
      const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["sign"]);
      for (const alg of ["HS256", "RS256"]) {
        const text = `${base64url(JSON.stringify({ alg, kid: "k" }))}.${base64url(JSON.stringify(at()))}`;
        const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(text)));
        expect(await verified(`${text}.${base64url(mac)}`, pair)).toMatch(/alg|no signature/);
      }
    }
  });

  it("signed by somebody else, under the name of the provider's key or another", async () => {
    const [pair, other] = [await newPair("k"), await newPair("k")];
    expect(await verified(await signed(other, at()), pair)).toBe("no signature");
    expect(await verified(await signed(await newPair("other"), at()), pair)).toBe("no key");
    const rsa = await newPair("k", "RS256");
    expect(await verified(await signed(rsa, at()), pair)).toBe("no key");
  });

  it("with its own key in its header", async () => {
    const [pair, own] = [await newPair("k"), await newPair("own")];
    const header = { jwk: own.jwk, jku: "https://evil.example/keys", x5u: "https://evil.example/keys" };
    expect(await verified(await signed(own, at(), header), pair)).toBe("no key");
    expect(await verified(await signed(own, at(), { ...header, kid: "k" }), pair)).toBe("no signature");
  });

  it("with a payload or a signature that was changed", async () => {
    const pair = await newPair("k");
    const [head = "", payload = "", signature = ""] = (await signed(pair, at())).split(".");
    const eve = base64url(JSON.stringify(at({}, "eve@example.com")));
    expect(await verified(`${head}.${eve}.${signature}`, pair)).toBe("no signature");
    for (const wrong of [signature.slice(0, -4), `${signature}AAAA`, "A".repeat(86), "A", "AA"])
      expect(await verified(`${head}.${payload}.${wrong}`, pair)).toBe("no signature");
  });

  it("that is no JWT, or is two of them, or too long", async () => {
    const pair = await newPair("k");
    const text = await signed(pair, at());
    const [head = "", payload = "", signature = ""] = text.split(".");
    const notJson = [base64url("[]"), base64url("null"), base64url("{"), base64url(new Uint8Array([0xff])), "A"];
    const [two, one] = [`${text}, ${text}`, `${text},${text}`];
    for (const wrong of [
      ...["", " ", ".", "..", `Bearer ${text}`, two, one, `${text} `, `${text}.`, `${head}.${payload}`],
      ...notJson.map((part) => `${part}.${payload}.${signature}`),
      ...notJson.map((part) => `${head}.${part}.${signature}`),
    ])
      expect(await verified(wrong, pair)).toMatch(/compact form/);
    expect(await verified(await signed(pair, at({ x: "x".repeat(12_300) })), pair)).toMatch(/longer than 16384/);
  });
});

describe("the provider's keys", () => {
  it("leave out those that must not verify assertions", async () => {
    const { jwk } = await newPair("ec");
    const { jwk: rsa } = await newPair("rsa", "RS256");
    const weak = await crypto.subtle.generateKey(
      { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) },
      true,
      ["sign", "verify"],
    );
    const weakJwk = "publicKey" in weak ? await crypto.subtle.exportKey("jwk", weak.publicKey) : {};
    const keys = [
      { ...jwk, use: "enc" },
      { ...jwk, alg: "ES384" },
      { ...jwk, alg: "RS256" },
      { ...jwk, kid: undefined },
      { ...jwk, kid: 7 },
      { ...jwk, x: "AAAA" },
      { ...jwk, crv: "P-384" },
      { ...rsa, alg: "RS512" },
      { ...rsa, alg: "RSA-OAEP" },
      { ...weakJwk, kid: "weak" },
      { kty: "oct", k: "AAAA", kid: "oct", alg: "HS256" },
      { kty: "OKP", crv: "Ed25519", x: "AAAA", kid: "okp" },
      null,
      7,
      "key",
      jwk,
      rsa,
    ];
    expect((await importProviderKeys({ keys })).map(({ id }) => id)).toEqual(["ec", "rsa"]);
    for (const none of [null, [], "keys", { keys: null }, { keys: {} }, { keys: "k" }])
      expect(await importProviderKeys(none)).toEqual([]);
  });
});
