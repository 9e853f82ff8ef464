import { describe, expect, expectTypeOf, inject, it } from "vitest";
import { type ChangeEvent, type FollowInput, UserGroupClient, UserGroupServiceError } from "../../client/src/index.ts";
import type { KnownEventType } from "../../client/src/resources/event.ts";
import type { EVENT_TYPES } from "../../src/records.ts";
import { errorOf } from "../support/node/refused.ts";
import { type Reply, refusal, standIn } from "../support/node/stand-in.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

const { url } = inject("service");

const clientOf = async (workspace: string) => new UserGroupClient({ url, apiKey: await keyOfWorkspace(workspace) });

/** Reads this many events, and leaves the loop. */
async function take(events: AsyncIterable<ChangeEvent>, count: number): Promise<ChangeEvent[]> {
  const taken: ChangeEvent[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

describe("with the service", () => {
  it("yields each change in camelCase, at any page size", async () => {
    const client = await clientOf("client-events-all");
    const { group } = await client.ensure({ userGroupId: "acme" });
    const { teamId } = group;
    await client.update({ userGroupId: "acme", newUserGroupId: "acme-2", name: "Acme" });
    await client.rotateToken({ currentToken: group.token });
    await client.suspend({ userGroupId: "acme-2" });
    await client.resume({ userGroupId: "acme-2" });
    await client.removeByNumber({ teamId });
    await client.restore({ teamId, newUserGroupId: "acme-3" });
    await client.removeByNumber({ teamId });
    await client.purge({ teamId });

    const events = await Array.fromAsync(client.events({ pageSize: 2 }));

    const facts = {
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      actor: { kind: "api_key", id: 1, name: "backend" },
      requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      group: { teamId, userGroupId: "acme-2" },
    };
    const last = { teamId, userGroupId: "acme-3" };
    const bootstrap = { kind: "operator", id: null, name: "bootstrap" };
    const issued = { type: "api_key.issued", actor: bootstrap, apiKey: { id: 1, name: "backend" } };
    const updated = { type: "user_group.updated", changed: ["provided_id", "name"], previousUserGroupId: "acme" };
    expect(events).toEqual([
      { ...facts, id: 1, ...issued, group: undefined },
      { ...facts, id: 2, type: "user_group.created", group: { teamId, userGroupId: "acme" } },
      { ...facts, id: 3, ...updated },
      { ...facts, id: 4, type: "user_group.token_rotated" },
      { ...facts, id: 5, type: "user_group.suspended" },
      { ...facts, id: 6, type: "user_group.resumed" },
      { ...facts, id: 7, type: "user_group.deleted" },
      { ...facts, id: 8, type: "user_group.restored", group: last, previousUserGroupId: "acme-2" },
      { ...facts, id: 9, type: "user_group.deleted", group: last },
      { ...facts, id: 10, type: "user_group.purged", group: last },
    ]);
    expect(await Array.fromAsync(client.events({ pageSize: 100 }))).toEqual(events);
    expect(await Array.fromAsync(client.events({ type: "user_group.purged" }))).toEqual(events.slice(9));
    expect(await Array.fromAsync(client.events({ userGroupId: "acme" }))).toEqual(events.slice(1, 3));
  });

  it("continues from a page's cursor, and from the newest event", async () => {
    const client = await clientOf("client-events-cursor");
    const { nextCursor, hasMore } = await client.eventPage({ pageSize: 1 });
    expect(hasMore).toBe(false);
    await client.ensure({ userGroupId: "a" });
    const latest = await client.latestEventCursor();
    await client.ensure({ userGroupId: "b" });
    const idsFrom = async (cursor: string) =>
      (await Array.fromAsync(client.events({ cursor }))).map(({ group }) => group?.userGroupId);
    expect(await idsFrom(nextCursor)).toEqual(["a", "b"]);
    expect(await idsFrom(latest)).toEqual(["b"]);
  });

  it("follows changes that are made while it waits", async () => {
    const client = await clientOf("client-events-follow");
    const following = take(client.follow({ cursor: await client.latestEventCursor(), pollMs: 100 }), 3);
    for (const userGroupId of ["a", "b", "c"]) await client.ensure({ userGroupId });
    expect((await following).map(({ group }) => group?.userGroupId)).toEqual(["a", "b", "c"]);
  });
});

describe("with a service that fails", () => {
  const EVENTS_MAX = 12;

  const eventOf = (id: number) => ({
    id,
    at: "2035-01-01T00:00:00.000Z",
    type: "user_group.suspended",
    actor: { kind: "system", id: null, name: "x" },
    request_id: "r",
    user_group: { team_id: id, provided_id: `group-${id}` },
  });

  /** One page of a feed in which cursors are numbers, with at most two events. */
  function pageAfter(path: string, newest: number): Reply {
    const after = Number(new URL(path, "http://localhost").searchParams.get("cursor") ?? 0);
    const next = Math.min(newest, after + 2);
    const events = Array.from({ length: next - after }, (_, index) => eventOf(after + index + 1));
    return { status: 200, body: { success: 1, events, next_cursor: String(next), has_more: next < newest } };
  }

  const clientAt = (at: string) => new UserGroupClient({ url: at, apiKey: "k", backoffMs: 1, retries: 1 });

  /** Follows a feed that has one more event at each request, and `fails` at some requests. */
  async function followFailing(fails: (count: number) => Reply | undefined, input: FollowInput = {}) {
    const { url: at, received } = await standIn(
      ({ path }, count) => fails(count) ?? pageAfter(path, Math.min(EVENTS_MAX, count)),
    );
    const events = await take(clientAt(at).follow({ pollMs: 1, ...input }), EVENTS_MAX);
    return { ids: events.map(({ id }) => id), requests: received.length };
  }

  const ALL = Array.from({ length: EVENTS_MAX }, (_, index) => index + 1);

  it.for<[string, Reply]>([
    ["drops connections", "drop"],
    ["is not available", refusal(503, "directory_unavailable")],
    ["takes no more calls", refusal(429, "rate_limited", {}, { "Retry-After": "0" })],
    ["has a proxy that answers 502", { status: 502, body: "<html>" }],
  ])("follow loses and repeats nothing when the service %s for a while", async ([, reply]) => {
    const failures: string[] = [];
    const { ids, requests } = await followFailing((count) => (count > 3 && count <= 8 ? reply : undefined), {
      onFailure: ({ code }) => failures.push(code),
    });
    expect(ids).toEqual(ALL);
    expect(requests).toBeGreaterThan(8);
    expect(failures.length).toBeGreaterThanOrEqual(2);
  });

  it("follow survives a failure of its first request", async () => {
    expect((await followFailing((count) => (count <= 3 ? "drop" : undefined))).ids).toEqual(ALL);
  });

  it.for([
    ["cursor_expired", 410],
    ["unauthenticated", 401],
    ["internal_error", 500],
  ] as const)("follow ends with %s", async ([code, status]) => {
    const { url: at } = await standIn(() => refusal(status, code));
    expect(await errorOf(take(clientAt(at).follow({ cursor: "x" }), 1))).toMatchObject({ code, status });
  });

  it.for([
    ["between two events", 1],
    ["while it waits for more", 2],
  ] as const)("follow ends with the signal's reason %s", async ([, stopAt]) => {
    const stop = new AbortController();
    const { url: at } = await standIn(({ path }) => pageAfter(path, 2));
    const seen: number[] = [];
    const following = (async () => {
      for await (const { id } of clientAt(at).follow({ pollMs: 60_000 }, { signal: stop.signal })) {
        seen.push(id);
        if (id === stopAt) setImmediate(() => stop.abort(new Error("Enough.")));
        if (id < 2) await new Promise(setImmediate);
      }
    })();
    await expect(following).rejects.toThrow("Enough.");
    expect(seen).toHaveLength(stopAt);
  });

  it("an error of the loop's body leaves follow without another request", async () => {
    const { url: at, received } = await standIn(({ path }) => pageAfter(path, EVENTS_MAX));
    const reading = (async () => {
      for await (const { id } of clientAt(at).follow()) throw new UserGroupServiceError("network_error", `At ${id}.`);
    })();
    await expect(reading).rejects.toThrow("At 1.");
    expect(received).toHaveLength(1);
  });

  it("a page whose cursor names itself is refused", async () => {
    const { url: at } = await standIn(() => ({
      status: 200,
      body: { success: 1, events: [], next_cursor: "x", has_more: true },
    }));
    expect((await errorOf(Array.fromAsync(clientAt(at).events({ cursor: "x" })))).code).toBe("unexpected_answer");
  });

  it("knows the types of this service's events, passes on those of a newer one, and refuses one without a field", async () => {
    expectTypeOf<KnownEventType>().toEqualTypeOf<(typeof EVENT_TYPES)[number]>();
    const readOne = async (event: object) => {
      const body = { success: 1, events: [event], next_cursor: "x", has_more: false };
      const { url: at } = await standIn(() => ({ status: 200, body }));
      return clientAt(at).eventPage();
    };
    const { events } = await readOne({ ...eventOf(1), type: "user_group.archived" });
    expect(events).toMatchObject([{ id: 1, type: "user_group.archived" }]);
    expect((await errorOf(readOne({ ...eventOf(1), request_id: undefined }))).code).toBe("unexpected_answer");
  });
});
