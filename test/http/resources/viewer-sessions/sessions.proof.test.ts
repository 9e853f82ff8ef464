import { env } from "cloudflare:workers";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { SESSION_UNITS_MAX, VERIFIED_SESSIONS_UNITS_MAX } from "../../../../common/limits.ts";
import { ringOf } from "../../../../src/http/request/authenticate.ts";
import { hasAnotherRound, report } from "../../../proof/effort.ts";
import { type Answer, call } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { randomOf } from "../../../support/random.ts";
import { bearer, mint, restore, setSuspended } from "../../../support/sessions.ts";
import { operator } from "../../../support/states.ts";
import { STALE } from "../../../support/viewers.ts";

const STEPS = 40;
/** The claims of sessions that nobody presents. */
const CLAIMS = {
  issuer: "http://localhost",
  environment: { workspace: "nobody", tag: null },
  providedId: "nobody",
  teamId: 1,
  generation: new Uint8Array(16),
  keyId: 1,
  id: "00000000-0000-4000-8000-000000000000",
  seq: 1,
  issuedAtSeconds: 0,
};
const NEVER = Number.POSITIVE_INFINITY;

/** A group. Each of its tokens has a number of its own; the previous one is valid until `graceEndsAt`. */
type Group = {
  id: string;
  teamId: number;
  current: number;
  previous: number;
  graceEndsAt: number;
  isSuspended: boolean;
  isDeleted: boolean;
};
type Key = { id: number; text: string; expiresAt: number; revokedAt: number };
/** `last` is the outcome of its last view. */
type Session = { text: string; group: Group; token: number; key: Key; expiresAt: number; last?: Outcome };
type Outcome = "seen" | "seen in a grace" | "credential_expired" | "credential_revoked" | "user_group_suspended";

/** The whole truth about a session. */
function outcomeOf({ group, token, key, expiresAt }: Session, now: number): Outcome {
  if (now >= expiresAt) return "credential_expired";
  const isInGrace = token === group.previous && now < group.graceEndsAt;
  const isValid = (token === group.current || isInGrace) && !group.isDeleted;
  if (!isValid || now >= key.revokedAt || now >= key.expiresAt) return "credential_revoked";
  if (group.isSuspended) return "user_group_suspended";
  return isInGrace ? "seen in a grace" : "seen";
}

/** What minting must answer: the end of the session, or the code of the refusal. */
function mintOutcomeOf(group: Group, key: Key, seconds: number): number | string {
  const now = Date.now();
  if (now >= key.revokedAt) return "credential_revoked";
  if (now >= key.expiresAt) return "credential_expired";
  if (group.isDeleted) return "user_group_not_found";
  if (group.isSuspended) return "user_group_suspended";
  const wholeSeconds = (time: number) => Math.floor(time / 1000) * 1000;
  const end = Math.min(wholeSeconds(now) + seconds * 1000, wholeSeconds(Math.min(key.revokedAt, key.expiresAt)));
  return end > wholeSeconds(now) ? end : "credential_expired";
}

/**
 * From here on the calls go to an isolate that has verified nothing of theirs, and whose cache of sessions is full. The caches belong to the
 * ring, and another text of the same signing keys is another ring.
 */
async function startIsolate(): Promise<void> {
  const keys = env.SIGNING_KEYS.trim();
  env.SIGNING_KEYS = env.SIGNING_KEYS === keys ? `${keys} ` : keys;
  const ring = await ringOf(env);
  if (!ring.ok) throw new Error(ring.failure);
  const { verifiedSessions } = ring.value;
  const now = Date.now() / 1000;
  for (let n = 0; n * SESSION_UNITS_MAX < VERIFIED_SESSIONS_UNITS_MAX; n += 1)
    verifiedSessions.keep(
      String(n).padStart(SESSION_UNITS_MAX),
      { claims: { ...CLAIMS, expiresAtSeconds: now + 3600 }, signingId: "test" },
      now,
    );
  expect(verifiedSessions.size.units).toBeGreaterThan(VERIFIED_SESSIONS_UNITS_MAX - SESSION_UNITS_MAX);
}

/** One environment, and what is true of it. */
class History {
  readonly sessions: Session[] = [];
  readonly tally: Record<string, number>;
  readonly #random: (below: number) => number;
  readonly #workspace: string;
  readonly #groups: Group[] = [];
  readonly #keys: Key[] = [];
  /** The key that changes groups. Nothing ends it. */
  #owner = "";
  #tokens = 0;

  constructor(workspace: string, random: (below: number) => number, tally: Record<string, number>) {
    this.#workspace = workspace;
    this.#random = random;
    this.tally = tally;
  }

  async start(): Promise<void> {
    this.#owner = (await this.#issueKey(undefined)).text;
    for (let count = 0; count < 2; count += 1) {
      this.#keys.push(await this.#issueKey(undefined));
      await this.#createGroup();
    }
  }

  async step(): Promise<void> {
    const actions: [number, () => Promise<void>][] = [
      [8, () => this.#mint()],
      [4, async () => void vi.setSystemTime(Date.now() + 1000 * this.#pick([0.3, 1, 9.7, 29, 30, 60, 200]))],
      [1, () => startIsolate()],
      [3, () => this.#rotate()],
      [2, () => this.#delete()],
      [4, () => this.#restore()],
      [3, () => this.#suspendOrResume()],
      [1, () => this.#revokeKey()],
      [1, () => this.#rollKey()],
      [1, async () => void this.#keys.push(await this.#issueKey(this.#pick([undefined, 45, 400])))],
      [1, () => this.#createGroup()],
    ];
    await this.#pick(actions.flatMap(([weight, action]) => Array<typeof action>(weight).fill(action)))();
  }

  /** Views every session that was ever minted. */
  async check(): Promise<void> {
    await Promise.all(this.sessions.map((session) => this.#checkOne(session)));
    const { length } = this.sessions;
    if (length > 0) await this.#presentElsewhere(this.#pick(this.sessions.slice(-5)).text);
  }

  async #checkOne(session: Session): Promise<void> {
    const outcome = outcomeOf(session, Date.now());
    this.#count(outcome);
    if (outcome === "seen" && session.last !== "seen") this.#count(`seen after ${session.last ?? "minting"}`);
    session.last = outcome;
    const { body } = await this.#present(session.text);
    const answer = body.error?.code ?? body.user_group?.provided_id ?? body.caller?.name ?? body.params?.[0];
    const expected = outcome === "seen" || outcome === "seen in a grace" ? session.group.id : outcome;
    expect(answer, `session ${this.sessions.indexOf(session)} in ${this.#workspace}`).toBe(expected);
  }

  #present(text: string): Promise<Answer> {
    const headers = this.#headersOf(text);
    const audience = `${this.#workspace}/Testing`;
    return this.#pick([
      () => call("GET", "/api/viewer", { headers }),
      () => call("GET", `/api/viewer?audience=${audience}`, { headers }),
      () => call("POST", "/api/viewer/query", { headers, body: { sql: "{{user_group_id}}", audience } }),
      () => call("POST", "/api/viewer/query", { headers, body: { sql: "{{user_group_id}}" } }),
      () => call("GET", "/api/whoami", { headers }),
    ])();
  }

  #headersOf(text: string): Record<string, string> {
    return this.#pick([{ Authorization: `Token ${text}` }, bearer(text), { ...bearer(text), ...STALE }]);
  }

  /** Presents a session to a verifier of another environment, which refuses it, whatever else is true of it. */
  async #presentElsewhere(text: string): Promise<void> {
    const audience = this.#pick([`${this.#workspace}/Customer`, `${this.#workspace}0/Testing`, "elsewhere/untagged"]);
    const headers = this.#headersOf(text);
    const { status } = await this.#pick([
      () => call("GET", `/api/viewer?audience=${audience}`, { headers }),
      () => call("GET", `/api/viewer/check?audience=${audience}`, { headers }),
      () => call("POST", "/api/viewer/query", { headers, body: { sql: "{{user_group_id}}", audience } }),
    ])();
    expect([401, 403], `a session of ${this.#workspace} for ${audience}`).toContain(status);
    this.#count(`elsewhere ${status}`);
  }

  async #mint(): Promise<void> {
    // Most of the older keys have ended.
    const [group, key] = [this.#pick(this.#groups), this.#pick(this.#keys.slice(-3))];
    const seconds = this.#pick([60, 300, 3600, 3600]);
    const expected = mintOutcomeOf(group, key, seconds);
    const { body } = await mint(key.text, { user_group_id: group.id, expires_in_seconds: seconds });
    const answer = body.error?.code ?? Date.parse(body.session.expires_at);
    expect(answer, `mint for ${group.id} in ${this.#workspace}`).toBe(expected);
    this.#count(`mint ${typeof expected === "number" ? "succeeded" : expected}`);
    if (typeof expected === "number")
      this.sessions.push({ text: body.session.token, group, token: group.current, key, expiresAt: expected });
  }

  async #rotate(): Promise<void> {
    const group = this.#pickGroup(({ isDeleted }) => !isDeleted);
    if (!group) return;
    const graceSeconds = this.#pick([0, 30, 200]);
    if (this.#random(2) === 0) {
      const body = { grace_seconds: graceSeconds };
      await this.#change("POST", `/api/user_groups/${group.teamId}/rotate`, body);
    } else {
      const { user_group: current } = (await this.#change("GET", "/api/user", { user_group_id: group.id })).body;
      await this.#change("POST", "/api/user", { current_token: current.token, grace_seconds: graceSeconds });
    }
    group.previous = graceSeconds > 0 ? group.current : 0;
    group.graceEndsAt = Date.now() + graceSeconds * 1000;
    group.current = this.#newToken();
  }

  async #delete(): Promise<void> {
    const group = this.#pickGroup(({ isDeleted }) => !isDeleted);
    if (!group) return;
    await this.#change("DELETE", `/api/user_groups/${group.teamId}`);
    group.isDeleted = true;
  }

  async #restore(): Promise<void> {
    const group = this.#pickGroup(({ isDeleted }) => isDeleted);
    if (!group) return;
    const rotatesToken = this.#random(4) === 0;
    expect((await restore(this.#owner, group.teamId, { rotate_token: rotatesToken })).status).toBe(200);
    group.isDeleted = false;
    if (rotatesToken) Object.assign(group, { current: this.#newToken(), previous: 0 });
  }

  async #suspendOrResume(): Promise<void> {
    // Rather the end of a suspension than a second one.
    const group =
      this.#pickGroup((each) => each.isSuspended && !each.isDeleted) ?? this.#pickGroup(({ isDeleted }) => !isDeleted);
    if (!group) return;
    const isSuspended = !group.isSuspended;
    expect((await setSuspended(this.#owner, isSuspended, group.id)).status).toBe(200);
    group.isSuspended = isSuspended;
  }

  async #revokeKey(): Promise<void> {
    const key = this.#pick(this.#keys);
    expect((await this.#manage("DELETE", `/${key.id}`)).status).toBe(200);
    key.revokedAt = Math.min(key.revokedAt, Date.now());
  }

  async #rollKey(): Promise<void> {
    const key = this.#pick(this.#keys);
    const graceSeconds = this.#pick([0, 30, 200]);
    const { status, body } = await this.#manage("POST", `/${key.id}/roll`, { grace_seconds: graceSeconds });
    const isValid = Date.now() < Math.min(key.revokedAt, key.expiresAt);
    expect(status, `roll of key ${key.id} in ${this.#workspace}`).toBe(isValid ? 201 : 404);
    if (!isValid) return;
    key.revokedAt = Math.min(key.revokedAt, Date.now() + graceSeconds * 1000);
    this.#keys.push({ id: body.api_key.id, text: body.key, expiresAt: key.expiresAt, revokedAt: NEVER });
  }

  async #issueKey(expiresInSeconds: number | undefined): Promise<Key> {
    const body = {
      workspace: this.#workspace,
      environment: "Testing",
      name: "backend",
      expires_in_seconds: expiresInSeconds,
    };
    const issued = await call("POST", "/api/keys", { credential: operator, body });
    expect(issued.status).toBe(201);
    const expiresAt = expiresInSeconds === undefined ? NEVER : Date.now() + expiresInSeconds * 1000;
    return { id: issued.body.api_key.id, text: issued.body.key, expiresAt, revokedAt: NEVER };
  }

  async #createGroup(): Promise<void> {
    const teamId = this.#groups.length + 1;
    const id = `group-${teamId}`;
    const { body } = await this.#change("GET", "/api/user", { user_group_id: id });
    expect(body.user_group.team_id).toBe(teamId);
    const current = this.#newToken();
    this.#groups.push({ id, teamId, current, previous: 0, graceEndsAt: 0, isSuspended: false, isDeleted: false });
  }

  async #change(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await call(method, path, { credential: this.#owner, body });
    expect(answer.status, `${method} ${path}`).toBe(200);
    return answer;
  }

  #manage(method: string, path: string, body?: object): Promise<Answer> {
    return call(method, `/api/keys${path}${this.#environment}`, { credential: operator, body });
  }

  get #environment(): string {
    return `?workspace=${this.#workspace}&environment=Testing`;
  }

  #newToken(): number {
    this.#tokens += 1;
    return this.#tokens;
  }

  #pickGroup(fits: (group: Group) => boolean): Group | undefined {
    const groups = this.#groups.filter(fits);
    return groups.length > 0 ? this.#pick(groups) : undefined;
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[this.#random(values.length)] as Value;
  }

  #count(name: string): void {
    this.tally[name] = (this.tally[name] ?? 0) + 1;
  }
}

/** What the histories must have met. */
const MET = [
  "seen",
  "seen in a grace",
  "credential_expired",
  "credential_revoked",
  "user_group_suspended",
  "elsewhere 401",
  "elsewhere 403",
  "seen after credential_revoked",
  "seen after user_group_suspended",
  "mint succeeded",
  "mint credential_revoked",
  "mint user_group_not_found",
  "mint user_group_suspended",
];

it("a session is admitted exactly as long as a model of a few lines says", async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const signingKeys = env.SIGNING_KEYS;
  onTestFinished(() => {
    env.SIGNING_KEYS = signingKeys;
  });
  const startedAt = performance.now();
  const tally: Record<string, number> = {};
  let histories = 0;
  for (; hasAnotherRound(histories, Date.now() - (performance.now() - startedAt), 8, 100_000, 0.1); histories += 1) {
    const random = randomOf(inject("effort").seed * 1_000_003 + histories);
    const history = new History(`world-${histories}`, random, tally);
    await history.start();
    for (let step = 0; step < STEPS; step += 1) {
      await history.step();
      await history.check();
    }
  }
  report("sessions", { histories, ...tally });
  for (const name of MET) expect(tally[name] ?? 0, name).toBeGreaterThan(0);
});
