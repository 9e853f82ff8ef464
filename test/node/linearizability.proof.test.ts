import { setTimeout as delay } from "node:timers/promises";
import { inject, it } from "vitest";
import { hasAnotherRound, report } from "../proof/effort.ts";
import { randomOf } from "../support/random.ts";
import { record, type Service } from "./proof/histories.ts";
import { type Answered, type Ask, type Call, isLinearizable } from "./proof/linearizability.ts";
import { call } from "./support/client.ts";

const { seed } = inject("effort");
/** How many histories are recorded at the same time. */
const TOGETHER = 8;

/** The team id in a token's payload: 8 bytes before the nonce and the MAC. */
const numberInToken = (token: string): number => {
  const payload = Buffer.from(token.split("_").slice(2).join("_"), "base64url");
  return Number(payload.readBigUInt64BE(payload.length - 40));
};

/** The running service, called over sockets. */
const realService =
  (id: string): Service =>
  async (ask) => {
    const { status, body } = await {
      ensure: () => call("GET", "/api/user", { user_group_id: id }),
      update: () => call("PUT", "/api/user", { user_group_id: id, name: "name" in ask ? ask.name : "" }),
      rotate: () => call("POST", "/api/user", { current_token: "token" in ask ? ask.token : "" }),
      remove: () => call("DELETE", "/api/user", { current_token: "token" in ask ? ask.token : "" }),
      view: () => call("GET", "/api/viewer", undefined, { Authorization: `Token ${"token" in ask ? ask.token : ""}` }),
    }[ask.do]();
    const { token, name, team_id: teamId } = body.user_group ?? {};
    return { status, isNew: body.new_user_group, token, name, teamId };
  };

/** The letters of the events that these calls must have caused, sorted: created, updated, rotated, deleted. */
const lettersOf = (calls: Call[]): string =>
  calls
    .filter(({ ask, answer }) => answer?.status === 200 && (ask.do !== "ensure" || answer.isNew))
    .map(({ ask }) => ({ ensure: "c", update: "u", rotate: "r", remove: "d", view: "" })[ask.do])
    .toSorted()
    .join("");

const LETTERS: Record<string, string> = {
  "user_group.created": "c",
  "user_group.updated": "u",
  "user_group.token_rotated": "r",
  "user_group.deleted": "d",
};
/** The events of consecutive groups with one id: each group is created first, and deleted last. */
const LIVES = /^(c[ur]*d)*(c[ur]*)?$/;

/** The letters of the events after a cursor, in the order of the feed, by the id of their group. */
async function eventsAfter(cursor: string): Promise<Map<string, string>> {
  const letters = new Map<string, string>();
  for (let next = cursor, more = true; more; ) {
    const { body } = await call("GET", `/api/events?limit=1000&cursor=${next}`);
    for (const { type, user_group: group } of body.events)
      if (group) letters.set(group.provided_id, (letters.get(group.provided_id) ?? "") + LETTERS[type]);
    [next, more] = [body.next_cursor, body.has_more];
  }
  return letters;
}

it("every history of concurrent calls has a valid sequential order", async ({ expect }) => {
  const startedAt = Date.now();
  const counts = { histories: 0, calls: 0, overlaps: 0, events: 0 };
  const failures: Call[][] = [];
  for (
    let round = 0;
    failures.length === 0 && hasAnotherRound(round, startedAt, 200, 10_000, 0.35);
    round += TOGETHER
  ) {
    const { next_cursor: cursor } = (await call("GET", "/api/events?cursor=latest")).body;
    const ids = Array.from({ length: TOGETHER }, (_, index) => `history ${seed} ${round + index}`);
    const recorded = await Promise.all(
      ids.map((id, index) => record(realService(id), randomOf(seed * 1_000_003 + round + index))),
    );
    const events = await eventsAfter(cursor);
    for (const [index, id] of ids.entries()) {
      const letters = events.get(id) ?? "";
      counts.events += letters.length;
      expect(letters).toMatch(LIVES);
      expect([...letters].toSorted().join("")).toBe(lettersOf(recorded[index] ?? []));
    }
    for (const calls of recorded) {
      counts.histories += 1;
      counts.calls += calls.length;
      counts.overlaps += calls.filter((one) =>
        calls.some((other) => other.begunAt > one.begunAt && other.begunAt < one.endedAt),
      ).length;
      if (!isLinearizable(calls, numberInToken)) failures.push(calls);
    }
  }
  report("linearizability", counts);
  expect(failures).toEqual([]);
  expect(counts.overlaps).toBeGreaterThan(counts.calls / 10);
}, 86_400_000);

/** A service in memory with one planted fault, or none. Its tokens are `teamId.version`. */
function plantedService(fault: string | undefined, random: (below: number) => number): Service {
  let group: { teamId: number; token: string; name: string } | undefined;
  let lastTeamId = 0;
  let version = 0;
  let stale: Answered = { status: 404 };
  const retired = new Set<string>();
  const tokenFor = (teamId: number) => {
    version += 1;
    return `${teamId}.${version}`;
  };
  const sometimes = () => random(3) === 0;

  const take = async (ask: Ask): Promise<Answered> => {
    if (ask.do === "ensure") {
      const isNew = group === undefined;
      if (fault === "two creators of one id" && isNew) await delay(1);
      if (!group || (fault === "two creators of one id" && isNew)) {
        if (fault !== "a team id given again") lastTeamId += 1;
        else lastTeamId = 1;
        group = {
          teamId: lastTeamId,
          token: fault === "a token given again" ? `${lastTeamId}.1` : tokenFor(lastTeamId),
          name: "id",
        };
      }
      const answer = { status: 200, isNew: isNew || (fault === "created twice" && sometimes()), ...group };
      if (fault === "a stale read" && !isNew && stale.status === 200 && sometimes()) return stale;
      stale = { ...answer, isNew: false };
      return answer;
    }
    if (ask.do === "update") {
      if (!group)
        return { status: fault === "an update of nothing" ? 200 : 404, name: ask.name, token: "0.0", teamId: 0 };
      if (fault === "a lost update" && sometimes()) return { status: 200, ...group, name: ask.name };
      if (fault === "an update torn in two") {
        const before = group;
        await delay(1);
        group = { ...before, name: ask.name };
      } else group = { ...group, name: ask.name };
      return { status: 200, ...group };
    }
    const isOfThis = group && ask.token.startsWith(`${group.teamId}.`);
    if (ask.do === "view") {
      const isResurrected = fault === "a resurrected token" && retired.has(ask.token);
      if (!group || (group.token !== ask.token && !isResurrected)) return { status: 401 };
      return { status: fault === "a current token refused" && sometimes() ? 401 : 200, name: group.name };
    }
    if (!group || !isOfThis) return { status: fault === "a conflict where nothing is" ? 409 : 404 };
    if (group.token !== ask.token) return { status: fault === "not found in place of superseded" ? 404 : 409 };
    const held = group;
    if (fault === "two winners of one rotation") await delay(1);
    if (ask.do === "remove") {
      if (fault !== "a delete that is not done" || !sometimes()) group = undefined;
      return { status: 200 };
    }
    retired.add(ask.token);
    if (fault === "a rotation that is not done" && sometimes())
      return { status: 200, ...held, token: tokenFor(held.teamId) };
    group = { ...held, token: fault === "a rotation to the same token" ? held.token : tokenFor(held.teamId) };
    return { status: 200, ...group };
  };

  return async (ask) => {
    await delay(random(2));
    const answer = await take(ask);
    await delay(random(2));
    if (fault === undefined && random(12) === 0) throw new Error("The answer was lost.");
    return answer;
  };
}

const inPlantedToken = (token: string): number => Number(token.split(".")[0]);

it("the checker accepts a correct service, also with lost answers", async ({ expect }) => {
  for (let round = 0; round < 150; round += 1) {
    const calls = await record(plantedService(undefined, randomOf(round)), randomOf(round + 7));
    expect(isLinearizable(calls, inPlantedToken), JSON.stringify(calls)).toBe(true);
  }
});

it.for([
  "a stale read",
  "a lost update",
  "an update torn in two",
  "an update of nothing",
  "created twice",
  "two creators of one id",
  "two winners of one rotation",
  "a rotation that is not done",
  "a rotation to the same token",
  "a resurrected token",
  "a current token refused",
  "a delete that is not done",
  "a team id given again",
  "a token given again",
  "a conflict where nothing is",
  "not found in place of superseded",
])("the checker finds %s", async (fault, { expect }) => {
  let found = 0;
  for (let round = 0; round < 300 && found === 0; round += 1) {
    const calls = await record(plantedService(fault, randomOf(round)), randomOf(round + 7), 4, 6);
    if (!isLinearizable(calls, inPlantedToken)) found += 1;
  }
  expect(found).toBe(1);
});
