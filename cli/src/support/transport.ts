/** How `ug` calls the service: by the transport of the client, with bounds of its own. */
import { pause } from "../../../client/src/transport/abortable.ts";
import type { ConnectionOptions, Fetch } from "../../../client/src/transport/connection.ts";
import type { Waiting } from "../../../client/src/transport/retries.ts";
import { type Issue, UserGroupServiceError } from "../../../client/src/transport/user-group-service-error.ts";
import type { CommandError } from "../../../common/command-error.ts";
import { escapeInvisible } from "./printable.ts";
import { type Cause, causeOf, isRedirect, notTheService, redirected, SILENCE, unreachable } from "./service.ts";

/** For each piece of the first answer: a service that accepts calls and never answers, or not to the end, is reported soon. */
export const FIRST_ANSWER_MS_MAX = 10_000;
/** For every other answer: longer than the service takes to respond or to fail. */
const ANSWER_MS_MAX = 30_000;
const RETRY_AFTER_MS_MAX = 300_000;
/** Before the first answer: there may be no service. The waits are 1.5 s on average. */
const FIRST_RETRIES_MAX = 4;
/** Once the service has answered, it may be restarting. */
const RETRIES_MAX = 5;
/** For commands that call for hours, whose waits are about a minute. */
const LONG_RETRIES_MAX = 9;
/** Refusals with a 503 that last until an operator acts. */
const LASTING: readonly unknown[] = ["environment_restoring", "environment_damaged", "service_not_configured"];

/** How to call a service. `stop` ends waits between tries, but no request. */
export function connectionTo(url: URL, { isLong = false, stop }: { isLong?: boolean; stop?: AbortSignal } = {}) {
  let hasAnswered = false;
  let isHopeless = false;
  const fetchFirst: Fetch = async (to, init) => {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), FIRST_ANSWER_MS_MAX);
    try {
      const signals = [silence.signal, ...(init.signal ? [init.signal] : [])];
      const response = await fetch(to, { ...init, signal: AbortSignal.any(signals) });
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      for await (const chunk of response.body ?? []) {
        timer.refresh();
        chunks.push(chunk);
      }
      hasAnswered ||= response.status < 500;
      return new Response(response.body && new Blob(chunks), response);
    } finally {
      clearTimeout(timer);
      isHopeless ||= silence.signal.aborted;
    }
  };
  return {
    url,
    timeoutMs: ANSWER_MS_MAX,
    retries: isLong ? LONG_RETRIES_MAX : RETRIES_MAX,
    waitMsMax: RETRY_AFTER_MS_MAX,
    fetch: (to, init) =>
      (hasAnswered ? fetch(to, init) : fetchFirst(to, init)).catch((error: unknown) => {
        if (init.signal?.aborted) throw error;
        const cause = isHopeless ? SILENCE : causeOf(error);
        isHopeless ||= cause.isLasting === true;
        throw new Unreachable(cause);
      }),
    wait: async (ms, signal, error, failures) => {
      const isUseless = !hasAnswered && (isHopeless || failures >= FIRST_RETRIES_MAX);
      if (isUseless || LASTING.includes(Object(error).code)) throw error;
      await pause(ms, stop ?? signal);
    },
  } satisfies ConnectionOptions & Waiting;
}

/** No connection was made, and this is why. */
class Unreachable extends UserGroupServiceError {
  readonly why: Cause;

  constructor(why: Cause) {
    super("network_error", `The service cannot be reached${why.sentence}`);
    this.why = why;
  }
}

/** Why something was refused: a call, or a line of a file before any call. */
export type Refusal = { code: string; message: string; issues?: readonly Issue[] };

/** A refusal in one line. It may hold control characters of a file or a server, which must not reach the terminal. */
export const sentenceOf = ({ code, message, issues = [] }: Refusal): string =>
  escapeInvisible(
    [code, issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join(" ") || message].join(": "),
  );

/** The error to show for a call that the service has not answered; `undefined` for all others. */
export function unansweredError(error: unknown, url: URL): CommandError | undefined {
  if (!(error instanceof UserGroupServiceError)) return undefined;
  const { code, status } = error;
  if (code === "network_error" || code === "timeout")
    return unreachable(url, error instanceof Unreachable ? error.why : undefined);
  if (code !== "unexpected_answer") return undefined;
  return status !== undefined && isRedirect(status) ? redirected(url) : notTheService(url, status);
}
