import type { MintSessionInput, ViewerSession } from "../resources/viewer-session.ts";
import type { UserGroupServiceError } from "../transport/user-group-service-error.ts";
import type { UserGroupClient } from "../user-group-client.ts";
import { type Deferrable, deferred, refuseEmpty, refuseOtherThanFunctions } from "./options.ts";
import { checkedOrigins } from "./origins.ts";
import { failureOf, maySucceedLater, noStore, refusal } from "./refusal.ts";
import { endInTime, type Handler, refusalOfRequest, type SignedIn } from "./signed-in.ts";

/** A page waits for its session for 10 seconds. */
const MINT_MS_MAX = 8_000;

/** For how long your sign-out may run after the end of the person's sessions, and differences between the two clocks. */
const ENDED_MARGIN_MS = 500;

type Viewer = Pick<MintSessionInput, "viewerId" | "viewerProperties" | "claims">;

/** How the endpoint knows the person, and what it mints. */
export type SessionHandlerOptions<User, Context extends unknown[]> = SignedIn<User, Context> &
  Pick<MintSessionInput, "expiresInSeconds" | "maxStaleSeconds" | "includeVariables"> & {
    /** The client with your API key. The scope `sessions:create` is enough. Without `endSessions`, a session that is not sent lives on. */
    client: Pick<UserGroupClient, "mintSession"> & Partial<Pick<UserGroupClient, "endSessions">>;
    /** Is called with each failure that the page cannot explain: the service is down, or refuses your API key. By default it logs one line. */
    onFailure?: ((error: UserGroupServiceError, userGroupId: string) => void) | undefined;
  };

/** Answers a page that asks for a viewer session. */
export type SessionHandler<Context extends unknown[] = []> = Handler<Context>;

/**
 * The endpoint from which a page gets its viewer session, for a POST of the page. Besides the session it has four outcomes, each with a
 * `code`, a sentence and a status: `signed_out` (401), `user_group_suspended` (403), `user_group_not_found` (404: deleted, or never
 * created) and `service_unavailable` (503; 500 if only you can fix it, such as an API key that has expired). A page's `ViewerClient`
 * retries only the 503.
 *
 * It asks `user` twice: if the person has changed or signed out by the time of the mint, the session is ended, and the answer is
 * `signed_out`. If `viewer` has no `viewerId`, the person has changed when `viewerProperties` or `claims` differ. Some frameworks read a
 * sign-in once for each request, and do not notice the sign-out. So if the person's sessions were ended since `user` was first asked, the
 * session is ended, too, and the page asks again after a second, by `service_unavailable` (503).
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
  given: Deferrable<SessionHandlerOptions<User, Context>>,
): SessionHandler<Context> {
  if (typeof given === "function") return deferred(() => sessionHandler(given()));
  const options = given;
  refuseEmpty("client", options.client);
  refuseOtherThanFunctions(options, ["user", "customer", "viewer"]);
  const origins = checkedOrigins(options.origins);
  const { client, onFailure = logFailure, expiresInSeconds, maxStaleSeconds, includeVariables } = options;

  async function mint(userGroupId: string, viewer: Viewer): Promise<ViewerSession | Response> {
    try {
      const input = {
        userGroupId,
        // Left out if it is missing, and refused by the client if it is undefined.
        ...("viewerId" in viewer && { viewerId: viewer.viewerId }),
        ...("viewerProperties" in viewer && { viewerProperties: viewer.viewerProperties }),
        ...("claims" in viewer && { claims: viewer.claims }),
        origins: [...origins],
        expiresInSeconds,
        maxStaleSeconds,
        includeVariables,
      };
      return await client.mintSession(input, { signal: AbortSignal.timeout(MINT_MS_MAX) });
    } catch (error) {
      return refusalOf(failureOf(error), (failure) => onFailure(failure, userGroupId));
    }
  }

  async function end({ token: session }: ViewerSession, userGroupId: string): Promise<void> {
    try {
      const reason = "signed out during the mint";
      await endInTime(async (signal) => client.endSessions?.({ session, reason }, { signal }));
    } catch (error) {
      onFailure(failureOf(error), userGroupId);
    }
  }

  return async (request, ...context) => {
    const refused = refusalOfRequest(request, origins);
    if (refused) return refused;
    const askedAt = performance.now();
    const user = await options.user(request, ...context);
    if (user === undefined || user === null) return refusal("signed_out");
    const userGroupId = await options.customer(user);
    if (userGroupId === undefined) return refusal("user_group_not_found");
    const viewer = await options.viewer(user);

    const minted = await mint(userGroupId, viewer);
    if (minted instanceof Response) return minted;
    const waitedMs = performance.now() - askedAt;
    // The person may have signed out meanwhile, and the end of their sessions came before this one.
    const isSame = async () => {
      const now = await options.user(request, ...context);
      if (now === undefined || now === null) return false;
      if ((await options.customer(now)) !== userGroupId) return false;
      return personOf(await options.viewer(now)) === personOf(viewer);
    };
    const isSignedIn = await isSame().catch(async (error: unknown) => {
      await end(minted, userGroupId);
      throw error;
    });
    if (isSignedIn && !isEnded(minted, waitedMs)) return sessionAnswer(minted);
    await end(minted, userGroupId);
    return isSignedIn ? refusal("service_unavailable", { headers: { "Retry-After": "1" } }) : refusal("signed_out");
  };
}

/** Whether the person's sessions were ended while the handler waited. Both times are durations, so the clocks need not agree. */
const isEnded = ({ viewerEndedMsAgo }: ViewerSession, waitedMs: number): boolean =>
  typeof viewerEndedMsAgo === "number" && viewerEndedMsAgo <= waitedMs + ENDED_MARGIN_MS;

/** What tells one person from another: the id. Without one, all that the session has of the person. */
const personOf = ({ viewerId, viewerProperties, claims }: Viewer): string =>
  viewerId ?? JSON.stringify([viewerProperties, claims]);

/** The answer of the service to a mint, which the page's client reads. */
function sessionAnswer({ token, expiresAt, expiresInSeconds, maxStaleSeconds }: ViewerSession): Response {
  const times = { expires_at: expiresAt, expires_in_seconds: expiresInSeconds, max_stale_seconds: maxStaleSeconds };
  return noStore({ success: 1, session: { token, ...times } }, { status: 200 });
}

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
