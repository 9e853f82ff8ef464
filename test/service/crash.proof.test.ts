import { request } from "undici";
import { expect, inject, it } from "vitest";
import { hasAnotherRound, report } from "../proof/effort.ts";
import {
  freshCopy,
  launcherPidOf,
  processesOf,
  type RunningService,
  removeCopy,
  startService,
  waitUntil,
  workerdPidsOf,
} from "../support/node/service.ts";
import { randomOf } from "../support/random.ts";

const CLIENTS = 6;
/** What is killed, in turns: the runtime, or the launcher without which it may not go on. */
const VICTIMS = ["workerd", "launcher", "workerd", "workerd", "workerd"] as const;
const { seed } = inject("effort");

/** What one client knows of its own group: what was acknowledged, and the call that was in flight when the runtime was killed. */
type Known = {
  id: string;
  name: string;
  token: string;
  teamId: number;
  /** How many changes were acknowledged. */
  changes: number;
  isDeleted: boolean;
  inFlight?: { name: string } | "rotation" | "deletion" | "restore" | undefined;
};

/** What an operator knows of an environment: whether its first key was acknowledged, and that key. */
type KnownEnvironment = { workspace: string; key?: string };

it("loses no acknowledged write and leaves no partial one when workerd or its launcher is killed", async () => {
  const random = randomOf(seed);
  const startedAt = Date.now();
  const counts = {
    workerd: 0,
    launcher: 0,
    acknowledged: 0,
    "in flight": 0,
    deletions: 0,
    restores: 0,
    environments: 0,
    "backup pages": 0,
  };
  const folder = freshCopy();
  const known: Known[] = [];
  const teamIds = new Set<number>();
  const environments: KnownEnvironment[] = [];

  const call = async (
    service: RunningService,
    method: string,
    path: string,
    body: object | undefined,
    headers = {},
  ) => {
    const response = await request(service.url + path, {
      method: method as "GET",
      headers: { authorization: `Token ${service.key}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
    return { status: response.statusCode, headers: response.headers, body: (await response.body.json()) as any };
  };
  /** How many events the feed has of the group with this id. */
  const countEvents = async (service: RunningService, id: string) => {
    let count = 0;
    for (let cursor = "", more = true; more; ) {
      const query = `user_group_id=${encodeURIComponent(id)}&limit=1000${cursor && `&cursor=${cursor}`}`;
      const { body } = await call(service, "GET", `/api/events?${query}`, undefined);
      count += body.events.length;
      [cursor, more] = [body.next_cursor, body.has_more];
    }
    return count;
  };
  const send = (service: RunningService, { id, token, teamId }: Known, inFlight: NonNullable<Known["inFlight"]>) => {
    if (inFlight === "rotation") return call(service, "POST", "/api/user", { current_token: token });
    if (inFlight === "deletion") return call(service, "DELETE", "/api/user", { current_token: token });
    if (inFlight === "restore") return call(service, "POST", `/api/user_groups/${teamId}/restore`, undefined);
    return call(service, "PUT", "/api/user", { user_group_id: id, name: inFlight.name });
  };
  const viewed = (service: RunningService, token: string) =>
    call(service, "GET", "/api/viewer", undefined, { authorization: `Token ${token}` });

  const asOperator = (service: RunningService) => ({ authorization: `Token ${service.operatorToken}` });
  const issueFirstKey = (service: RunningService, workspace: string) => {
    const body = { workspace, environment: "Testing", name: "first" };
    return call(service, "POST", "/api/keys", body, asOperator(service));
  };
  /** The workspaces of all environments that the registry lists. */
  const listedWorkspaces = async (service: RunningService) => {
    const listed: string[] = [];
    for (let query = "?limit=100", next: string | null = ""; next !== null; query = `?limit=100&cursor=${next}`) {
      const { body } = await call(service, "GET", `/api/environments${query}`, undefined, asOperator(service));
      listed.push(...body.environments.map(({ workspace }: { workspace: string }) => workspace));
      next = body.next_cursor;
    }
    return listed;
  };
  /** Issues the first keys of environments, one after the other, until the service does not answer. */
  const issueFirstKeys = async (service: RunningService, name: string) => {
    for (let count = 0; ; count += 1) {
      const mine: KnownEnvironment = { workspace: `${name}-${count}` };
      environments.push(mine);
      const { status, body } = await issueFirstKey(service, mine.workspace);
      if (status !== 201) throw new Error(`A write was refused: ${JSON.stringify(body.error)}`);
      mine.key = body.key;
      counts.environments += 1;
    }
  };
  /**
   * Every environment with an acknowledged key is listed once, and its key works. One whose first key was in flight may be
   * listed, and then issuing a key again repairs it.
   */
  const inspectEnvironments = async (service: RunningService, ofThisKill: KnownEnvironment[]) => {
    const listed = await listedWorkspaces(service);
    expect(new Set(listed).size).toBe(listed.length);
    for (const { workspace, key } of ofThisKill) {
      if (key === undefined) {
        expect((await issueFirstKey(service, workspace)).status).toBe(201);
        continue;
      }
      expect(listed).toContain(workspace);
      const { body } = await call(service, "GET", "/api/whoami", undefined, { authorization: `Token ${key}` });
      expect(body.caller).toMatchObject({ kind: "api_key", id: 1, workspace });
    }
    const names = ofThisKill.map(({ workspace }) => workspace);
    expect((await listedWorkspaces(service)).filter((each) => names.includes(each)).toSorted()).toEqual(
      names.toSorted(),
    );
  };

  /** Takes backups of the environment until the service does not answer. The group that a whole one must have was there before. */
  const backUpForever = async (service: RunningService) => {
    const { workspace, environment } = (await call(service, "GET", "/api/whoami", undefined)).body.caller;
    const path = `/api/backup?workspace=${workspace}&environment=${environment ?? "untagged"}`;
    for (;;) {
      const groups = known.length;
      const lines: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const response = await request(service.url + path + (cursor && `&cursor=${cursor}`), {
          headers: asOperator(service),
        });
        const text = await response.body.text();
        if (response.statusCode === 429 || response.statusCode === 410) break;
        if (response.statusCode !== 200) throw new Error(`A write was refused: ${text}`);
        lines.push(...text.trimEnd().split("\n"));
        cursor = JSON.parse(lines.at(-1) ?? "").next_cursor;
        counts["backup pages"] += 1;
        if (cursor !== null) continue;
        const ids = new Set(lines.flatMap((line) => JSON.parse(line).provided_id ?? []));
        for (const { id } of known.slice(0, groups)) expect(ids).toContain(id);
      }
    }
  };

  let service = await startService(folder);
  try {
    for (let kill = 0; hasAnotherRound(kill, startedAt, 3, 100, 0.25); kill += 1) {
      const killAfter = counts.acknowledged + 100 + random(100);
      const running = service;
      const client = async (index: number) => {
        const id = `client ${index} of kill ${kill}`;
        const created = await call(running, "GET", "/api/user", { user_group_id: id });
        const { name, token, team_id: teamId } = created.body.user_group;
        const mine: Known = { id, name, token, teamId, changes: 0, isDeleted: false };
        known.push(mine);
        for (let count = 0; ; count += 1) {
          const choice = random(5);
          const inFlight = mine.isDeleted
            ? "restore"
            : choice < 2
              ? "rotation"
              : choice < 4
                ? { name: `name ${count}` }
                : "deletion";
          mine.inFlight = inFlight;
          const { status, body } = await send(running, mine, inFlight);
          if (status !== 200) throw new Error(`A write was refused: ${JSON.stringify(body.error)}`);
          mine.inFlight = undefined;
          mine.changes += 1;
          mine.isDeleted = inFlight === "deletion";
          mine.name = body.user_group?.name ?? mine.name;
          mine.token = body.user_group?.token ?? mine.token;
          counts.acknowledged += 1;
          if (inFlight === "deletion") counts.deletions += 1;
          if (inFlight === "restore") counts.restores += 1;
        }
      };
      const clients = Array.from({ length: CLIENTS }, (_, index) =>
        client(index).catch((error: Error) => error.message),
      );
      const before = environments.length;
      const issuers = [1, 2].map((index) =>
        issueFirstKeys(running, `kill-${kill}-${index}`).catch((error: Error) => error.message),
      );
      const backups = backUpForever(running).catch((error: Error) => error.message);
      await waitUntil(() => counts.acknowledged >= killAfter, "enough writes were acknowledged");
      const victim = VICTIMS[kill % VICTIMS.length] ?? "workerd";
      process.kill(
        victim === "workerd" ? (workerdPidsOf(running.process)[0] ?? 0) : launcherPidOf(running.process),
        "SIGKILL",
      );
      counts[victim] += 1;
      // Whichever is killed, the others end too, so that a supervisor starts the service again and nothing else uses the state.
      await waitUntil(() => processesOf(running.process).length === 0, "all processes had ended");
      for (const message of await Promise.all([...clients, ...issuers, backups]))
        expect(message).not.toMatch(/A write was refused|expected/);

      service = await startService(folder);
      const inspect = async (mine: Known) => {
        // A move between the tables is whole or absent: the group is in exactly one of them.
        const shown = await call(service, "GET", `/api/user_groups/${mine.teamId}`, undefined);
        const deleted = await call(service, "GET", `/api/user_groups/${mine.teamId}?state=deleted`, undefined);
        expect([shown.status, deleted.status].toSorted()).toEqual([200, 404]);
        const isDeleted = deleted.status === 200;
        const isKnown = mine.inFlight !== "deletion" && mine.inFlight !== "restore";
        expect([mine.isDeleted, ...(isKnown ? [] : [!mine.isDeleted])]).toContain(isDeleted);
        // An existing group stays as it is.
        await call(service, "POST", `/api/user_groups/${mine.teamId}/restore`, undefined);
        const { body, headers } = await call(service, "GET", "/api/user", { user_group_id: mine.id });
        const found = body.user_group;
        expect(body.new_user_group).toBe(false);
        expect(found.team_id).toBe(mine.teamId);
        expect(teamIds).not.toContain(mine.teamId);
        teamIds.add(mine.teamId);
        if (mine.inFlight) counts["in flight"] += 1;
        const names = typeof mine.inFlight === "object" ? [mine.name, mine.inFlight.name] : [mine.name];
        expect(names).toContain(found.name);
        if (mine.inFlight !== "rotation") expect(found.token).toBe(mine.token);
        // Each change counts one revision and has one event, whether or not it was acknowledged.
        const [, revision] = /\.(\d+)"/.exec(String(headers.etag)) ?? [];
        expect(Number(revision)).toBeGreaterThanOrEqual(1 + mine.changes);
        expect(await countEvents(service, mine.id)).toBe(Number(revision));
        // Either the rotation was, and the old token is no more, or it was not.
        const old = await viewed(service, mine.token);
        expect(old.status).toBe(found.token === mine.token ? 200 : 401);
        expect((await viewed(service, found.token)).body.user_group.name).toBe(found.name);
      };
      await Promise.all(known.slice(-CLIENTS).map(inspect));
      await inspectEnvironments(service, environments.slice(before));
    }
  } finally {
    await service.stop();
    removeCopy(folder);
  }
  report("crashes", counts);
  const kills = counts.workerd + counts.launcher;
  expect(counts.acknowledged).toBeGreaterThanOrEqual(kills * 100);
  expect(counts["in flight"]).toBeGreaterThan(0);
  expect(Math.min(counts.deletions, counts.restores)).toBeGreaterThan(0);
  expect(counts.environments).toBeGreaterThanOrEqual(kills);
  expect(counts["backup pages"]).toBeGreaterThanOrEqual(kills);
});
