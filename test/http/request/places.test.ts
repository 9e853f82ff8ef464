import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ADMISSIONS_OF_ENVIRONMENT_MAX,
  LARGE_ANSWER_BYTES_MIN,
  LARGE_ANSWERS_SECONDS,
  PLACES_OF_GROUP_MAX,
  SQL_TEMPLATE_BYTES_MAX,
} from "../../../common/limits.ts";
import { LARGE_ANSWERS, LargeAnswers } from "../../../src/http/request/large-answers.ts";
import { ADMISSIONS, CALLERS, GROUPS, Places } from "../../../src/http/request/places.ts";
import { call, codeOf } from "../../support/client.ts";
import { sessionOf } from "../../support/sessions.ts";
import { issueKey, newIntegrator } from "../../support/states.ts";
import { answeredBy, query, view } from "../../support/viewers.ts";

const LIMITS = { placesMax: 2, waitingMax: 2, secondsMax: 8 };

/** What has come of a promise so far. */
async function soFar<Value>(promise: Promise<Value>): Promise<Value | "waits"> {
  await vi.advanceTimersByTimeAsync(0);
  return Promise.race([promise, Promise.resolve("waits" as const)]);
}

describe("places", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are so many for each name, and those of one name take none of another", async () => {
    const places = new Places(LIMITS);
    await places.take("a");
    await places.take("a");
    expect(await soFar(places.take("a"))).toBe("waits");
    expect(await soFar(places.take("b"))).not.toBe("waits");
  });

  it("go to those who wait, in the order of arrival", async () => {
    const places = new Places(LIMITS);
    const [first, second] = [await places.take("a"), await places.take("a")];
    const waiting = [places.take("a"), places.take("a")];
    first?.leave();
    expect(await Promise.all(waiting.map(soFar))).toEqual([expect.any(Object), "waits"]);
    second?.leave();
    expect(await soFar(waiting[1] ?? Promise.resolve(undefined))).toEqual(expect.any(Object));
  });

  it("go to those who wait by environments in turn, and by the groups of each in turn", async () => {
    const places = new Places({ placesMax: 1, waitingMax: 9, secondsMax: 8 });
    const place = await places.take("a");
    const order: string[] = [];
    for (const branch of ["acme 1", "acme 1", "acme 1", "acme 2", "other 1"])
      void places.take("a", branch.split(" ")).then((taken) => {
        order.push(branch);
        taken?.leave();
      });
    place?.leave();
    await vi.advanceTimersByTimeAsync(0);
    expect(order).toEqual(["acme 1", "other 1", "acme 2", "acme 1", "acme 1"]);
  });

  it("skip those who have waited for too long", async () => {
    const places = new Places(LIMITS);
    const [first] = [await places.take("a"), await places.take("a")];
    const late = places.take("a", ["acme", "1"]);
    await vi.advanceTimersByTimeAsync(1000);
    const next = places.take("a", ["acme", "2"]);
    await vi.advanceTimersByTimeAsync(LIMITS.secondsMax * 1000 - 1000);
    expect(await late).toBeUndefined();
    first?.leave();
    expect(await soFar(next)).toEqual(expect.any(Object));
  });

  it("are refused at once to a name of which too many wait", async () => {
    const places = new Places(LIMITS);
    for (let taken = 0; taken < 4; taken += 1) void places.take("a");
    expect(await soFar(places.take("a"))).toBeUndefined();
  });

  it("are refused to a branch of which too many wait, and to no other one", async () => {
    const places = new Places({ ...LIMITS, placesMax: 1 });
    void places.take("a");
    for (let taken = 0; taken < 2; taken += 1) void places.take("a", ["acme", "1"]);
    expect(await soFar(places.take("a", ["acme", "2"]))).toBeUndefined();
    expect(await soFar(places.take("a", ["other", "1"]))).toBe("waits");
  });

  it("are refused after the time, and are lost to nobody then", async () => {
    const places = new Places(LIMITS);
    const [first] = [await places.take("a"), await places.take("a")];
    const late = places.take("a");
    await vi.advanceTimersByTimeAsync(LIMITS.secondsMax * 1000);
    expect(await late).toBeUndefined();
    first?.leave();
    expect(await soFar(places.take("a"))).toEqual(expect.any(Object));
  });

  it("count once when they are left twice", async () => {
    const places = new Places(LIMITS);
    const first = await places.take("a");
    await places.take("a");
    first?.leave();
    first?.leave();
    await places.take("a");
    expect(await soFar(places.take("a"))).toBe("waits");
  });

  it("can grow, and then keep others waiting until they are left", async () => {
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

it("a call of a credential that has too many waiting is refused before its body is read", async () => {
  const credential = await issueKey();
  vi.spyOn(CALLERS, "isFull").mockReturnValue(true);
  const body = new ReadableStream({ pull: () => new Promise(() => undefined) });
  expect(codeOf(await call("PUT", "/api/user", { credential, body }))).toEqual([503, "overloaded"]);
});

describe("admissions of viewers", () => {
  it("keep neither a viewer of another environment waiting nor a session that answers itself", async () => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const session = await sessionOf(key, { max_stale_seconds: 60 });
    const other = await (await newIntegrator({ workspace: "other" })).tokenOf("other");
    const taken = await Promise.all(
      Array.from({ length: ADMISSIONS_OF_ENVIRONMENT_MAX }, () => ADMISSIONS.take("acme/Testing")),
    );
    let isAnswered = false;
    const waiting = view(token).then(({ status }) => {
      isAnswered = true;
      return status;
    });
    expect((await view(other)).status).toBe(200);
    expect(answeredBy(await view(session))).toBe("session");
    expect(isAnswered).toBe(false);
    for (const place of taken) place?.leave();
    expect(await waiting).toBe(200);
  });
});

describe("the places of a group", () => {
  it("are taken by its viewers, and a call that finds none is refused", async () => {
    const { tokenOf } = await newIntegrator();
    const [token, other] = [await tokenOf("acme"), await tokenOf("other")];
    const taken = await Promise.all(Array.from({ length: PLACES_OF_GROUP_MAX }, () => GROUPS.take("acme/Testing 1")));
    vi.spyOn(GROUPS, "isFull").mockReturnValue(true);
    expect(codeOf(await view(token))).toEqual([503, "overloaded"]);
    expect((await view(token)).headers.get("Retry-After")).toMatch(/^\d+$/);
    expect((await view(other)).status).toBe(200);
    for (const place of taken) place?.leave();
    expect((await view(token)).status).toBe(200);
  });

  it("are not taken by a token that was rotated away", async () => {
    const { tokenOf, rotate } = await newIntegrator();
    const token = await tokenOf("acme");
    await rotate(token);
    const take = vi.spyOn(GROUPS, "take");
    expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
    expect(take).not.toHaveBeenCalled();
  });
});

describe("long work", () => {
  const LONG_SQL = `SELECT ${"a+".repeat(SQL_TEMPLATE_BYTES_MAX / 2 - 10)}1`;

  it("of one viewer lets the query of another customer through first", async () => {
    const { tokenOf } = await newIntegrator();
    const [token, other] = [await tokenOf("acme"), await tokenOf("other")];
    const answered: string[] = [];
    const ask = async (name: string, credential: string) => {
      expect((await query(credential, { sql: LONG_SQL })).status).toBe(200);
      answered.push(name);
    };
    await Promise.all([...Array.from({ length: 20 }, () => ask("acme", token)), ask("other", other)]);
    expect(answered.indexOf("other")).toBeLessThan(5);
  });
});

describe("large answers", () => {
  it("of one environment are refused above the bound, until it has passed", async () => {
    const answers = new LargeAnswers(10 * LARGE_ANSWER_BYTES_MIN);
    const large = "x".repeat(LARGE_ANSWER_BYTES_MIN);
    const roomAt = (seconds: number, environment = "a", answer = large) =>
      answers.take(environment, answer, seconds * 1000);
    for (let second = 0; second < 10; second += 1) expect(roomAt(second)).toBe(true);
    expect(roomAt(LARGE_ANSWERS_SECONDS - 1)).toBe(false);
    expect(roomAt(LARGE_ANSWERS_SECONDS - 1, "b")).toBe(true);
    expect(roomAt(LARGE_ANSWERS_SECONDS - 1, "a", large.slice(1))).toBe(true);
    expect(roomAt(LARGE_ANSWERS_SECONDS)).toBe(true);
    expect(roomAt(LARGE_ANSWERS_SECONDS)).toBe(false);
  });

  it("are counted in bytes", () => {
    const answers = new LargeAnswers(LARGE_ANSWER_BYTES_MIN);
    const threeBytes = "€".repeat(LARGE_ANSWER_BYTES_MIN / 3 + 1);
    expect(answers.take("a", threeBytes)).toBe(false);
  });

  it("above the bound are refused to viewers, and short ones are not", async () => {
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme", { properties: { text: "x".repeat(LARGE_ANSWER_BYTES_MIN) } });
    const small = await tokenOf("small");
    vi.spyOn(LARGE_ANSWERS, "take").mockImplementation((_, answer) => answer.length < LARGE_ANSWER_BYTES_MIN);
    const refused = await view(token);
    expect(codeOf(refused)).toEqual([503, "overloaded"]);
    expect(refused.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect((await view(small)).status).toBe(200);
  });
});
