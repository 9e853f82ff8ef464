import { setTimeout as delay } from "node:timers/promises";
import { ANSWER_MS_MAX, bodyOf, foreign, Refusal, type Refused, send, unreachable } from "../command.ts";
import { escapeInvisible } from "../support/printable.ts";

/** Of a service that has answered before, and may be starting again; and of one that may not be there at all. */
const TRIES_MAX = 10;
const FIRST_TRIES_MAX = 6;
/** The longest wait before the second try; it doubles from there. */
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 30_000;
const RETRY_AFTER_SECONDS_MAX = 300;
/** Refusals of the moment: too many calls, and a service that is not there just now, as is any 5xx of what stands before it. */
const PASSING = [429, 502, 503, 504];

/** What the service has answered. Its fields are as they came. */
type Answer = {
  status: number;
  body: {
    success: number;
    error?: Refused | undefined;
    new_user_group?: unknown;
    user_groups?: unknown;
    next_cursor?: unknown;
  };
};

/**
 * Makes calls that come to the same when they are made twice, each until it is answered: again after a lost connection and
 * after refusals that pass, some tries long, each wait random and longer than the last, and never shorter than Retry-After
 * asks. `stop` ends a wait with an AbortError, but no call that is under way.
 */
export class PatientCaller {
  readonly #credential: string;
  #isAnswered = false;

  constructor(credential: string) {
    this.#credential = credential;
  }

  async ask(url: URL, call: Parameters<typeof send>[2], stop?: AbortSignal): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const { status, text, retryAfter } = await tryOnce(url, this.#credential, call);
      const body = status === undefined ? undefined : bodyOf<Answer["body"]>(this.#credential, text);
      if (status !== undefined && !PASSING.includes(status)) {
        this.#isAnswered ||= body !== undefined;
        if (body) return { status, body };
        if (status < 500) throw foreign(url, status);
      }
      const triesMax = this.#isAnswered ? TRIES_MAX : FIRST_TRIES_MAX;
      if (tries >= triesMax || retryAfter > RETRY_AFTER_SECONDS_MAX)
        throw status === undefined ? unreachable(url) : tooBusy(url, status, body?.error);
      const backoff = Math.min(BACKOFF_MS * 2 ** (tries - 1), BACKOFF_MS_MAX) * (0.5 + Math.random() / 2);
      await delay(retryAfter * 1000 + backoff, undefined, stop && { signal: stop });
    }
  }
}

const tooBusy = (url: URL, status: number, error: Refused | undefined): Refusal =>
  new Refusal(
    `The service at ${url.origin} takes no more calls at the moment (status ${status}).${error ? ` It says ${sentenceOf(error)}` : ""}`,
  );

async function tryOnce(url: URL, credential: string, call: Parameters<typeof send>[2]) {
  const tooLate = new AbortController();
  // Not AbortSignal.timeout, of which those of all answered calls would stay for as long.
  const timer = setTimeout(() => tooLate.abort(), ANSWER_MS_MAX);
  try {
    const response = await send(url, credential, { ...call, signal: tooLate.signal });
    const retryAfter = secondsOf(response.headers.get("Retry-After") ?? "0");
    return { status: response.status, text: await response.text(), retryAfter };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return { status: undefined, text: "", retryAfter: 0 };
  } finally {
    clearTimeout(timer);
  }
}

/** A Retry-After is a number of seconds or a date (RFC 9110, section 10.2.3); what is neither asks for nothing. */
function secondsOf(retryAfter: string): number {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Math.max(seconds, 0) || 0;
}

/** A refusal in one line. What a file or a server says in control characters must not reach the terminal as such. */
export const sentenceOf = ({ code, message, issues = [] }: Refused): string =>
  escapeInvisible(
    [code, issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join(" ") || message].join(": "),
  );
