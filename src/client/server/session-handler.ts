import type { MintSessionInput, ViewerSession } from "../resources/viewer-session.ts";
import type { UserGroupServiceError } from "../transport/user-group-service-error.ts";
import type { UserGroupClient } from "../user-group-client.ts";
import { failureOf, maySucceedLater } from "./failure.ts";
import { checkedOrigins, isFrom } from "./origins.ts";
import { noStore, refusal } from "./refusal.ts";

/** A page waits for its session for 10 seconds. */
const MINT_MS_MAX = 8_000;

type Awaitable<Value> = Value | Promise<Value>;

/**
 * How the endpoint knows the person. `User` is your own type of somebody who has signed in. `Context` is what your framework passes
 * besides the request.
 */
export type SessionHandlerOptions<User, Context extends unknown[]> = Pick<
  MintSessionInput,
  "expiresInSeconds" | "maxStaleSeconds" | "includeVariables"
> & {
  /** The client with your API key. The scope `sessions:create` is enough. */
  client: Pick<UserGroupClient, "mintSession">;
  /** Who has signed in, by your own sign-in, such as a cookie; `undefined` or `null` if nobody has. */
  user: (request: Request, ...context: Context) => Awaitable<User | null | undefined>;
  /**
   * The `userGroupId` of the person's customer, from your own records; `undefined` if there is none. Never take it from the request: a
   * person who can choose it can see every customer.
   */
  customer: (user: User) => Awaitable<string | undefined>;
  /** Your id of the person, by which `endSessions` finds the sessions, and what only this person may see. */
  viewer: (user: User) => Awaitable<Pick<MintSessionInput, "viewerId" | "viewerProperties">>;
  /** Where people see your pages, such as `https://app.example.com`; 1 to 10. No other site's pages get a session or can use one. */
  origins: readonly string[];
  /** Is called with each failure that the page cannot explain: the service is down, or refuses your API key. By default it logs one line. */
  onFailure?: ((error: UserGroupServiceError, userGroupId: string) => void) | undefined;
};

/** Answers a page that asks for a viewer session. */
export type SessionHandler<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => Promise<Response>;

/**
 * The endpoint from which a page gets its viewer session, for a POST of the page. Besides the session it has four outcomes, each with a
 * `code`, a sentence and a status: `signed_out` (401), `user_group_suspended` (403), `user_group_not_found` (404: deleted, or never
 * created) and `service_unavailable` (503; 500 if only you can fix it, such as an API key that has expired). A page's `ViewerClient`
 * retries only the 503.
 *
 * @example
 * import { UserGroupClient } from "user-group-service/client";
 * import { sessionHandler } from "user-group-service/server";
 *
 * const client = new UserGroupClient({ url: "http://localhost:8787", apiKey: process.env.API_KEY ?? "" });
 * await client.ensure({ userGroupId: "kit", name: "The kit's shop" });
 *
 * type Person = { id: string; shop: string };
 * const people = new Map<string | null, Person>([["sid=1", { id: "jane", shop: "kit" }]]);
 *
 * const handler = sessionHandler({
 *   client,
 *   user: (request) => people.get(request.headers.get("Cookie")),
 *   customer: (person) => person.shop,
 *   viewer: (person) => ({ viewerId: person.id }),
 *   origins: ["https://app.example.com"],
 * });
 *
 * const askFor = async (headers: HeadersInit) =>
 *   (await handler(new Request("https://app.example.com/session", { method: "POST", headers }))).status;
 * console.info(await askFor({ Cookie: "sid=1" }), await askFor({}));
 * // 200 401
 */
export function sessionHandler<User, Context extends unknown[] = []>(
  options: SessionHandlerOptions<User, Context>,
): SessionHandler<Context> {
  const origins = checkedOrigins(options.origins);
  return async (request, ...context) => {
    if (request.method !== "POST") return refusal("method_not_allowed", { headers: { Allow: "POST" } });
    if (!isFrom(request, origins)) return refusal("origin_not_allowed");
    const user = await options.user(request, ...context);
    if (user === undefined || user === null) return refusal("signed_out");
    const userGroupId = await options.customer(user);
    if (userGroupId === undefined) return refusal("user_group_not_found");

    const { expiresInSeconds, maxStaleSeconds, includeVariables } = options;
    const { viewerId, viewerProperties } = await options.viewer(user);
    const input = { userGroupId, viewerId, viewerProperties, expiresInSeconds, maxStaleSeconds, includeVariables };
    try {
      const signal = AbortSignal.timeout(MINT_MS_MAX);
      return sessionAnswer(await options.client.mintSession({ ...input, origins: [...origins] }, { signal }));
    } catch (error) {
      return refusalOf(failureOf(error), (failure) => (options.onFailure ?? logFailure)(failure, userGroupId));
    }
  };
}

/** The answer of the service to a mint, which the page's client reads. */
const sessionAnswer = ({ token, expiresAt, expiresInSeconds, maxStaleSeconds }: ViewerSession) =>
  noStore(
    {
      success: 1,
      session: {
        token,
        expires_at: expiresAt,
        expires_in_seconds: expiresInSeconds,
        max_stale_seconds: maxStaleSeconds,
      },
    },
    { status: 200 },
  );

/** What the page may know of a failed mint. The service's 401 is a problem of your API key, and not of the person. */
function refusalOf(failure: UserGroupServiceError, onFailure: (failure: UserGroupServiceError) => void): Response {
  const { code, retryAfterMs } = failure;
  if (code === "user_group_suspended" || code === "user_group_not_found") return refusal(code);
  onFailure(failure);
  if (!maySucceedLater(failure)) return refusal("service_unavailable", { status: 500 });
  const headers = retryAfterMs === undefined ? {} : { "Retry-After": `${Math.ceil(retryAfterMs / 1000)}` };
  return refusal("service_unavailable", { headers });
}

const logFailure = ({ code, message }: UserGroupServiceError, userGroupId: string): void =>
  console.error(`No session for ${JSON.stringify(userGroupId)}: ${code}: ${message}`);
