import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { type Fetch, type ListedGroup, UserGroupClient } from "../../../client/src/index.ts";
import { type Copy, mirror, postgresCopy, sqliteCopy } from "../../../examples/mirror.ts";
import { hasPostgres, startPostgres } from "../../support/node/postgres.ts";
import { waitUntil } from "../../support/node/service.ts";
import { refusal, standIn } from "../../support/node/stand-in.ts";
import { keyOfWorkspace } from "../../support/node/workspace.ts";

const { url } = inject("service");

const WRITERS = 4;
const ROUNDS = 12;

/** The groups of a copy in a file. */
const groupsIn = (file: string): ListedGroup[] => {
  // The mirror writes meanwhile, and locks the file when it does.
  using copy = new DatabaseSync(file, { timeout: 10_000 });
  const isThere = copy.prepare("SELECT 1 FROM sqlite_master WHERE name = 'groups'").get() !== undefined;
  const rows = isThere ? copy.prepare("SELECT content FROM groups ORDER BY team_id").all() : [];
  return rows.map(({ content }) => JSON.parse(String(content)));
};

const newFile = () => join(mkdtempSync(join(tmpdir(), "mirror-")), "copy.sqlite");

/** Runs the mirror until the end of the test, and then `close`. */
function runMirror(client: UserGroupClient, copy: Copy, close: () => unknown): void {
  const stop = new AbortController();
  const ended = mirror(client, copy, { signal: stop.signal })
    .catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    })
    .finally(close);
  onTestFinished(() => {
    stop.abort();
    return ended;
  });
}

/** Starts the mirror with SQLite. Returns a function that reads the copy through a connection of its own. */
function startMirror(client: UserGroupClient, file = newFile()): () => ListedGroup[] {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  runMirror(client, sqliteCopy(database), () => database.close());
  return () => groupsIn(file);
}

/** The same with PostgreSQL. */
async function startMirrorInPostgres(client: UserGroupClient): Promise<() => Promise<ListedGroup[]>> {
  const postgres = await startPostgres();
  const pool = new pg.Pool({ connectionString: postgres.url("postgres") });
  runMirror(client, postgresCopy(pool), async () => {
    await pool.end();
    await postgres.stop();
  });
  return async () => {
    const { rows } = await pool.query("SELECT content FROM groups ORDER BY team_id");
    return rows.map(({ content }) => JSON.parse(content));
  };
}

const isSkipped = hasPostgres ? "" : ", skipped: PostgreSQL is missing";

const hasGroup = (groups: ListedGroup[], userGroupId: string) =>
  groups.some((group) => group.userGroupId === userGroupId);

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

it.for([
  ["SQLite", true],
  [`PostgreSQL${isSkipped}`, hasPostgres],
] as const)("in %s is equal to a list after concurrent writers", async ([database, isThere], { skip }) => {
  skip(!isThere);
  const isSqlite = database === "SQLite";
  const client = new UserGroupClient({
    url,
    apiKey: await keyOfWorkspace(`mirror-${isSqlite ? "sqlite" : "postgres"}`),
  });
  await write(client, 0);

  const writing = Promise.all(Array.from({ length: WRITERS }, (_, index) => write(client, index + 1)));
  const groups = isSqlite ? startMirror(client) : await startMirrorInPostgres(client);
  await writing;
  // The mirror applies events in their order, so with the last group it has all of them.
  await client.ensure({ userGroupId: "last" });
  await waitUntil(async () => hasGroup(await groups(), "last"), "the mirror had the last group");

  const exported = await Array.fromAsync(client.list());
  expect(await groups()).toEqual(exported);
  expect(exported).toHaveLength(((WRITERS + 1) * ROUNDS * 2) / 3 + 1);
});

it("keeps the state of groups, and adds those that are restored", async () => {
  const client = new UserGroupClient({ url, apiKey: await keyOfWorkspace("mirror-states") });
  const teamIds = [];
  for (const userGroupId of ["suspended", "restored", "purged"])
    teamIds.push((await client.ensure({ userGroupId })).group.teamId);
  const [suspended = 0, restored = 0, purged = 0] = teamIds;
  const groups = startMirror(client);
  await waitUntil(() => groups().length === 3, "the mirror had listed the groups");

  await client.suspendByNumber({ teamId: suspended });
  for (const teamId of [restored, purged]) await client.removeByNumber({ teamId });
  await waitUntil(() => groups().length === 1, "the mirror had removed the deleted groups");
  await client.restore({ teamId: restored, newUserGroupId: "again" });
  await client.purge({ teamId: purged });
  await waitUntil(() => hasGroup(groups(), "again"), "the mirror had the restored group");
  await client.resumeByNumber({ teamId: suspended });
  await client.suspendByNumber({ teamId: restored });
  await waitUntil(() => groups().at(-1)?.state === "suspended", "the mirror had the last change");

  expect(
    groups()
      .map(({ userGroupId, state }) => [userGroupId, state])
      .toSorted(),
  ).toEqual([
    ["again", "suspended"],
    ["suspended", "active"],
  ]);
});

it("copies texts as they are, whatever other readers make of them", async () => {
  const client = new UserGroupClient({ url, apiKey: await keyOfWorkspace("mirror-texts") });
  const texts = ["\u2028", "\u2029", "\ufeff", "😀", "\u0301e", "x".repeat(16_000)];
  const groups = startMirror(client);
  for (const [index, text] of texts.entries())
    await client.ensure({
      userGroupId: `${index}${text.slice(0, 200)}`,
      name: text.slice(0, 255),
      properties: { text, controls: "\u0085\r\n\v" },
    });
  await waitUntil(() => groups().length === texts.length, "the mirror had all groups");
  expect(groups().map(({ name, properties }) => [name, properties])).toEqual(
    texts.map((text) => [text.slice(0, 255), { text, controls: "\u0085\r\n\v" }]),
  );
});

it("has a change that is made between the list and the first events", async () => {
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
  const groups = startMirror(new UserGroupClient({ url, apiKey, fetch: changeAfterList }));
  await waitUntil(() => groups().length === 1, "the mirror had removed the deleted group");
  expect(groups()).toMatchObject([{ teamId: group.teamId, name: "Changed" }]);
});

it("takes 6 calls for 5,000 changes", async () => {
  const apiKey = await keyOfWorkspace("mirror-calls");
  const writer = new UserGroupClient({ url, apiKey });
  await writer.ensure({ userGroupId: "first" });
  const file = newFile();
  {
    // The mirror writes meanwhile, and locks the file when it does.
    using copy = new DatabaseSync(file, { timeout: 10_000 });
    const stop = new AbortController();
    const listed = mirror(writer, sqliteCopy(copy), { signal: stop.signal }).catch(() => undefined);
    await waitUntil(() => groupsIn(file).length === 1, "the mirror had listed the groups");
    stop.abort();
    await listed;
  }
  const CHANGES = 5_000;
  let next = 0;
  const writeNext = async () => {
    for (let n = next++; n < CHANGES; n = next++) {
      const userGroupId = n === CHANGES - 1 ? "last" : `g${n % 2_500}`;
      const name = `Name ${n}`;
      if (n < 2_500) await writer.ensure({ userGroupId, name });
      else if (userGroupId === "last") continue;
      else await writer.update({ userGroupId, name });
    }
  };
  await Promise.all(Array.from({ length: 16 }, writeNext));
  await writer.ensure({ userGroupId: "last" });

  const paths: string[] = [];
  const counted: Fetch = (to, init) => {
    paths.push(to);
    return fetch(to, init);
  };
  const groups = startMirror(new UserGroupClient({ url, apiKey, fetch: counted }), file);
  await waitUntil(() => hasGroup(groups(), "last"), "the mirror had the last group");
  expect(paths.length).toBeLessThanOrEqual(6);
  expect(groups()).toEqual(await Array.fromAsync(writer.list({ pageSize: 1_000 })));
});

it("goes on where it was after a kill, and misses nothing", async () => {
  const apiKey = await keyOfWorkspace("mirror-kill");
  const client = new UserGroupClient({ url, apiKey });
  const file = newFile();
  const program = `
    import { DatabaseSync } from "node:sqlite";
    import { mirror, sqliteCopy } from ${JSON.stringify(new URL("../../../examples/mirror.ts", import.meta.url).href)};
    import { UserGroupClient } from ${JSON.stringify(new URL("../../../client/src/index.ts", import.meta.url).href)};
    const client = new UserGroupClient({ url: process.env.SERVICE_URL, apiKey: process.env.API_KEY });
    await mirror(client, sqliteCopy(new DatabaseSync(process.env.FILE, { timeout: 10_000 })), {});`;
  const env = { ...process.env, SERVICE_URL: url, API_KEY: apiKey, FILE: file };
  const lists = () => groupsIn(file).length;
  for (let kill = 0; kill < 5; kill += 1) {
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], { env, stdio: "ignore" });
    const exited = once(child, "exit");
    const before = lists();
    const writing = write(client, kill);
    await waitUntil(() => lists() > before, "the mirror had another group");
    child.kill("SIGKILL");
    await exited;
    await writing;
  }
  const groups = startMirror(client, file);
  await client.ensure({ userGroupId: "last" });
  await waitUntil(() => hasGroup(groups(), "last"), "the mirror had the last group");
  expect(groups()).toEqual(await Array.fromAsync(client.list({ pageSize: 1_000 })));
});

it("starts over when its cursor has expired", async () => {
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
    last_viewed_on: null,
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
  const groups = startMirror(new UserGroupClient({ url: at, apiKey: "k" }));
  await waitUntil(() => groups().at(-1)?.teamId === 2, "the mirror had listed again");
  expect(groups()).toHaveLength(1);
  expect(received.slice(0, 4).map(({ path }) => path.replace(/[?&](limit|include).*/, ""))).toEqual([
    "/api/events?cursor=latest",
    "/api/user_groups",
    "/api/events?cursor=1",
    "/api/events?cursor=latest",
  ]);
});
