import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, expect as expected, expectTypeOf, inject, it, onTestFinished, vi } from "vitest";
import { UserGroupClient, UserGroupServiceError, ViewerClient } from "../../client/src/index.ts";
import { type SignOutHandlerOptions, sessionHandler, signOutHandler } from "../../client/src/server.ts";
import { freePort } from "../support/node/free-port.ts";
import { type Person, SERVERS } from "../support/node/kit-servers.ts";
import { apiKey, codeOf, groups, refusalIn, signOut, startSite, testSignOuts } from "../support/node/sign-out-site.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url } = inject("service");
const ORIGIN = "https://app.example.com";
/** How long a sign-out may take, of which the kit gives the service 2 seconds. */
const SIGN_OUT_MS_MAX = 3_000;

testSignOuts(SERVERS);

describe("while the service has no answer, the person is signed out", () => {
  const startServer = SERVERS["plain Request and Response"];
  const clientOf = (address: string) => new UserGroupClient({ url: address, apiKey: "ugk_customer_x" });

  it("if the group was deleted, which is no failure", async () => {
    const { group } = await groups.ensure({ userGroupId: "deleted" });
    const site = await startSite(startServer, "deleted");
    await groups.removeByNumber({ teamId: group.teamId });
    expect(await signOut(site)).toMatchObject({ status: 204, cookies: ["sid=", "csrf="] });
    expect(site.people.size).toBe(0);
    expect(site.onFailure).not.toHaveBeenCalled();
  });

  it.for([
    ["it is down", async () => `http://127.0.0.1:${await freePort()}`, "network_error"],
    ["it hangs", async () => (await standIn(() => "silence")).url, "timeout"],
  ] as const)("if %s, within 2 seconds", async ([, address, code]) => {
    const site = await startSite(startServer, "acme", clientOf(await address()));
    const { ms, ...answer } = await signOut(site);
    expect(answer).toEqual({ status: 204, cookies: ["sid=", "csrf="] });
    expect(ms).toBeLessThan(SIGN_OUT_MS_MAX);
    expect(site.people.size).toBe(0);
    expect(site.onFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code }), "acme");
  });

  it("if it refuses the API key", async () => {
    const site = await startSite(startServer, "acme", clientOf(url));
    expect(await signOut(site)).toMatchObject({ status: 204, cookies: ["sid=", "csrf="] });
    expect(site.onFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ status: 401 }), "acme");
  });
});

describe("tabs that ask every 20 ms", () => {
  const [ASK_MS, WAY_MS] = [20, 60];

  /** A client far from the service: its mints are under way for a while, and so is the answer to the end of sessions. */
  const farClient = () =>
    new UserGroupClient({
      url,
      apiKey,
      fetch: async (to, init) => {
        if (to.endsWith("/viewer_sessions")) await delay(WAY_MS);
        const response = await fetch(to, init);
        if (to.endsWith("/end")) await delay(WAY_MS);
        return response;
      },
    });

  it("see nothing after the answer to the sign-out, in 20 of 20 runs", async () => {
    for (let run = 0; run < 20; run += 1) {
      const customer = `asked ${run}`;
      await groups.ensure({ userGroupId: customer });
      const site = await startSite(SERVERS["plain Request and Response"], customer, farClient());
      const first = site.tab();
      await first.view();
      // Each time, the tabs that are open ask, and another one is opened, which has to mint first.
      const tabs = [first];
      const calls: Promise<unknown>[] = [];
      const ask = () => {
        tabs.push(site.tab());
        calls.push(...tabs.map((tab) => codeOf(tab.view())));
      };
      const timer = setInterval(ask, ASK_MS);
      onTestFinished(() => clearInterval(timer));
      await vi.waitUntil(() => tabs.length > 4);
      await signOut(site);
      clearInterval(timer);
      const seen = await Promise.all(tabs.map((tab) => codeOf(tab.view())));
      // Also those whose mint was under way at the answer.
      await Promise.all(calls);
      const seenLater = await Promise.all(tabs.map((tab) => codeOf(tab.view())));
      expect(new Set([...seen, ...seenLater])).toEqual(new Set(["signed_out"]));
      expect(site.onFailure).not.toHaveBeenCalled();
    }
  });
});

describe("when somebody else signs in on the same browser", () => {
  it("a mint in flight of the person before reaches nobody", async () => {
    const [first, second] = [await groups.ensure({ userGroupId: "a" }), await groups.ensure({ userGroupId: "b" })];
    const signIns = new Map<string, Person>([["sid=a", { id: "ann", customer: "a" }]]);
    let cookie = "sid=a";
    let release = () => {};
    const isMinting = Promise.withResolvers<void>();
    const minted: string[] = [];
    const held = new Promise<void>((resolve) => (release = resolve));
    const handler = sessionHandler({
      client: {
        endSessions: groups.endSessions,
        mintSession: async (input, options) => {
          const session = await groups.mintSession(input, options);
          minted.push(session.token);
          isMinting.resolve();
          if (input.userGroupId === "a") await held;
          return session;
        },
      },
      user: (request) => signIns.get(request.headers.get("Cookie") ?? ""),
      customer: (person) => person.customer,
      viewer: (person) => ({ viewerId: person.id }),
      origins: [ORIGIN],
    });
    const answers: Response[] = [];
    const viewer = new ViewerClient({
      url,
      session: async () => {
        const answer = await handler(new Request(`${ORIGIN}/session`, { method: "POST", headers: { Cookie: cookie } }));
        answers.push(answer.clone());
        return answer;
      },
    });

    const before = viewer.view().catch((error: unknown) => error);
    await isMinting.promise;
    signIns.delete("sid=a");
    signIns.set("sid=b", { id: "ben", customer: "b" });
    cookie = "sid=b";
    viewer.reset();
    expect(await before).toMatchObject({ name: "AbortError" });
    const view = viewer.view();
    release();
    expect((await view).group.teamId).toBe(second.group.teamId);
    expect((await viewer.view()).group.teamId).not.toBe(first.group.teamId);
    // The session of the person before was never sent, and has ended.
    await expect.poll(() => answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    expect(await codeOf(groups.asViewer({ session: minted[0] ?? "" }).view())).toBe("credential_revoked");
  });
});

describe("signOutHandler", () => {
  const person: Person = { id: "jane", customer: "signed out" };
  const post = (headers = {}) => new Request(`${ORIGIN}/sign-out`, { method: "POST", headers });

  function startHandler(options: Partial<SignOutHandlerOptions<Person, []>> = {}) {
    const calls: string[] = [];
    const answer = new Response("bye", { headers: { "Set-Cookie": "sid=; Max-Age=0" } });
    const endSessions = vi.fn(async () => void calls.push("endSessions"));
    const onFailure = vi.fn();
    const handler = signOutHandler<Person>({
      client: { endSessions },
      user: () => {
        calls.push("user");
        return person;
      },
      customer: (user) => user.customer,
      viewer: (user) => ({ viewerId: user.id, viewerProperties: { store: 7 } }),
      origins: [ORIGIN],
      signOut: () => {
        calls.push("signOut");
        return answer;
      },
      onFailure,
      ...options,
    });
    return { calls, answer, endSessions, onFailure, handler };
  }

  it("ends the own sign-in first, so that an open page mints no session afterwards", async () => {
    const { handler, calls, answer, endSessions } = startHandler();
    expect(await handler(post({ Origin: ORIGIN }))).toBe(answer);
    expect(calls).toEqual(["user", "signOut", "endSessions"]);
    expect(endSessions).toHaveBeenCalledExactlyOnceWith(
      { userGroupId: "signed out", viewerId: "jane", reason: "signed out" },
      { signal: expect.any(AbortSignal) },
    );
  });

  it.for([
    ["a GET", new Request(`${ORIGIN}/sign-out`), 405, "method_not_allowed"],
    ["a page of another site", post({ Origin: "https://thief.example" }), 403, "origin_not_allowed"],
    ["a sandboxed frame", post({ Origin: "null" }), 403, "origin_not_allowed"],
  ] as const)("refuses %s, and signs nobody out", async ([, request, status, code]) => {
    const { handler, calls } = startHandler();
    const response = await handler(request);
    expect([response.status, await refusalIn(response), calls]).toEqual([status, code, []]);
  });

  it.for([undefined, null])("only runs signOut if nobody is signed in: %s", async (nobody) => {
    const { handler, calls, answer, onFailure } = startHandler({ user: () => nobody });
    expect(await handler(post())).toBe(answer);
    expect(calls).toEqual(["signOut"]);
    expect(onFailure).not.toHaveBeenCalled();
  });

  it("ends nothing for a person without a customer", async () => {
    const { handler, endSessions, onFailure } = startHandler({ customer: () => undefined });
    expect((await handler(post())).status).toBe(200);
    expect([endSessions.mock.calls.length, onFailure.mock.calls.length]).toEqual([0, 0]);
  });

  const bug = new Error("The database is down.");
  const fail = () => {
    throw bug;
  };
  it.for<[string, Partial<SignOutHandlerOptions<Person, []>>, unknown[]]>([
    ["no viewerId", { viewer: () => ({}) }, [expected.objectContaining({ name: "TypeError" }), "signed out"]],
    [
      "an undefined viewerId",
      { viewer: () => ({ viewerId: undefined }) as never },
      [expected.objectContaining({ name: "TypeError" }), "signed out"],
    ],
    ["a viewer that throws", { viewer: fail }, [bug, "signed out"]],
    ["a customer that throws", { customer: fail }, [bug, undefined]],
    ["a user that throws", { user: fail }, [bug, undefined]],
    ["a client that throws", { client: { endSessions: fail } }, [bug, "signed out"]],
  ])("answers, ends no session of others, and reports %s", async ([, options, reported]) => {
    const { handler, answer, endSessions, onFailure } = startHandler(options);
    expect(await handler(post())).toBe(answer);
    expect(endSessions).not.toHaveBeenCalled();
    expect(onFailure).toHaveBeenCalledExactlyOnceWith(...reported);
  });

  it.for<[string, Partial<SignOutHandlerOptions<Person, []>>]>([
    ["a customer", { customer: () => new Promise(() => {}) }],
    ["a viewer", { viewer: () => new Promise(() => {}) }],
    ["a client", { client: { endSessions: () => new Promise(() => {}) } }],
  ])("answers after 2 seconds if %s hangs", async ([, options]) => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const { handler, answer, onFailure } = startHandler(options);
    const answered = handler(post());
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await answered).toBe(answer);
    expect(onFailure.mock.calls[0]?.[0]).toMatchObject({ code: "timeout" });
  });

  it.for<[string, () => void]>([
    ["throws", fail],
    ["rejects", () => Promise.reject(bug)],
    ["hangs", () => new Promise(() => {})],
  ])("answers if onFailure %s", async ([, onFailure]) => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => logged.mockRestore());
    const { handler, answer } = startHandler({ viewer: fail, onFailure });
    expect(await handler(post())).toBe(answer);
  });

  it("logs a failure in one line without a stack trace", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => logged.mockRestore());
    const failure = new UserGroupServiceError("network_error", "The service did not respond.");
    const client = { endSessions: () => Promise.reject(failure) };
    await startHandler({ client, onFailure: undefined }).handler(post());
    expect(logged.mock.calls).toEqual([
      [`The sessions of "signed out" were not ended: network_error: The service did not respond.`],
    ]);
  });

  it("leaves a signOut that fails to the server's own handling, since nobody is signed out", async () => {
    const { handler, endSessions } = startHandler({ signOut: fail });
    await expect(handler(post())).rejects.toBe(bug);
    expect(endSessions).not.toHaveBeenCalled();
  });

  it("has the integrator's own types, and those of the framework", () => {
    signOutHandler({
      client: groups,
      user: (_request, context: { user?: Person }) => context.user,
      customer: (user) => {
        expectTypeOf(user).toEqualTypeOf<Person>();
        return user.customer;
      },
      viewer: ({ id }) => ({ viewerId: id }),
      origins: [ORIGIN],
      signOut: (_request, context) => {
        expectTypeOf(context).toEqualTypeOf<{ user?: Person }>();
        return new Response();
      },
    });
  });
});
