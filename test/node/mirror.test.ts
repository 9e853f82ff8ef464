import { readFileSync } from "node:fs";
import { inject, it, onTestFinished } from "vitest";
import { mirror } from "../../examples/mirror.ts";
import { type Fetch, type ListedGroup, UserGroupClient } from "../../src/client/index.ts";
import { waitUntil } from "./support/service.ts";
import { refusal, standIn } from "./support/stand-in.ts";
import { keyOfWorkspace } from "./support/workspace.ts";

const { url } = inject("service");

const WRITERS = 4;
const ROUNDS = 12;

/** Starts the mirror, and stops it after the test. */
function startMirror(client: UserGroupClient) {
  const copy = new Map<number, ListedGroup>();
  const stop = new AbortController();
  const ended = mirror(client, copy, { signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  onTestFinished(() => {
    stop.abort();
    return ended;
  });
  return copy;
}

const hasGroup = (copy: Map<number, ListedGroup>, userGroupId: string) =>
  [...copy.values()].some((group) => group.userGroupId === userGroupId);

/** Creates, changes, renames, rotates, suspends, deletes and restores groups. Every third remains as it was created. */
async function write(client: UserGroupClient, writer: number) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const userGroupId = `${writer}-${round}`;
    const { group } = await client.ensure({ userGroupId, properties: { round } });
    if (round % 3 === 0) continue;
    await client.update({ userGroupId, name: `Name ${round}`, mapping: { a: userGroupId }, properties: null });
    await client.update({ userGroupId, newUserGroupId: `${userGroupId}-renamed` });
    const { token } = await client.rotateToken({ currentToken: group.token });
    await client.suspendByNumber(group);
    await client.removeByNumber(group);
    await client.restore({ teamId: group.teamId, newUserGroupId: `${userGroupId}-restored` });
    if (round % 3 === 1) await client.remove({ currentToken: token });
  }
}

it("is equal to a list after concurrent writers", async ({ expect }) => {
  const client = new UserGroupClient({ url, apiKey: await keyOfWorkspace("mirror") });
  await write(client, 0);

  const writing = Promise.all(Array.from({ length: WRITERS }, (_, index) => write(client, index + 1)));
  const copy = startMirror(client);
  await writing;
  // The mirror applies events in their order, so with the last group it has all of them.
  await client.ensure({ userGroupId: "last" });
  await waitUntil(() => hasGroup(copy, "last"), "the mirror had the last group");

  const exported = await Array.fromAsync(client.list());
  expect([...copy.values()].toSorted((a, b) => a.teamId - b.teamId)).toMatchObject(exported);
  expect(exported).toHaveLength(((WRITERS + 1) * ROUNDS * 2) / 3 + 1);
});

it("keeps the state of groups, and adds those that are restored", async ({ expect }) => {
  const client = new UserGroupClient({ url, apiKey: await keyOfWorkspace("mirror-states") });
  const teamIds = [];
  for (const userGroupId of ["suspended", "restored", "purged"])
    teamIds.push((await client.ensure({ userGroupId })).group.teamId);
  const [suspended = 0, restored = 0, purged = 0] = teamIds;
  const copy = startMirror(client);
  await waitUntil(() => copy.size === 3, "the mirror had listed the groups");

  await client.suspendByNumber({ teamId: suspended });
  for (const teamId of [restored, purged]) await client.removeByNumber({ teamId });
  await waitUntil(() => copy.size === 1, "the mirror had removed the deleted groups");
  await client.restore({ teamId: restored, newUserGroupId: "again" });
  await client.purge({ teamId: purged });
  await waitUntil(() => copy.has(restored), "the mirror had the restored group");
  await client.resumeByNumber({ teamId: suspended });
  await client.suspendByNumber({ teamId: restored });
  await waitUntil(() => copy.get(restored)?.state === "suspended", "the mirror had the last change");

  expect([...copy.values()].map(({ userGroupId, state }) => [userGroupId, state]).toSorted()).toEqual([
    ["again", "suspended"],
    ["suspended", "active"],
  ]);
});

it("has a change that is made between the list and the first events", async ({ expect }) => {
  const apiKey = await keyOfWorkspace("mirror-between");
  const writer = new UserGroupClient({ url, apiKey });
  const { group } = await writer.ensure({ userGroupId: "kept" });
  const { group: doomed } = await writer.ensure({ userGroupId: "deleted" });
  const changeAfterList: Fetch = async (to, init) => {
    const response = await fetch(to, init);
    if (to.includes("/api/user_groups?")) {
      await writer.update({ userGroupId: "kept", name: "Changed" });
      await writer.remove({ currentToken: doomed.token });
    }
    return response;
  };
  const copy = startMirror(new UserGroupClient({ url, apiKey, fetch: changeAfterList }));
  await waitUntil(() => copy.size === 1, "the mirror had removed the deleted group");
  expect(copy.get(group.teamId)?.name).toBe("Changed");
});

it("starts over when its cursor has expired", async ({ expect }) => {
  const group = (id: number) => ({
    team_id: id,
    provided_id: `g-${id}`,
    name: "x",
    mapping: null,
    properties: null,
    api_environment_tag: null,
    state: "active",
    created_at: "2035-01-01T00:00:00.000Z",
    updated_at: "2035-01-01T00:00:00.000Z",
  });
  let lists = 0;
  const { url: at, received } = await standIn(({ path }) => {
    if (path.startsWith("/api/user_groups")) {
      lists += 1;
      return { status: 200, body: { success: 1, user_groups: [group(lists)], next_cursor: null } };
    }
    if (path.includes("cursor=1")) return refusal(410, "cursor_expired");
    return {
      status: 200,
      body: { success: 1, events: [], next_cursor: String(lists + 1), has_more: false },
    };
  });
  const copy = startMirror(new UserGroupClient({ url: at, apiKey: "k" }));
  await waitUntil(() => copy.has(2) && !copy.has(1), "the mirror had listed again");
  expect([...copy.keys()]).toEqual([2]);
  expect(received.slice(0, 4).map(({ path }) => path.replace(/\?limit.*/, ""))).toEqual([
    "/api/events?cursor=latest",
    "/api/user_groups",
    "/api/events?cursor=1",
    "/api/events?cursor=latest",
  ]);
});

it("docs/events.md contains the mirror unchanged", ({ expect }) => {
  const [, shown] =
    /`examples\/mirror.ts`:\n\n```ts\n([\s\S]*?)```\n/.exec(readFileSync("docs/events.md", "utf8")) ?? [];
  expect(shown).toBe(readFileSync("examples/mirror.ts", "utf8"));
});
