import type { MintSessionInput } from "../resources/viewer-session.ts";
import { abortable } from "../transport/abortable.ts";
import { UserGroupServiceError } from "../transport/user-group-service-error.ts";
import { isFrom } from "./origins.ts";
import { refusal } from "./refusal.ts";

/** Longer than this, nobody waits for the end of a session. */
const END_MS_MAX = 2_000;

type Awaitable<Value> = Value | Promise<Value>;

/** How an endpoint knows the person. `User` is your own type of somebody who has signed in. */
export type SignedIn<User, Context extends unknown[]> = {
  /** Who has signed in, by your own sign-in, such as a cookie; `undefined` or `null` if nobody has. */
  user: (request: Request, ...context: Context) => Awaitable<User | null | undefined>;
  /**
   * The `userGroupId` of the person's customer, from your own records; `undefined` if there is none. Never take it from the request: a
   * person who can choose it can see every customer.
   */
  customer: (user: User) => Awaitable<string | undefined>;
  /** Your id of the person, by which `endSessions` finds the sessions, what only this person may see, and claims for other verifiers. */
  viewer: (user: User) => Awaitable<Pick<MintSessionInput, "viewerId" | "viewerProperties" | "claims">>;
  /** Where people see your pages, such as `https://app.example.com`; 1 to 10. No other site's pages get a session or can use one. */
  origins: readonly string[];
};

/** An endpoint. `Context` is what your framework passes besides the request. */
export type Handler<Context extends unknown[]> = (request: Request, ...context: Context) => Promise<Response>;

/** The refusal of a request that is no POST from a page of these origins. */
export function refusalOfRequest(request: Request, origins: readonly string[]): Response | undefined {
  if (request.method !== "POST") return refusal("method_not_allowed", { headers: { Allow: "POST" } });
  return isFrom(request, origins) ? undefined : refusal("origin_not_allowed");
}

/** Ends sessions for 2 seconds at most. A group that was deleted has none left. */
export async function endInTime(end: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const onTimeout = async () => {
    throw new UserGroupServiceError("timeout", `The sessions were not ended within ${END_MS_MAX} ms.`);
  };
  await abortable(end, [], { ms: END_MS_MAX, onTimeout }).catch((error: unknown) => {
    if (Object(error).code !== "user_group_not_found") throw error;
  });
}
