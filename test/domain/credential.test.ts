import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EnvironmentTag } from "../../common/environment.ts";
import { MINTED_TOKENS_MAX, VERIFIED_CREDENTIALS_MAX } from "../../common/limits.ts";
import { readSigningKeys } from "../../common/settings/signing-keys.ts";
import { type Claim, mintCredential, mintToken, verifyCredential } from "../../src/domain/credentials/credential.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { ringOfKeys } from "../support/signing-ring.ts";

const base64 = (byte: number, length = 32) => new Uint8Array(length).fill(byte).toBase64();

const numbered = {
  id: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  nonce: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => new Uint8Array(bytes)),
};
const environment = fc.record({
  workspace: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,39}$/),
  tag: fc.constantFrom<EnvironmentTag>("Customer", "Testing", null),
});
/** Claims of all three kinds. */
const claims: fc.Arbitrary<Claim> = fc.oneof(
  fc.record({ kind: fc.constantFrom("api_key" as const, "token" as const), environment, ...numbered }),
  fc.record({ kind: fc.constant("operator_key" as const), ...numbered }),
);

describe("a credential", () => {
  it("gives back what it was made of, its kind included", async () => {
    const ring = await ringOfKeys(`k1:${base64(1)}`);
    await fc.assert(
      fc.asyncProperty(claims, async (claim) => {
        const credential = await mintCredential(ring, claim);
        expect(credential).toMatch(new RegExp(`^${CREDENTIAL_PATTERN.source}$`));
        for (const reader of [ring, await ringOfKeys(`k1:${base64(1)}`)]) {
          const verified = await verifyCredential(reader, credential);
          expect(verified).toEqual({
            ...claim,
            ...(claim.kind !== "token" && { nonceHash: await crypto.subtle.digest("SHA-256", claim.nonce) }),
            fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
            signingId: "k1",
          });
          expect(verified).toEqual(await verifyCredential(ring, credential));
          expect(await mintCredential(reader, claim)).toBe(credential);
        }
      }),
    );
  });

  it("is cached after its verification, and a token after it was made, up to a bound", async () => {
    const maker = await ringOfKeys(`k1:${base64(1)}`);
    const ring = await ringOfKeys(`k1:${base64(1)}`);
    const environment = { workspace: "acme", tag: null };
    const nonce = new Uint8Array(16);
    const fingerprints = new Set<string>();
    for (let id = 1; id <= VERIFIED_CREDENTIALS_MAX + 10; id += 1) {
      const credential = await mintCredential(maker, { kind: "token", environment, id, nonce });
      const claim = await verifyCredential(ring, credential);
      expect(claim).toMatchObject({ id, nonce });
      expect(await verifyCredential(ring, credential)).toBe(claim);
      expect(await verifyCredential(maker, credential)).toEqual(claim);
      expect(credential).not.toContain(claim?.fingerprint);
      fingerprints.add(claim?.fingerprint ?? "");
    }
    expect(fingerprints.size).toBe(VERIFIED_CREDENTIALS_MAX + 10);
    for (const { verified } of [ring, maker]) expect(verified.size).toBe(10);
    await verifyCredential(ring, "ugt_untagged_forged");
    expect([...ring.verified.keys()].filter((credential) => credential.includes("forged"))).toEqual([]);
  });

  it("has the same text when it comes from the cache and when it is made, and another text for each other part", async () => {
    const ring = await ringOfKeys(`k1:${base64(1)},k2:${base64(2)}`);
    const claim = {
      kind: "token",
      environment: { workspace: "acme", tag: null },
      id: 1,
      nonce: new Uint8Array(16),
    } as const;
    const claims = [
      claim,
      { ...claim, id: 2 },
      { ...claim, nonce: new Uint8Array(16).fill(1) },
      { ...claim, environment: { workspace: "acme", tag: "Testing" } as const },
      { ...claim, environment: { workspace: "acme2", tag: null } },
    ];
    for (const each of [...claims, ...claims])
      for (const signingId of ["k1", "k2", "gone"])
        expect(await mintToken(ring, each, signingId)).toBe(await mintCredential(ring, each, signingId));
    expect(ring.tokens.size).toBe(15);
    for (let n = ring.tokens.size; n < MINTED_TOKENS_MAX; n += 1) ring.tokens.set(`name ${n}`, "a token");
    await mintToken(ring, { ...claim, id: 3 });
    expect(ring.tokens.size).toBeLessThanOrEqual(MINTED_TOKENS_MAX);
  });

  it("is refused after any change of one character", async () => {
    const ring = await ringOfKeys(`k1:${base64(1)}`);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. \né";
    const numbers = { id: 7, nonce: new Uint8Array(16).fill(9) };
    const changing: Claim[] = [
      ...["acme", "acme1", "acme12"].map(
        (workspace) => ({ kind: "token", environment: { workspace, tag: "Testing" }, ...numbers }) as const,
      ),
      { kind: "operator_key", ...numbers },
    ];
    for (const claim of changing) {
      const credential = await mintCredential(ring, claim);
      let accepted = 0;
      for (let at = 0; at <= credential.length; at += 1) {
        const [before, after] = [credential.slice(0, at), credential.slice(at + 1)];
        const changes = [...alphabet]
          .filter((letter) => letter !== credential[at])
          .map((letter) => before + letter + after);
        const swapped = [before + after, ...[...alphabet].map((letter) => before + letter + credential.slice(at))];
        for (const changed of [...changes, ...swapped])
          if (changed !== credential && (await verifyCredential(ring, changed))) accepted += 1;
      }
      expect(accepted).toBe(0);
    }
  });

  it("is refused when its tag or kind is exchanged for another", async () => {
    const ring = await ringOfKeys(`k1:${base64(1)}`);
    const environmentPrefixes = ["ugk", "ugt"].flatMap((kind) =>
      ["customer", "testing", "untagged"].map((tag) => `${kind}_${tag}_`),
    );
    await fc.assert(
      fc.asyncProperty(claims, async (claim) => {
        const credential = await mintCredential(ring, claim);
        const payload = /[^_]*_([\s\S]+)$/.exec(credential.replace(/_(customer|testing|untagged)/, ""))?.[1];
        const exchanged = [...environmentPrefixes, "ugo_"].map((prefix) => prefix + payload);
        expect(exchanged).toContain(credential);
        for (const each of exchanged) expect(Boolean(await verifyCredential(ring, each))).toBe(each === credential);
      }),
      { numRuns: 20 },
    );
  });

  it("is refused under every signing key but its own, even one of the same id", async () => {
    const ring = await ringOfKeys(`k1:${base64(1)}`);
    const stranger = await ringOfKeys(`k1:${base64(2)},k2:${base64(1)}`);
    await fc.assert(
      fc.asyncProperty(claims, async (claim) => {
        expect(await verifyCredential(stranger, await mintCredential(ring, claim))).toBeUndefined();
      }),
      { numRuns: 20 },
    );
  });

  it("is nothing that anybody made up", async () => {
    const ring = await ringOfKeys(`k1:${base64(1)}`);
    const payloads = fc.oneof(
      fc.string(),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => bytes.toBase64({ alphabet: "base64url", omitPadding: true })),
    );
    await fc.assert(
      fc.asyncProperty(payloads, async (payload) => {
        expect(await verifyCredential(ring, payload)).toBeUndefined();
        expect(await verifyCredential(ring, `ugt_testing_${payload}`)).toBeUndefined();
        expect(await verifyCredential(ring, `ugk_untagged_AQ${payload}`)).toBeUndefined();
        expect(await verifyCredential(ring, `ugo_AQ${payload}`)).toBeUndefined();
      }),
    );
  });

  it.for([
    ["ugk_untagged_", { kind: "api_key", environment: { workspace: "acme", tag: null } }, [4, 97, 99, 109, 101]],
    ["ugo_", { kind: "operator_key" }, [0]],
  ] as const)("has the form that is published, byte for byte: %s", async ([prefix, of, workspace]) => {
    const ring = await ringOfKeys(`k1:${base64(7)}`);
    const nonce = new Uint8Array(16).fill(5);
    const credential = await mintCredential(ring, { ...of, id: 258, nonce });
    expect(credential.startsWith(prefix)).toBe(true);
    const bytes = Uint8Array.fromBase64(credential.slice(prefix.length), { alphabet: "base64url" });
    expect([...bytes.slice(0, -16)]).toEqual([1, 2, 107, 49, ...workspace, 0, 0, 0, 0, 0, 0, 1, 2, ...nonce]);
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", new Uint8Array(32).fill(7), hmac, false, ["sign"]);
    const signed = new Uint8Array([...new TextEncoder().encode(prefix), ...bytes.slice(0, -16)]);
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
    expect([...bytes.slice(-16)]).toEqual([...mac.slice(0, 16)]);
  });
});

it.for([
  ["one key", `k1:${base64(1)}`, "k1"],
  ["two keys, of which the first signs", `k2:${base64(2)},k1:${base64(1)}`, "k2"],
  ["white space around", ` k1:${base64(1)} ,\n k2:${base64(2)}\n`, "k1"],
  ["a key of 64 bytes", `k1:${base64(1, 64)}`, "k1"],
] as const)("SIGNING_KEYS may hold %s", async ([, text, signingId]) => {
  expect((await ringOfKeys(text)).signingId).toBe(signingId);
});

it.for([
  ["nothing", "", "entry 1 is not of the form id:base64"],
  ["31 bytes", `k1:${base64(1, 31)}`, "entry 1 has 31 bytes; give 32 to 64"],
  ["65 bytes", `k1:${base64(1, 65)}`, "entry 1 has 65 bytes; give 32 to 64"],
  ["one id twice", `k1:${base64(1)},k1:${base64(2)}`, "the id of entry 2 is given twice"],
  ["broken base64", `k1:${base64(1)}A`, "entry 1 is not"],
  ["an id with a blank", `k 1:${base64(1)}`, "entry 1 is not of the form id:base64"],
  ["letters that base64 has not", "k1:!!!!", "entry 1 is not"],
  ["an empty entry", `k1:${base64(1)},`, "entry 2 is not of the form id:base64"],
  ["nine keys", Array.from({ length: 9 }, (_, n) => `k${n}:${base64(n)}`).join(","), "it holds 9 keys; 8 is the most"],
] as const)("SIGNING_KEYS may not hold %s", ([, text, sentence]) => {
  expect(readSigningKeys(text)).toEqual({ ok: false, failure: expect.stringContaining(sentence) });
});
