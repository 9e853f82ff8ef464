import { env } from "cloudflare:workers";
import { expect, inject, it, vi } from "vitest";
import { VERIFIED_CREDENTIALS_MAX } from "../../../../common/limits.ts";
import { ringOf } from "../../../../src/http/request/authenticate.ts";
import { hasAnotherRound, report } from "../../../proof/effort.ts";
import { type Answer, call } from "../../../support/client.ts";
import { FaultyKv } from "../../../support/faulty-kv.ts";
import { randomOf } from "../../../support/random.ts";
import { type Integrator, newIntegrator } from "../../../support/states.ts";

const NOW = Date.parse("2035-01-01T00:00:00.000Z");
const STEPS = 120;
const LEASE_SECONDS_MAX = 300;

/** A time from and until, in milliseconds since 1970. */
type Span = { from: number; until: number };
type Token = Span & { text: string; graceFrom: number };

/** The past states of a group: its names, which are all different, and its tokens, each with its time. */
class History {
  readonly names = new Map<string, Span>();
  readonly tokens: Token[] = [];
  #name = "";

  rename(name: string): void {
    const last = this.names.get(this.#name);
    if (last) last.until = Date.now();
    this.names.set(name, { from: Date.now(), until: Number.POSITIVE_INFINITY });
    this.#name = name;
  }

  /** Adds a token. Earlier ones end after `graceSeconds`, or at their own end if that is sooner. */
  rotate(text: string, graceSeconds: number): void {
    for (const [index, token] of this.tokens.entries()) {
      const isLast = index === this.tokens.length - 1;
      if (isLast && graceSeconds > 0) token.graceFrom = Date.now();
      token.until = Math.min(token.until, Date.now() + (isLast ? graceSeconds * 1000 : 0));
    }
    if (text !== "")
      this.tokens.push({
        text,
        from: Date.now(),
        until: Number.POSITIVE_INFINITY,
        graceFrom: Number.POSITIVE_INFINITY,
      });
  }

  get current(): string {
    return this.tokens.at(-1)?.text ?? "";
  }
}

/** One group, a faulty KV, and a clock that moves wherever the Worker waits. */
async function newWorld(seed: number) {
  const random = randomOf(seed);
  const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
  vi.setSystemTime(NOW);
  const kv = new FaultyKv(random, pass);
  /** Changes by others between the directory's answer and the Worker's next step. Time passes there, too. */
  const meanwhile: (() => Promise<unknown>)[] = [];
  const directories = new Proxy(env.GROUP_DIRECTORY, {
    get: (namespace, name) => (directory: string) => {
      if (name !== "getByName") return Reflect.get(namespace, name).call(namespace, directory);
      return new Proxy(namespace.getByName(directory), {
        get:
          (stub, method) =>
          async (...args: unknown[]) => {
            const answer = await Reflect.apply(Reflect.get(stub, method), undefined, args);
            if (method === "view") {
              pass([0, 0, 5, 30][random(4)] ?? 0);
              await meanwhile.pop()?.();
              pass([0, 0, 5, 30][random(4)] ?? 0);
            }
            return answer;
          },
      });
    },
  });
  const world: Env = { ...env, GROUP_DIRECTORY: directories, TOKEN_INDEX: kv as unknown as KVNamespace };
  const workspace = `world-${seed}`;
  const integrator = await newIntegrator({ workspace }, world);
  return { random, pass, kv, world, integrator, meanwhile, audience: `${workspace}/Testing` };
}

/** Whether the answer was the group's state at some moment within its Age. */
function wasTrue(history: History, token: Token, { headers, body }: Answer, answeredAt: number): boolean {
  const ageMs = Number(headers.get("Age")) * 1000;
  const [from, until] = [answeredAt - ageMs - 1000, answeredAt - ageMs];
  const name = history.names.get(body.user_group.name);
  if (!name) return false;
  const truth = { from: Math.max(from, name.from, token.from), until: Math.min(until, name.until, token.until) };
  // A lease that was read during a grace must not outlive it.
  const outlivesGrace = from >= token.graceFrom && answeredAt >= token.until;
  return truth.from <= truth.until && !outlivesGrace;
}

type World = Awaited<ReturnType<typeof newWorld>>;

async function step(world: World, history: History, count: number, tally: Tally) {
  const { random, pass, integrator } = world;
  const kind = random(20);
  if (kind < 13) {
    // A lease needs two views within a minute.
    const token = history.tokens[Math.max(0, history.tokens.length - 1 - random(2))] as Token;
    for (let views = 0; views < 4; views += 1) {
      const name = `name ${count}.${views}`;
      if (random(3) === 0) world.meanwhile.push(() => rename(world, history, name));
      await viewOnce(world, history, token, tally);
      world.meanwhile.length = 0;
    }
    return;
  }
  if (kind < 16) return pass([1, 5, 20, 61, 100, 200, 4000][random(7)] ?? 0);
  if (kind < 18) {
    return rename(world, history, `name ${count}`);
  }
  return change(integrator, history, { isDelete: kind === 19, graceSeconds: [0, 60, 150, 250][random(4)] ?? 0, count });
}

function rename({ integrator }: World, history: History, name: string): Promise<Answer> {
  history.rename(name);
  return integrator.put({ user_group_id: "acme", name });
}

/** How many views were answered by whom, and how many were refused: also those for another environment, wherever the answer would come from. */
type Tally = { index: number; directory: number; refused: number; elsewhere: number };

/** Views as a verifier of another environment does, or of none that exists. */
async function viewElsewhere({ random, world, audience }: World, token: Token, headers: Record<string, string>) {
  const others = [audience.replace("Testing", "Customer"), audience.replace("world-", "world-1"), `x${audience}`];
  const path = ["/api/viewer", "/api/viewer/check"][random(2)] ?? "";
  const query = `?audience=${encodeURIComponent(others[random(3)] ?? "")}`;
  const { status, body } = await call("GET", path + query, { credential: token.text, headers, env: world });
  expect([401, 403]).toContain(status);
  if (status === 403) expect(body.error.code).toBe("audience_mismatch");
  // The group has no other reason to refuse its current token.
  if (token.until === Number.POSITIVE_INFINITY) expect(status).toBe(403);
}

async function viewOnce(each: World, history: History, token: Token, tally: Tally) {
  const { random, world, audience } = each;
  const maxAge = [60, 61, 120, 300, 86_400][random(5)] ?? 60;
  const calledAt = Date.now();
  const isPatient = random(6) > 0;
  const headers: Record<string, string> = isPatient ? { "Cache-Control": `max-age=${maxAge}` } : {};
  if (random(4) === 0) {
    tally.elsewhere += 1;
    return viewElsewhere(each, token, headers);
  }
  const path = ["/api/viewer", `/api/viewer?audience=${encodeURIComponent(audience)}`][random(2)] ?? "";
  const answer = await call("GET", path, { credential: token.text, headers, env: world });
  if (answer.status === 200) expect(answer.body.audience).toBe(audience);
  const answeredAt = Date.now();
  const by = answer.headers.get("X-Answered-By");
  if (by === "index") {
    tally.index += 1;
    expect(Number(answer.headers.get("Age"))).toBeLessThanOrEqual(Math.min(maxAge, LEASE_SECONDS_MAX));
    expect(wasTrue(history, token, answer, answeredAt), "the answer was the state at the time of its Age").toBe(true);
  } else if (answer.status === 200) {
    tally.directory += 1;
    expect(token.until).toBeGreaterThan(calledAt);
    expect(history.names.get(answer.body.user_group.name)?.until).toBeGreaterThanOrEqual(calledAt);
  } else {
    tally.refused += 1;
    expect(token.until).toBeLessThanOrEqual(answeredAt);
  }
}

async function change(
  { rotate, remove, tokenOf }: Integrator,
  history: History,
  { isDelete, graceSeconds, count }: { isDelete: boolean; graceSeconds: number; count: number },
) {
  const changedAt = Date.now();
  const at = (time: number, job: () => void) => {
    const now = Date.now();
    vi.setSystemTime(time);
    job();
    vi.setSystemTime(now);
  };
  if (!isDelete) {
    const { body } = await rotate(history.current, { grace_seconds: graceSeconds });
    return at(changedAt, () => history.rotate(body.user_group.token, graceSeconds));
  }
  await remove(history.current);
  at(changedAt, () => history.rotate("", 0));
  const createdAt = Date.now();
  const token = await tokenOf("acme", { name: `name ${count}` });
  at(createdAt, () => {
    history.rotate(token, 0);
    history.rename(`name ${count}`);
  });
}

/** Fills the cache of credentials, which is therefore emptied during a history. */
async function fillCache(): Promise<void> {
  const ring = await ringOf(env);
  if (!ring.ok) throw new Error(ring.failure);
  const { verified } = ring.value;
  const environment = { workspace: "nobody", tag: null };
  const claim = {
    kind: "token",
    environment,
    id: 1,
    nonce: new Uint8Array(16),
    fingerprint: "",
    signingId: "test",
  } as const;
  for (let n = 0; verified.size < VERIFIED_CREDENTIALS_MAX - 2; n += 1) verified.set(`nobody ${n}`, claim);
}

it("no fault of KV makes an answer older than its max-age or 300 seconds", async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const startedAt = performance.now();
  const tally: Tally = { index: 0, directory: 0, refused: 0, elsewhere: 0 };
  const faults: Record<string, number> = {};
  let histories = 0;
  for (; hasAnotherRound(histories, Date.now() - (performance.now() - startedAt), 4, 100_000, 0.15); histories += 1) {
    const world = await newWorld(inject("effort").seed * 1_000_003 + histories);
    const history = new History();
    await fillCache();
    const createdAt = Date.now();
    const token = await world.integrator.tokenOf("acme", { name: "name" });
    const now = Date.now();
    vi.setSystemTime(createdAt);
    history.rotate(token, 0);
    history.rename("name");
    vi.setSystemTime(now);
    for (let count = 0; count < STEPS; count += 1) await step(world, history, count, tally);
    for (const [fault, count] of Object.entries(world.kv.counts)) faults[fault] = (faults[fault] ?? 0) + count;
  }
  report("leases", { histories, ...tally, ...faults });
  for (const [name, count] of Object.entries(tally)) expect(count, name).toBeGreaterThan(50);
  expect(Object.keys(faults)).toHaveLength(4 + 6 + 6);
});
