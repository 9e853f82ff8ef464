import { describe, expect, it } from "vitest";
import { DIRECTORY_SECONDS_MAX, LIST_PAUSE_MS, READS_WAITING_MAX } from "../../common/limits.ts";
import { ok } from "../../common/result.ts";
import { Turns } from "../../src/domain/turns.ts";

/** A read of a full page, or of a share of one, that returns its name and notes that it was served. */
const reader =
  (turns: Turns, served: string[]) =>
  (caller: string, name: string, share = 1) =>
    turns.take(caller, () => {
      served.push(name);
      return ok({ page: { name }, share });
    });

/** Turns whose clock only moves when a pause ends or a test moves it. */
function newTurns() {
  const clock = { time: 0, pauses: [] as number[] };
  const turns = new Turns({
    now: () => clock.time,
    wait: async (milliseconds) => {
      clock.pauses.push(milliseconds);
      clock.time += milliseconds;
    },
  });
  const served: string[] = [];
  return { clock, turns, served, take: reader(turns, served) };
}

describe("turns", () => {
  it("serve callers one after the other, however many reads each has in flight", async () => {
    const { take, served } = newTurns();
    await Promise.all([
      take("1", "a1"),
      take("1", "a2"),
      take("1", "a3"),
      take("2", "b1"),
      take("2", "b2"),
      take("3", "c1"),
    ]);
    expect(served).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  it("let other work run between two reads, with the real clock", async () => {
    const turns = new Turns();
    const order: string[] = [];
    const take = reader(turns, order);
    const first = take("1", "first").then(() => order.push("between"));
    const second = take("1", "second");
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "between", "second"]);
  });

  it("reject the read that throws, and continue with the next", async () => {
    const { turns, take } = newTurns();
    const failing = turns.take("1", () => {
      throw new Error("broken");
    });
    const next = take("1", "read");
    await expect(failing).rejects.toThrow("broken");
    expect(await next).toMatchObject({ ok: true, value: { name: "read" } });
  });

  it("pause for as long as the read was large, and not after a small one alone", async () => {
    const { clock, take } = newTurns();
    await take("1", "alone", 0.01);
    expect(clock.pauses).toEqual([]);
    await Promise.all([
      take("1", "full", 1),
      take("1", "half", 0.5),
      take("1", "small", 0.01),
      take("1", "last", 0.01),
    ]);
    expect(clock.pauses).toEqual([LIST_PAUSE_MS, Math.floor(LIST_PAUSE_MS / 2), 1]);
  });

  it("say which reads have waited for others, and not only for a pause", async () => {
    const { take } = newTurns();
    const waited = [take("1", "first"), take("2", "second"), take("3", "third")].map(
      async (read) => (await read).ok && Reflect.get(Reflect.get(await read, "value"), "hasWaited"),
    );
    expect(await Promise.all(waited)).toEqual([false, false, true]);
    const [small, next] = [await take("1", "small", 0), await take("1", "next", 0)];
    expect([small, next]).toMatchObject([{ value: { hasWaited: false } }, { value: { hasWaited: false } }]);
  });

  it("drop the reads that have waited for as long as the Worker waits", async () => {
    const { clock, turns, served, take } = newTurns();
    const first = take("1", "first");
    const slow = turns.take("1", () => {
      clock.time += DIRECTORY_SECONDS_MAX * 1000 - LIST_PAUSE_MS;
      return ok({ page: {}, share: 1 });
    });
    const dropped = [take("1", "dropped"), take("2", "dropped too")];
    expect([await first, await slow]).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await Promise.all(dropped)).toEqual(
      dropped.map(() => ({ ok: false, failure: { code: "directory_unavailable" } })),
    );
    expect(served).toEqual(["first"]);
    expect(await take("1", "later")).toMatchObject({ ok: true });
  });

  it("refuse the 61st waiting read of one caller, and none of another", async () => {
    const { served, take } = newTurns();
    const reads = Array.from({ length: READS_WAITING_MAX + 2 }, (_, index) => take("1", `a${index}`));
    const other = take("2", "b");
    expect(await reads.at(-1)).toEqual({ ok: false, failure: { code: "rate_limited" } });
    expect(await other).toMatchObject({ ok: true });
    const outcomes = await Promise.all(reads);
    // The first is served at once, and 60 wait.
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(READS_WAITING_MAX + 1);
    expect(served.slice(0, 3)).toEqual(["a0", "a1", "b"]);
    expect(await take("1", "again")).toMatchObject({ ok: true });
  });
});
