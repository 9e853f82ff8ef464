import {
  type Call,
  type CallOptions,
  Connection,
  type ConnectionOptions,
  parse,
  readResponse,
  redactForms,
  type ServiceResponse,
} from "./connection.ts";
import { isTransient, OPTION_MS_MAX, Retries } from "./retries.ts";
import { viewerProtocol } from "./viewer-protocol.ts";
import { withTimeout } from "./with-timeout.ts";

/** A viewer session: the `session` of `POST /api/viewer_sessions`, or what `mintSession` of a `UserGroupClient` returns. */
export type MintedSession = { token: string } & ({ expires_in_seconds: number } | { expiresInSeconds: number });

/**
 * Gets a new viewer session from your own backend, which alone may mint one. It resolves to the `Response` of your
 * `sessionHandler`, to the service's whole answer, or to the session.
 */
export type SessionFunction = () => Promise<Response | MintedSession | { session: MintedSession }>;

/** A session to present. The times are those of `performance.now()`, which does not depend on the clock of the machine. */
type Session = { token: string; connection: Connection; renewAt: number; endsAt: number };

/** The share of its life after which a session is renewed. */
const RENEWED_AT = 0.8;

/**
 * The service at one address, called with viewer sessions. A session is minted when a call first needs one, and again in
 * the first call after 80 % of its life; while that goes on or fails, calls present the old one until its end. All calls
 * share one mint.
 */
export class SessionConnection {
  readonly #options: ConnectionOptions;
  readonly #mint: () => Promise<unknown>;
  readonly #retries: Retries;
  #session: Session | undefined;
  #minting: Promise<Session> | undefined;

  /** Throws a `TypeError` for options that cannot work. */
  constructor(options: ConnectionOptions, mint: SessionFunction) {
    if (typeof mint !== "function") throw new TypeError("Give session as a function.");
    this.#options = options;
    // It may also throw instead of rejecting.
    this.#mint = async () => received(await mint());
    this.#retries = new Retries(options);
    // Throws for options that cannot work before the first session is there.
    connect(options, "unminted");
  }

  /** Sends a call as a `Connection` does. After a 401 it mints once more, and sends the call once more. */
  async send(call: Call, options?: CallOptions): Promise<ServiceResponse> {
    const { token, connection } = await this.current(options);
    try {
      return await connection.send(call, options);
    } catch (error) {
      if (Object(error).status !== 401) throw error;
    }
    return (await this.current(options, token)).connection.send(call, options);
  }

  /** Returns the session to present, but none with the token `refused`. */
  async current(options?: CallOptions, refused?: string): Promise<Session> {
    // Another call may have replaced the refused one already.
    if (this.#session?.token === refused) this.#session = undefined;
    const session = this.#session;
    const now = performance.now();
    // Aborting one call must not abort the mint that others wait for.
    if (!session || now >= session.endsAt) return withTimeout(() => this.#renew(), OPTION_MS_MAX, options?.signal);
    if (now >= session.renewAt) this.#renew().catch(() => {});
    return session;
  }

  #renew(): Promise<Session> {
    this.#minting ??= this.#mintWithRetries().finally(() => {
      this.#minting = undefined;
    });
    return this.#minting;
  }

  async #mintWithRetries(): Promise<Session> {
    const old = this.#session;
    try {
      let startedAt = 0;
      const minted = await this.#retries.run(() => {
        // The life of a session starts in the service, after this.
        startedAt = performance.now();
        return this.#retries.limit(this.#mint, "session() did not resolve");
      }, isTransient);
      const { token, seconds } = checked(minted);
      const lifeMs = seconds * 1000;
      this.#session = {
        token,
        connection: connect(this.#options, token),
        renewAt: startedAt + RENEWED_AT * lifeMs,
        endsAt: startedAt + lifeMs,
      };
      return this.#session;
    } catch (error) {
      // Each failure halves the rest of the old session's life before the next attempt.
      if (old) old.renewAt = (performance.now() + old.endsAt) / 2;
      throw error;
    }
  }
}

const connect = (options: ConnectionOptions, token: string) => new Connection(options, "token", token, viewerProtocol);

/** The body of a response. Throws the refusal of the backend's `sessionHandler`, with its code and sentence. */
async function received(minted: unknown): Promise<unknown> {
  if (!(minted instanceof Response)) return minted;
  return minted.ok ? parse(await minted.text()) : readResponse(minted, redactForms, viewerProtocol);
}

/** The error does not repeat the value: it may hold a session. */
function checked(minted: unknown): { token: string; seconds: number } {
  const { session = minted } = Object(minted);
  const { token, expires_in_seconds, expiresInSeconds } = Object(session);
  const seconds = expires_in_seconds ?? expiresInSeconds;
  if (typeof token !== "string" || !(typeof seconds === "number" && seconds > 0))
    throw new TypeError("session() did not resolve to { token, expires_in_seconds }.");
  return { token, seconds };
}
