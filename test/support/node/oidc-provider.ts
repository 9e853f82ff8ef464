import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { freePort } from "./free-port.ts";

export const CLIENT_ID = "user-groups";
const TOKEN_SECONDS = 300;

/** A key pair that signs for the provider, or pretends to. */
export type SigningPair = { id: string; privateKey: CryptoKey; jwk: JWK };

/** Makes a key pair for RS256, which every provider has. */
export async function newSigningPair(id: string): Promise<SigningPair> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  return { id, privateKey, jwk: { ...(await exportJWK(publicKey)), kid: id, alg: "RS256", use: "sig" } };
}

/** Who sits at the browser, as the provider knows them. */
export type Person = { sub: string; email: string };

/** An OpenID provider of one browser, whose person is signed in without a form. It gives no refresh token to a person who is gone. */
export class OidcProvider {
  person: Person | undefined;
  #pair: SigningPair;
  #server: Server | undefined;
  readonly #port: number;
  /** The nonces of sign-ins, by their codes. */
  readonly #nonces = new Map<string, string>();
  /** The id of the person's session here, which tokens contain. */
  readonly #sid = randomUUID();

  private constructor(port: number, pair: SigningPair) {
    this.#port = port;
    this.#pair = pair;
  }

  static async start(): Promise<OidcProvider> {
    const provider = new OidcProvider(await freePort(), await newSigningPair("first"));
    await provider.listen();
    return provider;
  }

  get issuer(): string {
    return `http://localhost:${this.#port}`;
  }

  async listen(): Promise<void> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await once(this.#server.listen(this.#port, "localhost"), "listening");
  }

  /** Goes down, with all of its connections. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    this.#server?.closeAllConnections();
    await closed;
  }

  /** From here on, another key signs, and the first one is not published any more. */
  async rotateKeys(): Promise<void> {
    this.#pair = await newSigningPair(randomUUID());
  }

  /** Signs claims. `pair` pretends to be the provider. */
  sign(claims: object, pair: SigningPair = this.#pair): Promise<string> {
    return new SignJWT({ iss: this.issuer, aud: CLIENT_ID, jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: "RS256", kid: this.#pair.id })
      .setIssuedAt()
      .setExpirationTime(`${TOKEN_SECONDS} s`)
      .sign(pair.privateKey);
  }

  get jwk(): JWK {
    return this.#pair.jwk;
  }

  /** The token of OpenID Connect Back-Channel Logout 1.0, section 2.4. */
  logoutToken(sub: string): Promise<string> {
    return this.sign({ sub, sid: this.#sid, events: { "http://schemas.openid.net/event/backchannel-logout": {} } });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.issuer);
    const json = (body: object, status = 200) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    if (url.pathname === "/.well-known/openid-configuration") json(this.#metadata());
    else if (url.pathname === "/jwks") json({ keys: [this.#pair.jwk] });
    else if (url.pathname === "/authorize") this.#authorize(url.searchParams, response);
    else if (url.pathname === "/token") {
      const tokens = await this.#tokens(new URLSearchParams(await text(request)));
      json(tokens ?? { error: "invalid_grant" }, tokens ? 200 : 400);
    } else response.writeHead(404).end();
  }

  #metadata() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      token_endpoint_auth_methods_supported: ["client_secret_basic"],
      backchannel_logout_supported: true,
    };
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    if (!this.person) {
      response.writeHead(403, { "Content-Type": "text/html" }).end("<h1>The provider knows nobody here</h1>");
      return;
    }
    const code = randomUUID();
    this.#nonces.set(code, query.get("nonce") ?? "");
    const back = new URL(query.get("redirect_uri") ?? "");
    back.search = String(new URLSearchParams({ code, state: query.get("state") ?? "" }));
    response.writeHead(302, { Location: back.href }).end();
  }

  async #tokens(form: URLSearchParams): Promise<object | undefined> {
    const nonce = this.#nonces.get(form.get("code") ?? "");
    if (!this.person || (nonce === undefined && form.get("grant_type") !== "refresh_token")) return undefined;
    const idToken = await this.sign({ ...this.person, email_verified: true, sid: this.#sid, nonce });
    // The access token ends before the proxy's next request, so that each request asks the provider again.
    return {
      token_type: "Bearer",
      access_token: randomUUID(),
      expires_in: 1,
      refresh_token: randomUUID(),
      id_token: idToken,
    };
  }
}
