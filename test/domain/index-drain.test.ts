import { evictAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, it, vi } from "vitest";
import { IndexDrain } from "../../src/domain/index-drain.ts";
import { GroupStore } from "../../src/storage/group-store.ts";
import { OutboxStore } from "../../src/storage/outbox-store.ts";
import type { TokenIndex } from "../../src/storage/token-index.ts";
import { CREDENTIAL_PATTERN, call } from "../support/client.ts";
import { logLines } from "../support/each-test.ts";
import { failingKv, hangingKv, replaceKv } from "../support/hostile-kv.ts";
import { indexSettled, indexSettledByAlarms, outboxSize, runAlarm } from "../support/index-state.ts";
import { countRows } from "../support/rows.ts";
import { newIntegrator } from "../support/states.ts";

// Far ahead, so that no alarm of the runtime, whose clock goes on, is due before the test runs it.
const NOW = new Date("2035-01-01T00:00:00.000Z");
const TESTING = "acme/Testing";

const isIndexed = async (token: string) => {
  const headers = { "Cache-Control": "max-age=60" };
  const answer = await call("GET", "/api/viewer", { credential: token, headers });
  return answer.headers.get("X-Answered-By") === "index";
};

describe("the index", () => {
  it("is told at once of first viewers, changes, rotations and deletes", async ({ expect }) => {
    const { viewedTokenOf, put, rotate, remove } = await newIntegrator();
    const first = await viewedTokenOf("acme");
    await indexSettled(TESTING);
    expect(await isIndexed(first)).toBe(true);
    await put({ user_group_id: "acme", name: "Renamed" });
    await indexSettled(TESTING);
    const { keys } = await env.TOKEN_INDEX.list();
    expect(await env.TOKEN_INDEX.get(keys[0]?.name ?? "", "json")).toMatchObject({ name: "Renamed" });
    const second: string = (await rotate(first)).body.user_group.token;
    await indexSettled(TESTING);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
    expect([await isIndexed(first), await isIndexed(second)]).toEqual([false, false]);
    await indexSettled(TESTING);
    expect([await isIndexed(first), await isIndexed(second)]).toEqual([false, true]);
    await remove(second);
    await indexSettled(TESTING);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
  });

  it("holds no credential, and no nonce that one could be made of", async ({ expect }) => {
    const { viewedTokenOf } = await newIntegrator();
    const token = await viewedTokenOf("acme", { properties: { a: 1 } });
    await indexSettled(TESTING);
    const { keys } = await env.TOKEN_INDEX.list();
    expect(keys).toHaveLength(1);
    const name = keys[0]?.name ?? "";
    const stored = name + (await env.TOKEN_INDEX.get(name));
    const bytes = Uint8Array.fromBase64(token.slice("ugt_testing_".length), { alphabet: "base64url" });
    expect(stored).not.toMatch(CREDENTIAL_PATTERN);
    for (const secret of [bytes.slice(-16), bytes.slice(-32, -16)])
      for (const spelling of [secret.toHex(), secret.toBase64(), secret.toBase64({ alphabet: "base64url" })])
        expect(stored).not.toContain(spelling.replaceAll("=", ""));
  });

  // KV takes no expiration sooner than in a minute.
  it.for([600, 5])("lets the entry of a grace of %d seconds expire by itself", async (seconds, { expect }) => {
    const { viewedTokenOf, rotate } = await newIntegrator();
    const old = await viewedTokenOf("acme");
    const current: string = (await rotate(old, { grace_seconds: seconds })).body.user_group.token;
    expect(await isIndexed(current)).toBe(false);
    await indexSettled(TESTING);
    const expirations = (await env.TOKEN_INDEX.list()).keys.map(({ expiration }) => expiration);
    expect(expirations).toHaveLength(2);
    const [expiration, ...others] = expirations.filter((each) => each !== undefined);
    expect(others).toEqual([]);
    // With time to spare for the write to get there.
    expect(expiration).toBeGreaterThan(Date.now() / 1000 + 75);
  });

  it("gets at most one operation for each token in a second, and few at a time", async ({ expect }) => {
    const times = new Map<string, number[]>();
    let inFlight = 0;
    let most = 0;
    replaceKv(async (operation, [key], real) => {
      if (operation === "get") return real();
      times.set(String(key), [...(times.get(String(key)) ?? []), Date.now()]);
      inFlight += 1;
      most = Math.max(most, inFlight);
      return real().finally(() => {
        inFlight -= 1;
      });
    });
    const { put, viewedTokenOf } = await newIntegrator();
    await Promise.all(Array.from({ length: 30 }, (_, index) => viewedTokenOf(`group ${index}`)));
    for (let version = 0; version < 30; version += 1) await put({ user_group_id: "group 1", name: `v${version}` });
    await indexSettled(TESTING);

    const gaps = [...times.values()].flatMap((each) => each.slice(1).map((time, index) => time - (each[index] ?? 0)));
    expect(times.size).toBe(30);
    expect(gaps.length).toBeGreaterThan(0);
    expect(gaps.length).toBeLessThan(10);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
    expect(most).toBeLessThanOrEqual(6);
    const token = await viewedTokenOf("group 1");
    const stale = await call("GET", "/api/viewer", { credential: token, headers: { "Cache-Control": "max-age=60" } });
    expect(stale.headers.get("X-Answered-By")).toBe("index");
    expect(stale.body.user_group.name).toBe("v29");
  });
});

describe("while the clock is stopped", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  });

  it("is complete within a minute after KV was down for three hours, and no alarm ever throws", async ({ expect }) => {
    const { viewedTokenOf, rotate, remove } = await newIntegrator();
    let isDown = true;
    replaceKv((_, __, real) => (isDown ? Promise.reject(new Error("KV is down.")) : real()));
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, index) => viewedTokenOf(`group ${index}`)));
    const rotated: string = (await rotate(tokens[0] ?? "")).body.user_group.token;
    expect(await isIndexed(rotated)).toBe(false);
    await remove(tokens[1] ?? "");
    for (let minute = 0; minute < 180; minute += 1) {
      vi.setSystemTime(NOW.getTime() + minute * 60_000);
      if (minute % 20 === 0) await evictAllDurableObjects();
      expect(await runAlarm(TESTING)).toBe(true);
    }
    isDown = false;
    const backAt = Date.now();

    const alarm = () =>
      runInDurableObject(env.GROUP_DIRECTORY.getByName(TESTING), (_, { storage }) => storage.getAlarm());
    for (;;) {
      const at = await alarm();
      if (at === null || at > backAt + 60_000) break;
      vi.setSystemTime(Math.max(Date.now(), at));
      await runAlarm(TESTING);
    }

    expect(Date.now() - backAt).toBeLessThanOrEqual(60_000);
    expect(await Promise.all([rotated, ...tokens.slice(2)].map(isIndexed))).toEqual(Array(39).fill(true));
    expect((await env.TOKEN_INDEX.list()).keys).toHaveLength(39);
    await indexSettledByAlarms(TESTING);
    expect(logLines.some(({ message }) => String(message).includes("token index"))).toBe(true);
  });

  it("waits longer after each failure, half a minute at the most, also where it starts anew", async ({ expect }) => {
    const { viewedTokenOf } = await newIntegrator();
    const alarm = () =>
      runInDurableObject(env.GROUP_DIRECTORY.getByName(TESTING), (_, { storage }) => storage.getAlarm());
    failingKv();
    await viewedTokenOf("acme");
    const waits: number[] = [];
    for (let attempt = 0; attempt < 10; attempt += 1) {
      vi.setSystemTime((await alarm()) ?? 0);
      await runAlarm(TESTING);
      waits.push((((await alarm()) ?? 0) - Date.now()) / 1000);
    }
    expect(waits.slice(-2)).toEqual([30, 30]);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    const next = await alarm();
    await evictAllDurableObjects();
    expect(await outboxSize(TESTING)).toBe(1);
    expect(await alarm()).toBe(next);
  });

  it("writes again behind a write that may still be on its way from an evicted directory", async ({ expect }) => {
    const { viewedTokenOf, remove } = await newIntegrator();
    let late: (() => Promise<unknown>) | undefined;
    replaceKv((operation, _, real) => {
      if (operation !== "put" || late) return real();
      late = real;
      return new Promise(() => undefined);
    });
    const token = await viewedTokenOf("acme");
    await vi.waitUntil(() => late !== undefined);
    await evictAllDurableObjects();
    await remove(token);
    vi.setSystemTime(Date.now() + 2000);
    await runAlarm(TESTING);
    await late?.();
    expect((await env.TOKEN_INDEX.list()).keys).toHaveLength(1);
    expect(await outboxSize(TESTING)).toBe(1);
    await indexSettledByAlarms(TESTING);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
  });

  it("is told for good, and not once a minute, where each alarm finds the directory started anew", async ({
    expect,
  }) => {
    const { viewedTokenOf, remove } = await newIntegrator();
    const tokens = [await viewedTokenOf("renamed"), await viewedTokenOf("deleted")] as const;
    await indexSettled(TESTING);
    vi.setSystemTime(Date.now() + 2000);
    let isDown = true;
    const written: string[] = [];
    replaceKv((operation, [name], real) => {
      if (operation === "get") return real();
      if (isDown) return Promise.reject(new Error("KV is down."));
      written.push(String(name));
      return real();
    });
    await Promise.all(tokens.map((token) => remove(token)));
    isDown = false;
    for (let minute = 0; minute < 10; minute += 1) {
      await evictAllDurableObjects();
      // The instance that an alarm wakes lives on for a few seconds, and so sees an alarm that it sets for then.
      for (const seconds of [55, 5]) {
        vi.setSystemTime(Date.now() + seconds * 1000);
        await runAlarm(TESTING);
      }
    }
    expect(await outboxSize(TESTING)).toBe(0);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
    expect(written).toHaveLength(4);
  });

  it.for(["during", "after"])(
    "is soon told of a change that comes %s the first of two writes",
    async (when, { expect }) => {
      const { viewedTokenOf, put } = await newIntegrator();
      await viewedTokenOf("acme");
      await indexSettled(TESTING);
      const nameInIndex = async () => {
        const [key] = (await env.TOKEN_INDEX.list()).keys;
        return (await env.TOKEN_INDEX.get<{ name: string }>(key?.name ?? "", "json"))?.name;
      };
      const change = () => put({ user_group_id: "acme", name: "Second" });
      let writes = 0;
      replaceKv(async (operation, _, real) => {
        if (operation === "get") return real();
        writes += 1;
        if (writes === 1) throw new Error("KV is down.");
        if (writes === 2 && when === "during") await change();
        return real();
      });
      vi.setSystemTime(Date.now() + 2000);
      await put({ user_group_id: "acme", name: "First" });
      await vi.waitUntil(() => writes === 1);
      vi.setSystemTime(Date.now() + 2000);
      await runAlarm(TESTING);
      expect([await nameInIndex(), await outboxSize(TESTING)]).toEqual(["First", 1]);
      if (when === "after") await change();
      vi.setSystemTime(Date.now() + 2000);
      await runAlarm(TESTING);
      expect(await nameInIndex()).toBe("Second");
      await indexSettledByAlarms(TESTING);
      expect(await nameInIndex()).toBe("Second");
    },
  );

  it("is left alone for a while once nothing gets through", async ({ expect }) => {
    const { viewedTokenOf, put } = await newIntegrator();
    await Promise.all(Array.from({ length: 7 }, (_, index) => viewedTokenOf(`group ${index}`)));
    await indexSettled(TESTING);
    vi.setSystemTime(Date.now() + 2000);
    let writes = 0;
    replaceKv((operation, _, real) => {
      if (operation === "get") return real();
      writes += 1;
      return Promise.reject(new Error("KV is down."));
    });
    for (let index = 0; index < 6; index += 1) await put({ user_group_id: `group ${index}`, name: "Renamed" });
    vi.setSystemTime(Date.now() + 5000);
    await runAlarm(TESTING);
    const before = writes;
    await put({ user_group_id: "group 6", name: "Renamed" });
    await runAlarm(TESTING);
    expect(before).toBeGreaterThanOrEqual(6);
    expect(writes).toBe(before);
  });

  it("is told once, and at once, of the first change after a start", async ({ expect }) => {
    const { viewedTokenOf, put } = await newIntegrator();
    await viewedTokenOf("acme");
    await indexSettled(TESTING);
    vi.setSystemTime(Date.now() + 60_000);
    await runAlarm(TESTING);
    await evictAllDurableObjects();
    let writes = 0;
    replaceKv((operation, _, real) => {
      if (operation !== "get") writes += 1;
      return real();
    });
    await put({ user_group_id: "acme", name: "Renamed" });
    await indexSettled(TESTING);
    vi.setSystemTime(Date.now() + 120_000);
    await runAlarm(TESTING);
    expect(writes).toBe(1);
  });

  it("catches up from the next call on, of whatever kind, when the platform has given up the alarm", async ({
    expect,
  }) => {
    const { get, tokenOf, viewedTokenOf, remove } = await newIntegrator();
    const deleted = await viewedTokenOf("deleted");
    await tokenOf("other");
    await indexSettled(TESTING);
    vi.setSystemTime(Date.now() + 2000);
    let isDown = true;
    replaceKv((operation, _, real) =>
      isDown && operation !== "get" ? Promise.reject(new Error("KV is down.")) : real(),
    );
    await remove(deleted);
    await runInDurableObject(env.GROUP_DIRECTORY.getByName(TESTING), (_, { storage }) => storage.deleteAlarm());
    await evictAllDurableObjects();
    isDown = false;
    expect(await isIndexed(deleted)).toBe(true);
    await get({ user_group_id: "other" });
    await indexSettledByAlarms(TESTING);
    expect(await isIndexed(deleted)).toBe(false);
  });

  it("makes no change read what others wait for, however much that is", async ({ expect }) => {
    const { viewedTokenOf, put } = await newIntegrator();
    await viewedTokenOf("acme");
    await indexSettled(TESTING);
    vi.setSystemTime(Date.now() + 2000);
    await runInDurableObject(env.GROUP_DIRECTORY.getByName(TESTING), (_, { storage: { sql } }) => {
      sql.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO outbox (nonce, team_id, version, queued_at) SELECT randomblob(16), 0, 1, 1 FROM n`);
    });
    const rows = await countRows(TESTING);
    await put({ user_group_id: "acme", name: "Renamed" });
    await vi.waitUntil(async () => (await outboxSize(TESTING)) === 1000);
    expect(rows.read).toBeLessThan(20);
    await indexSettledByAlarms(TESTING);
    expect(rows.plans.filter((plan) => plan.includes("SCAN"))).toEqual([]);
  });

  it("answers every management call while KV hangs", async ({ expect }) => {
    hangingKv();
    const { viewedTokenOf, put, rotate, remove } = await newIntegrator();
    const token = await viewedTokenOf("acme");
    expect((await put({ user_group_id: "acme", name: "x" })).status).toBe(200);
    const rotated = await rotate(token);
    expect(rotated.status).toBe(200);
    expect((await remove(rotated.body.user_group.token)).status).toBe(200);
  });
});

describe("a drain", () => {
  const nonceOf = (number: number): ArrayBuffer => new Uint32Array([number, 0, 0, 0]).buffer;
  const numberOf = (nonce: BufferSource): number => new Uint32Array(nonce as ArrayBuffer)[0] ?? 0;

  const change = (drain: IndexDrain, token: number) => drain.queue(nonceOf(token), 0, { isRevoked: false });
  const revoke = (drain: IndexDrain, token: number) => drain.queue(nonceOf(token), 0, { isRevoked: true });

  /** Runs `test` on the outbox of a directory, with a drain whose every write is `onWrite`'s, by the number of the token. */
  const withDrain = (
    onWrite: (token: number) => unknown,
    test: (drain: IndexDrain, outbox: OutboxStore, sql: SqlStorage) => Promise<void>,
  ) =>
    runInDurableObject(env.GROUP_DIRECTORY.getByName(TESTING), async (_, { storage: { sql } }) => {
      const outbox = new OutboxStore(sql);
      const write = async (nonce: BufferSource) => onWrite(numberOf(nonce));
      const index = { put: write, delete: write } as unknown as TokenIndex;
      await test(new IndexDrain(outbox, new GroupStore(sql), index), outbox, sql);
    });
  const left = (outbox: OutboxStore) => outbox.page(new ArrayBuffer(), 10_000).map(({ nonce }) => numberOf(nonce));

  it("says when to go on whenever it leaves something, wherever its budget of writes ends", async ({ expect }) => {
    let onWrite = (_: number): unknown => undefined;
    await withDrain(
      (token) => onWrite(token),
      async (drain, outbox) => {
        let leftOver = 0;
        for (let tokens = 890; tokens <= 906; tokens += 1) {
          const first = tokens * 1000;
          // Once the run has begun, the others come; with the last of them one more, and an alarm.
          onWrite = (token) => {
            if (token === first) for (let n = 1; n < tokens; n += 1) change(drain, first + n);
            if (token !== first + tokens - 1) return;
            change(drain, first + tokens);
            void drain.run({ all: true });
          };
          change(drain, first);
          const next = await drain.run({ all: false });
          if (left(outbox).length === 0) continue;
          leftOver += 1;
          expect(next, `${tokens} tokens`).toBeLessThanOrEqual(Date.now());
          await drain.run({ all: true });
          expect(left(outbox)).toEqual([]);
        }
        expect(leftOver).toBeGreaterThan(5);
      },
    );
  });

  it("tells of a change before all that waited longer", async ({ expect }) => {
    const written: number[] = [];
    let onWrite = (_: number): unknown => undefined;
    await withDrain(
      (token) => onWrite(token),
      async (drain, _, sql) => {
        sql.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
          INSERT INTO outbox (nonce, team_id, version, queued_at, again_at, again_version)
          SELECT randomblob(16), 0, 1, 1, 1, 1 FROM n`);
        onWrite = (token) => {
          written.push(token);
          if (written.length !== 100 && written.length !== 899) return;
          change(drain, written.length);
          void drain.run({ all: false });
        };
        while ((await drain.run({ all: true })) !== undefined);
        expect(written).toHaveLength(2002);
        expect(written.indexOf(100)).toBeLessThan(100 + 12);
        expect(written.indexOf(899)).toBeLessThan(899 + 12);
      },
    );
  });

  it("reaches what waits however fast changes come", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    let onWrite = (_: number): unknown => Promise.reject(new Error("429"));
    await withDrain(
      (token) => onWrite(token),
      async (drain) => {
        revoke(drain, 7);
        await drain.run({ all: false });
        vi.setSystemTime(Date.now() + 5000);
        const written: number[] = [];
        let changes = 1000;
        onWrite = (token) => {
          written.push(token);
          vi.setSystemTime(Date.now() + 17);
          changes += 1;
          change(drain, changes);
        };
        for (let n = 0; n < 6; n += 1) change(drain, n);
        // The first run is that of a change; an alarm comes while it goes on.
        const run = drain.run({ all: false });
        void drain.run({ all: true });
        await run;
        expect(changes).toBeGreaterThan(1800);
        expect(written).toContain(7);
      },
    );
  });

  it("tells of a revocation before the changes that were made just before it", async ({ expect }) => {
    const written: number[] = [];
    await withDrain(
      (token) => written.push(token),
      async (drain) => {
        for (let token = 1; token <= 60; token += 1) change(drain, token);
        revoke(drain, 61);
        await drain.run({ all: false });
        expect(written).toHaveLength(61);
        expect(written[0]).toBe(61);
      },
    );
  });

  it("passes by entries that only fail", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await withDrain(
      (token) => token <= 12 && Promise.reject(new Error("This part of the index is down.")),
      async (drain, outbox) => {
        let next: number | undefined;
        const goOn = async () => {
          vi.setSystemTime(Math.max(Date.now() + 1, next ?? 0));
          next = await drain.run({ all: true });
          // Whatever it has passed by, it comes back to.
          expect(next).toEqual(expect.any(Number));
        };
        for (let token = 1; token <= 12; token += 1) change(drain, token);
        for (let runs = 0; runs < 20; runs += 1) await goOn();
        // In the middle of a pause, in which nothing is looked at.
        revoke(drain, 200);
        next = await drain.run({ all: false });
        const revokedAt = Date.now();
        while (left(outbox).includes(200) && Date.now() < revokedAt + 3_600_000) await goOn();
        expect(Date.now() - revokedAt).toBeLessThan(70_000);
        expect(left(outbox)).toHaveLength(12);
      },
    );
  });

  it("ends a run long before the platform would", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const tokens = 2000;
    await withDrain(
      // Seven seconds for each six.
      () => vi.setSystemTime(Date.now() + 7000 / 6),
      async (drain, outbox) => {
        for (let token = 1; token <= tokens; token += 1) change(drain, token);
        let runs = 0;
        for (let next: number | undefined = Date.now(); next !== undefined; runs += 1) {
          const beganAt = Math.max(Date.now(), next);
          vi.setSystemTime(beganAt);
          next = await drain.run({ all: true });
          expect(Date.now() - beganAt).toBeLessThan(150_000);
        }
        expect(runs).toBeGreaterThan(10);
        expect(left(outbox)).toEqual([]);
      },
    );
  });

  it("keeps its pauses long while nothing gets through, though some entries are not due", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    let writes = 0;
    await withDrain(
      () => {
        writes += 1;
        throw new Error("The index is down.");
      },
      async (drain) => {
        // These fail one at a time, each with a time of its own to wait for.
        for (let token = 1; token <= 60; token += 1) {
          change(drain, token);
          await drain.run({ all: false });
          vi.setSystemTime(Date.now() + 500);
        }
        const endsAt = Date.now() + 3_600_000;
        let alarms = 0;
        for (let next = await drain.run({ all: true }); Date.now() < endsAt; alarms += 1) {
          vi.setSystemTime(Math.max(Date.now() + 1, next ?? 0));
          next = await drain.run({ all: true });
        }
        expect(alarms).toBeLessThan(200);
        expect(writes).toBeLessThan(1500);
      },
    );
  });

  it("lets calls in while it looks through thousands that are not due", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await withDrain(
      () => undefined,
      async (drain, outbox, sql) => {
        sql.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
          INSERT INTO outbox (nonce, team_id, version, queued_at) SELECT randomblob(16), 0, 1, 1 FROM n`);
        let turns = 0;
        let isOver = false;
        const run = drain.run({ all: true }).finally(() => {
          isOver = true;
        });
        for (; !isOver; turns += 1) await scheduler.wait(0);
        expect(await run).toBeGreaterThan(Date.now());
        expect(turns).toBeGreaterThanOrEqual(10);
        expect(left(outbox)).toHaveLength(6000);
      },
    );
  });

  it("leaves no write behind when its database fails beside it", async ({ expect }) => {
    let finish: (() => void) | undefined;
    await withDrain(
      (token) => token === 2 && new Promise<void>((resolve) => (finish = resolve)),
      async (drain, outbox, sql) => {
        const exec = sql.exec.bind(sql);
        let fails = true;
        sql.exec = <Row extends Record<string, SqlStorageValue>>(statement: string, ...values: unknown[]) => {
          if (fails && statement.startsWith("DELETE")) throw new Error("The disk is full.");
          return exec<Row>(statement, ...values);
        };
        change(drain, 1);
        change(drain, 2);
        let isOver = false;
        const run = drain.run({ all: true }).finally(() => {
          isOver = true;
        });
        await vi.waitUntil(() => finish !== undefined);
        await scheduler.wait(0);
        expect(isOver).toBe(false);
        fails = false;
        finish?.();
        expect(await run).toEqual(expect.any(Number));
        expect(left(outbox)).toEqual([1]);
      },
    );
  });

  it("does not trust a note that a version before left behind", async ({ expect }) => {
    let writes = 0;
    await withDrain(
      () => {
        writes += 1;
      },
      async (drain, outbox, sql) => {
        // As version 0.2.5 leaves them, which knows of no notes: queued again since.
        sql.exec(`INSERT INTO outbox (nonce, team_id, version, queued_at, again_at, again_version)
          VALUES (x'01000000000000000000000000000000', 0, 2, 1, 1, 1)`);
        vi.useFakeTimers({ now: Date.now() + 2000, toFake: ["Date"] });
        expect(await drain.run({ all: true })).toBeGreaterThan(Date.now() + 50_000);
        expect([writes, left(outbox)]).toEqual([1, [1]]);
      },
    );
  });
});
