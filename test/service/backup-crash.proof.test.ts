import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { request } from "undici";
import { expect, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { hasAnotherRound, report } from "../proof/effort.ts";
import { commandsOf } from "../support/node/backups.ts";
import { outcomeOf, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";
import { endGroup } from "../support/node/service.ts";
import { randomOf } from "../support/random.ts";

/** What is killed while a backup is written, in turns. */
const VICTIMS = ["nothing", "the command", "workerd"] as const;
const WRITERS = 3;
/** So many and so large that a backup has several pages. */
const FILLERS = 160;
const FILLER = { filler: "x".repeat(12_000) };
const { seed } = inject("effort");

/** A group that one writer changes: what it was at each revision. */
type Written = { id: string; teamId: number; revision: number; states: Map<number, { name: string; token: string }> };
type Minted = { id: string; text: string };
// biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
type Answer = { status: number; etag: string; body: any };

/** The service, which is started again on its state after each kill, and those who write. */
class World {
  readonly state = join(newFolder(), "state");
  readonly groups: Written[] = [];
  readonly minted: Minted[] = [];
  service!: PlainService;
  key = "";
  backupKey = "";
  acknowledged = 0;

  async start(): Promise<void> {
    mkdirSync(this.state);
    this.service = await startPlainService({ state: this.state });
    this.key = this.service.key;
    const { url, operatorToken } = this.service;
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    this.backupKey = (await operator.issueOperator({ name: "nightly", role: "backup" })).key;
    const client = new UserGroupClient({ url, apiKey: this.key });
    const create = (n: number) => client.ensure({ userGroupId: `filler ${n}`, properties: FILLER });
    for (let n = 0; n < FILLERS; n += 16)
      await Promise.all(Array.from({ length: 16 }, (_, index) => create(n + index)));
    for (let n = 0; n < WRITERS; n += 1) await this.#create(`writer ${n}`);
    await client.ensure({ userGroupId: "people" });
  }

  async call(
    method: string,
    path: string,
    body?: object,
    at = this.service.url,
    credential = this.key,
  ): Promise<Answer> {
    const answer = await request(at + path, {
      method: method as "GET",
      headers: { authorization: `Token ${credential}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, etag: String(answer.headers.etag), body: await answer.body.json() };
  }

  async #create(id: string): Promise<void> {
    const { body } = await this.call("GET", "/api/user", { user_group_id: id });
    const { team_id: teamId, name, token } = body.user_group;
    this.groups.push({ id, teamId, revision: 1, states: new Map([[1, { name, token }]]) });
  }

  /** Changes a group until the service does not answer, or `isOver`. */
  async write(group: Written, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const before = group.states.get(group.revision) ?? { name: "", token: "" };
      const name = `name ${group.revision}`;
      const isRotation = group.revision % 4 === 0;
      const { status, body } = isRotation
        ? await this.call("POST", "/api/user", { current_token: before.token })
        : await this.call("PUT", "/api/user", { user_group_id: group.id, name });
      if (status !== 200) throw new Error(`A write was refused: ${JSON.stringify(body)}`);
      group.revision += 1;
      group.states.set(group.revision, { ...before, ...(isRotation ? { token: body.user_group.token } : { name }) });
      this.acknowledged += 1;
    }
  }

  /** Mints sessions of people, and ends most of them. */
  async endSessions(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const person = { user_group_id: "people", viewer_id: `person ${this.minted.length}`, expires_in_seconds: 3600 };
      const { session } = (await this.call("POST", "/api/viewer_sessions", person)).body;
      this.minted.push({ id: session.id ?? idOf(session.token), text: session.token });
      if (this.minted.length % 4 === 0) continue;
      await this.call("POST", "/api/viewer_sessions/end", { session: session.token });
      this.acknowledged += 1;
    }
  }

  /** Starts the service again where it was, and learns whether the changes in flight were made. */
  async restart(): Promise<void> {
    const { secrets, url, stop } = this.service;
    await stop();
    const port = Number(new URL(url).port);
    this.service = await startPlainService({ state: this.state, port, secrets, isBare: true });
    for (const group of this.groups) {
      const { etag, body } = await this.call("GET", "/api/user", { user_group_id: group.id });
      group.revision = Number(/\.(\d+)"/.exec(etag)?.[1]);
      const { name, token } = body.user_group;
      group.states.set(group.revision, { name, token });
    }
  }

  /** All events of the environment at a service, oldest first. */
  async eventsAt(url: string) {
    return Array.fromAsync(new UserGroupClient({ url, apiKey: this.key }).events());
  }
}

const idOf = (session: string): string =>
  JSON.parse(Buffer.from(session.split(".")[1] ?? "", "base64url").toString()).jti;

/** Kills a victim as soon as the command has begun to write, after up to some milliseconds. */
async function kill(
  victim: (typeof VICTIMS)[number],
  world: World,
  { folder, command, afterMs }: Killing,
): Promise<void> {
  while (victim !== "nothing" && readdirSync(folder).length === 0 && command.exitCode === null) await turn();
  await delay(afterMs);
  if (victim === "workerd") process.kill(world.service.pid, "SIGKILL");
  if (victim === "the command") await endGroup(command, "SIGKILL");
}

type Killing = { folder: string; command: ReturnType<typeof startCommand>; afterMs: number };

it("a signed backup that says it is whole restores the moment of its footer, whatever was killed", async () => {
  const random = randomOf(seed);
  const startedAt = Date.now();
  const world = new World();
  await world.start();
  onTestFinished(() => world.service.stop());
  const envFile = join(newFolder(), "env");
  writeFileSync(envFile, `SIGNING_KEYS=${world.service.secrets.SIGNING_KEYS}\n`, { mode: 0o600 });
  const counts = { nothing: 0, "the command": 0, workerd: 0, whole: 0, broken: 0, restored: 0 };

  /** Restores a whole backup, and compares each group and session with what it was after the last event of the backup. */
  const expectMoment = async (file: string, least: number) => {
    const box = await startPlainService({ isBare: true, secrets: world.service.secrets });
    onTestFinished(() => box.stop());
    expect(await commandsOf(box)("restore", file)).toMatchObject({ status: 0 });
    const restored = await world.eventsAt(box.url);
    const last = restored.at(-1)?.id ?? 0;
    const past = (await world.eventsAt(world.service.url)).filter(({ id }) => id <= last);
    expect(restored.map(({ id, type }) => [id, type])).toEqual(past.map(({ id, type }) => [id, type]));
    expect(past.length).toBeGreaterThanOrEqual(least);
    for (const { id, states } of world.groups) {
      const { etag, body } = await world.call("GET", "/api/user", { user_group_id: id }, box.url);
      const revision = past.filter((event) => event.group?.userGroupId === id).length;
      expect(Number(/\.(\d+)"/.exec(etag)?.[1]), id).toBe(revision);
      expect(body.user_group, id).toMatchObject(states.get(revision) ?? {});
    }
    const ended = new Set(past.flatMap((event) => ("sessionId" in event ? [event.sessionId] : [])));
    for (const { id, text } of world.minted.slice(-40)) {
      const { status } = await world.call("GET", "/api/viewer", undefined, box.url, text);
      expect([id, status]).toEqual([id, ended.has(id) ? 401 : 200]);
    }
    await box.stop();
    counts.restored += 1;
  };

  for (let round = 0; hasAnotherRound(round, startedAt, VICTIMS.length, 100, 0.15); round += 1) {
    const victim = VICTIMS[round % VICTIMS.length] ?? "nothing";
    const folder = newFolder();
    const least = world.acknowledged;
    let isOver = false;
    const writers = [...world.groups.map((group) => world.write(group, () => isOver)), world.endSessions(() => isOver)];
    const stopped = Promise.all(writers.map((writer) => writer.catch((error: Error) => error.message)));
    const where = ["--workspace", "acme", "--environment", "Testing"];
    const env = { SERVICE_URL: world.service.url, OPERATOR_KEY: world.backupKey };
    const command = startCommand("backup", [join(folder, "acme.ndjson"), ...where], env);
    const outcome = outcomeOf(command);
    await kill(victim, world, { folder, command, afterMs: random(12) });
    counts[victim] += 1;
    if (victim === "workerd") {
      await stopped;
      await world.restart();
    }
    // A command whose service is gone for a moment tries again.
    const { status } = await outcome;
    isOver = true;
    for (const message of await stopped) expect(message ?? "").not.toMatch(/A write was refused/);
    if (victim === "nothing") expect(status).toBe(0);
    for (const name of readdirSync(folder)) {
      const file = join(folder, name);
      const verdict = await commandsOf(world.service)("backup", "verify", file, "--env-file", envFile, "--json");
      const isWhole = verdict.status === 0;
      counts[isWhole ? "whole" : "broken"] += 1;
      if (isWhole) await expectMoment(file, least);
    }
    if (status === 0) expect(counts.restored).toBe(counts.whole);
    expect(status === 0 ? readdirSync(folder) : []).toEqual(status === 0 ? ["acme.ndjson"] : []);
  }
  report("kills of backups", counts);
  expect(counts.restored).toBeGreaterThan(0);
});
