import { abortable } from "./abortable.ts";
import {
  type Call,
  type CallOptions,
  type Connection,
  type ConnectionOptions,
  connectionOf,
  parse,
  readResponse,
  redactForms,
  type ServiceResponse,
} from "./connection.ts";
import { isTransient, retriesOf } from "./retries.ts";
import { viewerProtocol } from "./viewer-protocol.ts";

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

/** The service at one address, called with viewer sessions. */
export type SessionConnection = ReturnType<typeof sessionConnection>;

/**
 * A session is minted when a call first needs one, and again in the first call after 80 % of its life; while that goes on or fails, calls
 * present the old one until its end. All calls share one mint. Throws a `TypeError` for options that cannot work.
 */
export function sessionConnection(options: ConnectionOptions, mint: SessionFunction) {
  if (typeof mint !== "function") throw new TypeError("Give session as a function.");
  // Throws for options that cannot work before the first session is there.
  connect(options, "unminted");
  const retry = retriesOf(options);
  const ending = new AbortController();
  const { signal: ended } = ending;
  let session: Session | undefined;
  let minting: Promise<Session> | undefined;

  async function mintWithRetries(): Promise<Session> {
    const old = session;
    try {
      let startedAt = 0;
      const work = async () => {
        // The life of a session starts in the service, after this.
        startedAt = performance.now();
        return received(await mint());
      };
      const minted = await retry(work, "session() did not resolve", isTransient, ended);
      const { token, seconds } = checked(minted);
      const lifeMs = seconds * 1000;
      session = {
        token,
        connection: connect(options, token),
        renewAt: startedAt + RENEWED_AT * lifeMs,
        endsAt: startedAt + lifeMs,
      };
      return session;
    } catch (error) {
      // Each failure halves the rest of the old session's life before the next attempt.
      if (old) old.renewAt = (performance.now() + old.endsAt) / 2;
      throw error;
    }
  }

  function renew(): Promise<Session> {
    minting ??= mintWithRetries().finally(() => {
      minting = undefined;
    });
    return minting;
  }

  async function find(refused?: string): Promise<Session> {
    // Another call may have replaced the refused one already.
    if (session?.token === refused) session = undefined;
    const found = session;
    const now = performance.now();
    // Aborting one call does not abort the mint that others wait for.
    if (!found || now >= found.endsAt) return renew();
    if (now >= found.renewAt) renew().catch(() => {});
    return found;
  }

  return {
    /** Sends a call as a `Connection` does. After a 401 it mints once more, and sends the call once more. */
    send: (call: Call, { signal }: CallOptions = {}): Promise<ServiceResponse> =>
      abortable(
        async (abort) => {
          const { token, connection } = await find();
          try {
            return await connection.send(call, { signal: abort });
          } catch (error) {
            if (Object(error).status !== 401) throw error;
          }
          return (await find(token)).connection.send(call, { signal: abort });
        },
        [signal, ended],
      ),

    /** Returns the session to present, but none with the token `refused`. */
    current: ({ signal }: CallOptions = {}, refused?: string): Promise<Session> =>
      abortable(() => find(refused), [signal, ended]),

    /** Rejects the calls and the mint that are in flight with an `AbortError`, and all later ones. */
    end: (): void => ending.abort(),
  };
}

const connect = (options: ConnectionOptions, token: string): Connection =>
  connectionOf(options, "token", token, viewerProtocol);

/** The body of a response. Throws the refusal of the backend's `sessionHandler`, with its code and sentence. */
async function received(minted: unknown): Promise<unknown> {
  const response = Object(minted);
  // Not by `instanceof`: servers such as Hono's replace the global Response, and fetch then returns one of another class.
  if (!response.headers) return minted;
  return response.ok ? parse(await response.text()) : readResponse(response, redactForms, viewerProtocol);
}

/** The error does not repeat the value: it may hold a session. */
function checked(minted: unknown): { token: string; seconds: number } {
  const { session = minted } = Object(minted);
  const { token, expires_in_seconds, expiresInSeconds } = Object(session);
  const seconds = expires_in_seconds ?? expiresInSeconds;
  if (typeof token !== "string" || !(typeof seconds === "number" && seconds > 0))
    throw new TypeError("session() gave none.");
  return { token, seconds };
}
