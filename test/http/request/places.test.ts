import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { CALLERS, Places } from "../../../src/http/request/places.ts";
import { call, codeOf } from "../../support/client.ts";
import { issueKey } from "../../support/states.ts";

const LIMITS = { placesMax: 2, waitingMax: 2, secondsMax: 8 };

/** What has come of a promise so far. */
async function soFar<Value>(promise: Promise<Value>): Promise<Value | "waits"> {
  await vi.advanceTimersByTimeAsync(0);
  return Promise.race([promise, Promise.resolve("waits" as const)]);
}

describe("places", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are so many for each name, and those of one name take none of another", async ({ expect }) => {
    const places = new Places(LIMITS);
    await places.take("a");
    await places.take("a");
    expect(await soFar(places.take("a"))).toBe("waits");
    expect(await soFar(places.take("b"))).not.toBe("waits");
  });

  it("go to those who wait, in the order of arrival", async ({ expect }) => {
    const places = new Places(LIMITS);
    const [first, second] = [await places.take("a"), await places.take("a")];
    const waiting = [places.take("a"), places.take("a")];
    first?.leave();
    expect(await Promise.all(waiting.map(soFar))).toEqual([expect.any(Object), "waits"]);
    second?.leave();
    expect(await soFar(waiting[1] ?? Promise.resolve(undefined))).toEqual(expect.any(Object));
  });

  it("are refused at once to a name of which too many wait", async ({ expect }) => {
    const places = new Places(LIMITS);
    for (let taken = 0; taken < 4; taken += 1) void places.take("a");
    expect(await soFar(places.take("a"))).toBeUndefined();
  });

  it("are refused after the time, and are lost to nobody then", async ({ expect }) => {
    const places = new Places(LIMITS);
    const [first] = [await places.take("a"), await places.take("a")];
    const late = places.take("a");
    await vi.advanceTimersByTimeAsync(LIMITS.secondsMax * 1000);
    expect(await late).toBeUndefined();
    first?.leave();
    expect(await soFar(places.take("a"))).toEqual(expect.any(Object));
  });

  it("count once when they are left twice", async ({ expect }) => {
    const places = new Places(LIMITS);
    const first = await places.take("a");
    await places.take("a");
    first?.leave();
    first?.leave();
    await places.take("a");
    expect(await soFar(places.take("a"))).toBe("waits");
  });

  it("can grow, and then keep others waiting until they are left", async ({ expect }) => {
    const places = new Places(LIMITS);
    const long = await places.take("a");
    long?.grow(9);
    const waiting = places.take("a");
    expect(await soFar(waiting)).toBe("waits");
    long?.leave();
    expect(await soFar(waiting)).toEqual(expect.any(Object));
    long?.grow(9);
    expect(await soFar(places.take("a"))).toEqual(expect.any(Object));
  });
});

it("a call of a credential that has too many waiting is refused before its body is read", async ({ expect }) => {
  const credential = await issueKey();
  vi.spyOn(CALLERS, "isFull").mockReturnValue(true);
  const body = new ReadableStream({ pull: () => new Promise(() => undefined) });
  expect(codeOf(await call("PUT", "/api/user", { credential, body }))).toEqual([503, "overloaded"]);
});
