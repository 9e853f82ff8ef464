import { describe, expect, inject, it, vi } from "vitest";
import { UserGroupClient, ViewerClient } from "../../../client/src/index.ts";
import { requireSession } from "../../../client/src/server.ts";
import { freePort } from "./free-port.ts";
import type { Person, StartServer } from "./kit-servers.ts";
import { keyOfWorkspace } from "./workspace.ts";

const { url } = inject("service");
const COOKIE = "sid=1";

export const apiKey = await keyOfWorkspace("sign-out", { environment: "Customer", name: "writer" });
export const groups = new UserGroupClient({ url, apiKey });

export const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "success",
    (error) => error.code ?? error.name,
  );

export const refusalIn = async (response: Response): Promise<string> => Object(await response.json()).error.code;

/** Starts an integrator's server, in which the cookie of Jane is valid. */
export async function startSite(startServer: StartServer, customer: string, client: UserGroupClient = groups) {
  const port = await freePort();
  const address = `http://localhost:${port}`;
  const people = new Map<string, Person>([[COOKIE, { id: "jane", customer }]]);
  const onFailure = vi.fn();
  await startServer({
    port,
    people,
    options: {
      client,
      customer: (person) => person.customer,
      viewer: (person) => ({ viewerId: person.id }),
      origins: [address],
      onFailure,
    },
    check: requireSession({ client, audience: "sign-out/Customer", origins: [address] }),
    page: "",
    viewerScript: "",
  });
  const post = (path: string, headers = {}) =>
    fetch(`${address}${path}`, { method: "POST", headers: { Cookie: COOKIE, Origin: address, ...headers } });
  const tab = () => new ViewerClient({ url, session: () => post("/session") });
  return { people, onFailure, post, tab };
}

const cookiesOf = (response: Response) => response.headers.getSetCookie().map((cookie) => cookie.split(";")[0]);

/** Signs out, and measures how long that takes. */
export async function signOut({ post }: Awaited<ReturnType<typeof startSite>>) {
  const startedAt = performance.now();
  const response = await post("/sign-out");
  return { status: response.status, cookies: cookiesOf(response), ms: performance.now() - startedAt };
}

/** What a sign-out with the kit must do, in a server of this kind. */
export const testSignOuts = (servers: Record<string, StartServer>) =>
  describe.for(Object.entries(servers))("a sign-out in a server of %s", ([kind, startServer]) => {
    it("ends the sessions of the person, and of nobody else", async () => {
      const customer = `left ${kind}`;
      await groups.ensure({ userGroupId: customer });
      const site = await startSite(startServer, customer);
      const tab = site.tab();
      expect(await codeOf(tab.view())).toBe("success");
      const other = new ViewerClient({
        url,
        session: () => groups.mintSession({ userGroupId: customer, viewerId: "joe" }),
      });
      await other.view();
      const before = await other.session();

      expect(await signOut(site)).toMatchObject({ status: 204, cookies: ["sid=", "csrf="] });
      expect(await codeOf(tab.view())).toBe("signed_out");
      expect(await codeOf(groups.asViewer({ session: before.token }).view())).toBe("success");
      expect(site.onFailure).not.toHaveBeenCalled();

      // Nobody is signed in any more: only the integrator's own sign-out runs.
      expect(await signOut(site)).toMatchObject({ status: 204, cookies: ["sid=", "csrf="] });
      expect(await codeOf(groups.asViewer({ session: before.token }).view())).toBe("success");
    });

    it("is refused to pages of other origins", async () => {
      const site = await startSite(startServer, `never called ${kind}`);
      const response = await site.post("/sign-out", { Origin: "https://thief.example" });
      expect([response.status, await refusalIn(response)]).toEqual([403, "origin_not_allowed"]);
      expect(site.people.size).toBe(1);
    });
  });
