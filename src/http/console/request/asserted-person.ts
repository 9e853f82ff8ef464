import {
  ASSERTION_RECENT_SECONDS_MAX,
  PROVIDER_KEYS_BYTES_MAX,
  PROVIDER_KEYS_FETCH_SECONDS_MAX,
  PROVIDER_KEYS_POLL_MS,
  PROVIDER_KEYS_SECONDS,
  PROVIDER_KEYS_STALE_SECONDS_MAX,
  PROVIDER_KEYS_UNKNOWN_SECONDS,
} from "../../../../common/limits.ts";
import { ssoIn } from "../../../../common/settings/settings.ts";
import {
  type Assertion,
  hasSigned,
  importProviderKeys,
  type ProviderKey,
  readAssertion,
  type UnverifiedAssertion,
} from "../../../domain/credentials/assertion.ts";
import { log } from "../../../domain/log.ts";
import { withTimeout } from "../../../domain/with-timeout.ts";
import type { RequestContext } from "../../app-env.ts";

/**
 * The person whom the company's proxy names in this request; `undefined` if nobody has set that up, and without a valid assertion. The
 * log line says why an assertion is refused.
 */
export async function assertedPerson(c: RequestContext): Promise<Assertion | undefined> {
  const sso = ssoIn(c.env);
  // Of several headers, this is a text with commas, which is no assertion: the proxy has to replace what a client sends.
  const text = sso && c.req.header(sso.header);
  if (!sso || text === undefined) return undefined;
  const refuse = (reason: string) => c.set("problem", `The assertion in ${sso.header} is refused: ${reason}.`);
  const read = readAssertion(text, sso, Date.now());
  if (!read.ok) {
    refuse(read.failure);
    return undefined;
  }
  const key = await findProviderKey(c.env, sso.jwksUrl, read.value);
  if (!key || !(await hasSigned(key, read.value))) {
    refuse(key ? "its signature is not valid" : "no key of SSO_JWKS_URL that the service knows has its kid");
    return undefined;
  }
  const { email, issuedAtSeconds } = read.value;
  return { email, issuedAtSeconds };
}

/** Whether the provider has made the assertion so lately that it stands for the operator's own key. */
export const isRecent = ({ issuedAtSeconds }: Assertion): boolean =>
  Date.now() / 1000 - issuedAtSeconds <= ASSERTION_RECENT_SECONDS_MAX;

declare global {
  interface Env {
    /** A service that reaches the host of SSO_JWKS_URL. Where there is none, the Worker fetches by itself. */
    SSO_JWKS?: Fetcher;
  }
}

/** The keys of one URL. All times are in milliseconds since 1970. */
type KnownKeys = {
  url: string;
  keys: ProviderKey[];
  fetchedAt: number;
  /** When the last try of schedule began, and the last one for an unknown `kid`. */
  triedAt: number;
  triedForUnknownAt: number;
  isFetching: boolean;
};

const noKeys = (url: string): KnownKeys => ({
  url,
  keys: [],
  fetchedAt: Number.NEGATIVE_INFINITY,
  triedAt: Number.NEGATIVE_INFINITY,
  triedForUnknownAt: Number.NEGATIVE_INFINITY,
  isFetching: false,
});

/** The keys that this isolate knows. They are no promise: that would belong to the request which made it, and could end with it. */
let last = noKeys("");

/**
 * Finds the public key that an assertion names; `undefined` if the provider has none, or could not be asked. The provider is asked at
 * most once in `PROVIDER_KEYS_SECONDS`, and for unknown `kid`s once in `PROVIDER_KEYS_UNKNOWN_SECONDS`, however many of those come. While it
 * does not answer, its last keys are used for a day.
 */
async function findProviderKey(
  env: Env,
  url: string,
  assertion: UnverifiedAssertion,
): Promise<ProviderKey | undefined> {
  if (last.url !== url) last = noKeys(url);
  const known = last;
  const isDue = isOlder(known.triedAt, PROVIDER_KEYS_SECONDS);
  if (!known.isFetching && isDue) await refresh(env, known, "triedAt");
  if (known.isFetching && !findIn(known, assertion)) await waitForKeys(known);
  const isUnknown = !isDue && !findIn(known, assertion);
  const isUnknownDue = isUnknown && isOlder(known.triedForUnknownAt, PROVIDER_KEYS_UNKNOWN_SECONDS);
  if (isUnknownDue && !known.isFetching) await refresh(env, known, "triedForUnknownAt");
  return findIn(known, assertion);
}

/** A time in the future is that of a clock which has been corrected. */
const isOlder = (time: number, seconds: number): boolean => Date.now() - time >= seconds * 1000 || Date.now() < time;

function findIn(
  { keys, fetchedAt }: KnownKeys,
  { keyId, algorithm }: Pick<UnverifiedAssertion, "keyId" | "algorithm">,
): ProviderKey | undefined {
  if (isOlder(fetchedAt, PROVIDER_KEYS_STALE_SECONDS_MAX)) return undefined;
  return keys.find((key) => key.id === keyId && key.algorithm === algorithm);
}

/** Waits, by timers of this request, while another request fetches the keys. */
async function waitForKeys(known: KnownKeys): Promise<void> {
  const triesMax = (PROVIDER_KEYS_FETCH_SECONDS_MAX * 1000) / PROVIDER_KEYS_POLL_MS;
  for (let tries = 0; known.isFetching && tries < triesMax; tries += 1) await scheduler.wait(PROVIDER_KEYS_POLL_MS);
}

/** Fetches the keys, and notes when in the field of the reason. A failure leaves those from before. */
async function refresh(env: Env, known: KnownKeys, reason: "triedAt" | "triedForUnknownAt"): Promise<void> {
  const now = Date.now();
  known.isFetching = true;
  known[reason] = now;
  const controller = new AbortController();
  try {
    known.keys = await withTimeout(fetchKeys(env, known.url, controller.signal), PROVIDER_KEYS_FETCH_SECONDS_MAX);
    known.fetchedAt = now;
  } catch (error) {
    log.error({ message: "The keys of SSO_JWKS_URL cannot be fetched. Sign-in by key goes on.", error: String(error) });
  } finally {
    known.isFetching = false;
    controller.abort();
  }
}

async function fetchKeys(env: Env, url: string, signal: AbortSignal): Promise<ProviderKey[]> {
  // A redirect could lead to somebody else's keys.
  const init = { redirect: "manual", signal, headers: { Accept: "application/json" } } as const;
  const response = await (env.SSO_JWKS ? env.SSO_JWKS.fetch(url, init) : fetch(url, init));
  if (response.status !== 200) throw new Error(`The answer has the status ${response.status}, and not 200.`);
  const keys = await importProviderKeys(JSON.parse(await textOf(response)));
  if (keys.length === 0) throw new Error("The answer has no key for ES256 or RS256.");
  return keys;
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > PROVIDER_KEYS_BYTES_MAX) throw new Error(`The answer is longer than ${PROVIDER_KEYS_BYTES_MAX} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
