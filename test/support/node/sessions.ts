import { execFileSync } from "node:child_process";
import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** The signing key of these tests, 32 bytes of 7, and the key pair that the service derives from it. */
const SIGNING_KEYS = `k1:${Buffer.alloc(32, 7).toString("base64")}`;
const KID = "lliGSWUU3kCZb5_NQT4G59Ri3oNnXtBr0wYQchYpeHI";
const PUBLIC = {
  kty: "EC",
  crv: "P-256",
  x: "aO0u3xqO_IzRde8SnCauG6u7MB1bNjvtJquJZeNjrMg",
  y: "0q8PWGRAI-oB26i-lRs0nnXHOrI-g6EOtDobwaYjsMg",
};
const PRIVATE = { ...PUBLIC, d: "KW2eobTS_a1aLqHva2C6DxZzH-MmXwz0m_6qvQKknNM" };

/** The service's own code runs in a process of its own: it needs base64 of Uint8Array, which Node 24 has by a flag. */
const MINT = `
  import { readSigningKeys } from "./common/settings/signing-keys.ts";
  import { importRing } from "./src/domain/credentials/credential.ts";
  import { jwksOf, mintSession } from "./src/domain/credentials/viewer-session.ts";
  const [keys, ...sessions] = JSON.parse(process.argv[1]);
  const ring = await importRing(readSigningKeys(keys).value);
  const generation = new Uint8Array(16).fill(9);
  const tokens = await Promise.all(sessions.map((claims) => mintSession(ring, { ...claims, generation })));
  console.info(JSON.stringify({ jwks: await jwksOf(ring), tokens }));
`;

/** The claims in which the sessions of tests differ. */
export type Session = {
  issuer: string;
  providedId: string;
  viewerId?: string;
  teamId?: number;
  workspace?: string;
  origins?: string[];
  expiresInSeconds?: number;
};

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Mints sessions for environment Customer as the service does, and returns its public keys with them. */
export function mintSessions(sessions: Session[]): { jwks: object; tokens: string[] } {
  const claims = sessions.map(({ workspace = "verifiers", teamId = 4, expiresInSeconds = 300, ...session }) => ({
    ...session,
    teamId,
    environment: { workspace, tag: "Customer" },
    keyId: 1,
    id: "2f1f0c0e-6f0a-4f6e-9a53-0a9f6b1f7c11",
    issuedAtSeconds: nowSeconds() - 600,
    expiresAtSeconds: nowSeconds() + expiresInSeconds,
  }));
  const args = ["--js-base-64", "--input-type=module", "-e", MINT, JSON.stringify([SIGNING_KEYS, ...claims])];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * A session of `issuer` and the group `teamId` that is made here, and the same one with one thing wrong in each: verifiers must accept the
 * first, and refuse the others.
 */
export function forgedSessions(issuer: string, teamId: number): { valid: string; wrong: Record<string, string> } {
  const lifetime = { iat: nowSeconds() - 1, exp: nowSeconds() + 300 };
  // As a later release may make them, with a claim and a field that verifiers do not know.
  const later = { ug_locale: "de", max_stale_seconds: 60, group: { name: "Initech", locale: "de" } };
  const claims = { iss: issuer, aud: "verifiers/Customer", sub: "initech", team_id: teamId, ...lifetime, ...later };
  const header = { alg: "ES256", typ: "JWT", kid: KID };
  const own = createPrivateKey({ key: PRIVATE, format: "jwk" });
  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const signed = (head: object, body: object, key: KeyObject, dsaEncoding: "ieee-p1363" | "der" = "ieee-p1363") => {
    const text = `${encode(head)}.${encode(body)}`;
    return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding }).toString("base64url")}`;
  };
  const hs256 = (secret: string | Buffer) => {
    const text = `${encode({ ...header, alg: "HS256" })}.${encode(claims)}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  };
  const { exp: _, ...endless } = claims;
  const valid = signed(header, claims, own);
  const [, , signature = ""] = valid.split(".");
  const wrong = {
    "no text": "",
    "no JWT": "ugt_customer_x",
    "no JSON": "e.e.e",
    "a list as header": `${Buffer.from("[".repeat(5000)).toString("base64url")}.${encode(claims)}.${signature}`,
    "alg none": `${encode({ ...header, alg: "none" })}.${encode(claims)}.`,
    "alg none and a signature": `${encode({ ...header, alg: "none" })}.${encode(claims)}.${signature}`,
    "HS256 with the public key": hs256(JSON.stringify(PUBLIC)),
    "HS256 with the public key as PEM": hs256(
      createPrivateKey({ key: PRIVATE, format: "jwk" }).export({ type: "sec1", format: "pem" }),
    ),
    "a changed payload": `${encode(header)}.${encode({ ...claims, team_id: 5 })}.${signature}`,
    "a signature of zeros": `${encode(header)}.${encode(claims)}.${Buffer.alloc(64).toString("base64url")}`,
    "no signature": `${encode(header)}.${encode(claims)}.`,
    "a DER signature": signed(header, claims, own, "der"),
    "a stranger's key": signed(header, claims, stranger),
    "a stranger's kid": signed({ ...header, kid: "k1" }, claims, stranger),
    "a key of its own": signed({ ...header, kid: "k1", jwk: stranger.export({ format: "jwk" }) }, claims, stranger),
    "another issuer": signed(header, { ...claims, iss: "https://thief.example" }, own),
    "another environment": signed(header, { ...claims, aud: "verifiers/Testing" }, own),
    "no end": signed(header, endless, own),
    "an end in the past": signed(header, { ...claims, exp: nowSeconds() - 1 }, own),
  };
  return { valid, wrong };
}
