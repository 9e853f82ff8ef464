import type { UserGroupClient } from "../user-group-client.ts";
import { type Deferrable, deferred, refuseEmpty, refuseOtherThanFunctions } from "./options.ts";
import { checkedOrigins } from "./origins.ts";
import { endInTime, type Handler, refusalOfRequest, type SignedIn } from "./signed-in.ts";

/** How the endpoint knows the person, and how that person signs out of your product. */
export type SignOutHandlerOptions<User, Context extends unknown[]> = SignedIn<User, Context> & {
  /** The client with your API key. The scope `sessions:create` is enough. */
  client: Pick<UserGroupClient, "endSessions">;
  /** Your own sign-out: ends the person's sign-in on your server, and answers, such as with a cookie that has expired. */
  signOut: (request: Request, ...context: Context) => Response | Promise<Response>;
  /**
   * Is called if the person's sessions were not ended: the service is down, or refuses your API key, or `customer` or `viewer` failed or
   * gave no `viewerId`. The sessions then work until they expire. By default it logs one line.
   */
  onFailure?: ((error: Error, userGroupId: string | undefined) => void) | undefined;
};

/** Signs a person out, and ends that person's viewer sessions. */
export type SignOutHandler<Context extends unknown[] = []> = Handler<Context>;

/**
 * The endpoint of your sign-out, for a POST of a page. It asks `user`, calls your `signOut`, and then ends the person's viewer sessions:
 * in this order, because an open page could mint another one as long as the person is signed in. It returns the answer of `signOut` in
 * every case, at most 2 seconds later, so that people can sign out while the service is down.
 *
 * @example
 * import { UserGroupClient } from "user-group-service/client";
 * import { signOutHandler } from "user-group-service/server";
 *
 * const client = new UserGroupClient({ url: "http://localhost:8787", apiKey: process.env.API_KEY ?? "" });
 * await client.ensure({ userGroupId: "left", name: "The shop that Jane leaves" });
 * const { token } = await client.mintSession({ userGroupId: "left", viewerId: "jane" });
 *
 * const signIns = new Map([["sid=1", { id: "jane", shop: "left" }]]);
 * const cookieOf = (request: Request) => request.headers.get("Cookie") ?? "";
 *
 * const handler = signOutHandler({
 *   client,
 *   user: (request) => signIns.get(cookieOf(request)),
 *   customer: (person) => person.shop,
 *   viewer: (person) => ({ viewerId: person.id }),
 *   origins: ["https://app.example.com"],
 *   signOut: (request) => {
 *     signIns.delete(cookieOf(request));
 *     return new Response(null, { status: 204, headers: { "Set-Cookie": "sid=; Max-Age=0" } });
 *   },
 * });
 *
 * const request = new Request("https://app.example.com/sign-out", { method: "POST", headers: { Cookie: "sid=1" } });
 * console.info((await handler(request)).status, signIns.size);
 * // 204 0
 * const refused = client.asViewer({ session: token }).view();
 * console.info(await refused.catch(({ code }: { code: string }) => code));
 * // credential_revoked
 */
export function signOutHandler<User, Context extends unknown[] = []>(
  given: Deferrable<SignOutHandlerOptions<User, Context>>,
): SignOutHandler<Context> {
  if (typeof given === "function") return deferred(() => signOutHandler(given()));
  const options = given;
  refuseEmpty("client", options.client);
  refuseOtherThanFunctions(options, ["user", "customer", "viewer", "signOut"]);
  const origins = checkedOrigins(options.origins);
  const { client, user: find, customer, viewer, signOut, onFailure = logFailure } = options;
  // A failure of it must not keep the answer from the person either.
  const report = async (error: unknown, userGroupId?: string) =>
    onFailure(error instanceof Error ? error : new Error(String(error)), userGroupId);

  async function endSessionsOf(user: User): Promise<void> {
    let userGroupId: string | undefined;
    try {
      await endInTime(async (signal) => {
        userGroupId = await customer(user);
        if (userGroupId === undefined) return;
        const { viewerId } = await viewer(user);
        if (typeof viewerId !== "string")
          throw new TypeError("viewer() gave no viewerId. No session was ended: without one, everybody's would end.");
        await client.endSessions({ userGroupId, viewerId, reason: "signed out" }, { signal });
      });
    } catch (error) {
      report(error, userGroupId).catch(logFailure);
    }
  }

  async function findUser(request: Request, context: Context): Promise<User | null | undefined> {
    try {
      return await find(request, ...context);
    } catch (error) {
      report(error).catch(logFailure);
      return undefined;
    }
  }

  return async (request, ...context) => {
    const refused = refusalOfRequest(request, origins);
    if (refused) return refused;
    const user = await findUser(request, context);
    const answer = await signOut(request, ...context);
    if (user !== undefined && user !== null) await endSessionsOf(user);
    return answer;
  };
}

function logFailure(error: unknown, userGroupId?: string): void {
  const { code, message } = Object(error);
  console.error(`The sessions of ${JSON.stringify(userGroupId)} were not ended: ${code ? `${code}: ` : ""}${message}`);
}
