import { env } from "cloudflare:workers";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

/** An identity provider of tests, and its proxy, which sends signed assertions in a header. */

export const SSO_HEADER = "X-Assertion";
export const ISSUER = "https://sso.example.com";
export const AUDIENCE = "user-groups";

type Algorithm = "ES256" | "RS256";

/** A key pair of the provider. */
export type ProviderPair = { id: string; algorithm: Algorithm; privateKey: CryptoKey; jwk: JWK };

/** Makes a key pair. */
export async function newPair(id: string, algorithm: Algorithm = "ES256"): Promise<ProviderPair> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  return { id, algorithm, privateKey, jwk: { ...(await exportJWK(publicKey)), kid: id, alg: algorithm, use: "sig" } };
}

/** The claims of a valid assertion that is made now. */
export function claimsOf(email: string, fields: object = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return { iss: ISSUER, aud: [AUDIENCE], sub: "7", email, iat: now, exp: now + 600, ...fields };
}

/** Signs claims. The fields of `header` replace those that the key gives. */
export const signed = (
  { id, algorithm, privateKey }: ProviderPair,
  claims: Record<string, unknown>,
  header: object = {},
): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: algorithm, typ: "JWT", kid: id, ...header }).sign(privateKey);

let urls = 0;

/** A provider whose keys the Worker fetches: the requests that it gets, and what it answers. */
export type Provider = {
  requests: Request[];
  pairs: ProviderPair[];
  /** Answers in place of the key set. */
  answer: (() => Response | Promise<Response>) | undefined;
  /** The environment of a Worker that is set up for this provider. */
  env: Env;
  /** The headers with a valid assertion for an address. */
  headersFor: (email: string, fields?: object) => Promise<Record<string, string>>;
};

/** A provider with one key, at a URL of its own, so that no isolate knows its keys. */
export async function newProvider(pair?: ProviderPair): Promise<Provider> {
  urls += 1;
  const requests: Request[] = [];
  const first = pair ?? (await newPair("key-1"));
  const fetcher = {
    fetch: async (url: string, init: RequestInit) => {
      requests.push(new Request(url, init));
      return provider.answer?.() ?? Response.json({ keys: provider.pairs.map(({ jwk }) => jwk) });
    },
  };
  const provider: Provider = {
    requests,
    pairs: [first],
    answer: undefined,
    env: {
      ...env,
      SSO_HEADER,
      SSO_ISSUER: ISSUER,
      SSO_AUDIENCE: AUDIENCE,
      SSO_JWKS_URL: `${ISSUER}/keys/${urls}`,
      SSO_JWKS: fetcher as unknown as Fetcher,
    },
    headersFor: async (email, fields) => ({
      [SSO_HEADER]: await signed(provider.pairs[0] ?? first, claimsOf(email, fields)),
    }),
  };
  return provider;
}
