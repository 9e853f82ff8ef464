import { inject, it } from "vitest";
import { hasAnotherRound, report } from "../proof/effort.ts";
import { randomOf } from "../support/random.ts";
import { record, type Service } from "./proof/histories.ts";
import {
  type Ask,
  CREATED,
  type FeedEvent,
  type History,
  ID_TAKEN,
  isLinearizable,
  NOT_DELETED,
  NOT_FOUND,
  OK,
  REVOKED,
  SUPERSEDED,
  SUSPENDED,
} from "./proof/linearizability.ts";
import { FAULTS, inPlantedToken, PlantedService } from "./proof/planted.ts";
import { type Answer, call } from "./support/client.ts";

const { seed } = inject("effort");
/** How many histories are recorded at the same time. */
const TOGETHER = 8;

/** The team id in a token's payload: 8 bytes before the nonce and the MAC. */
const numberInToken = (token: string): number => {
  const payload = Buffer.from(token.split("_").slice(2).join("_"), "base64url");
  return Number(payload.readBigUInt64BE(payload.length - 40));
};

/** Sends a call to the running service. */
function send(id: string, ask: Ask): Promise<Answer> {
  switch (ask.do) {
    case "ensure":
      return call("GET", "/api/user", { user_group_id: id });
    case "update":
      return call("PUT", "/api/user", { user_group_id: id, name: ask.name });
    case "suspend":
    case "resume":
      return call("PUT", "/api/user", { user_group_id: id, suspended: ask.do === "suspend" });
    case "rotate":
      return call("POST", "/api/user", { current_token: ask.token });
    case "remove":
      return call("DELETE", "/api/user", { current_token: ask.token });
    case "view":
      return call("GET", "/api/viewer", undefined, { Authorization: `Token ${ask.token}` });
    case "restore":
    case "purge":
      return call("POST", `/api/user_groups/${ask.teamId}/${ask.do}`);
    case "mint":
      return call("POST", "/api/viewer_sessions", { user_group_id: id, viewer_id: ask.viewerId });
    case "view session":
      return call("GET", "/api/viewer", undefined, { Authorization: `Token ${ask.session}` });
    case "end session":
      return call("POST", "/api/viewer_sessions/end", { session: ask.session });
    case "end person":
      return call("POST", "/api/viewer_sessions/end", { user_group_id: id, viewer_id: ask.viewerId });
    case "end group":
      return call("POST", "/api/viewer_sessions/end", { user_group_id: id });
  }
}

/** The running service, called over sockets. */
const realService =
  (id: string): Service =>
  async (ask) => {
    const { status, body } = await send(id, ask);
    const { token, name, team_id: teamId, state } = body.user_group ?? {};
    return {
      result: status < 300 ? String(status) : `${status} ${body.error.code}`,
      isNew: body.new_user_group,
      token,
      name,
      teamId,
      session: body.session?.token,
      ...(state !== undefined && { isSuspended: state === "suspended" }),
    };
  };

/** The events after a cursor, oldest first, by the id of their group. */
async function eventsAfter(cursor: string): Promise<Map<string, FeedEvent[]>> {
  const feeds = new Map<string, FeedEvent[]>();
  for (let next = cursor, more = true; more; ) {
    const { body } = await call("GET", `/api/events?limit=1000&cursor=${next}`);
    for (const { type, user_group: group } of body.events) {
      if (!group) continue;
      const event = { type: type.replace(/^(user_group|viewer_sessions)\./, ""), teamId: group.team_id };
      feeds.set(group.provided_id, [...(feeds.get(group.provided_id) ?? []), event]);
    }
    [next, more] = [body.next_cursor, body.has_more];
  }
  return feeds;
}

/** Records the histories of `TOGETHER` ids at the same time, with their events. */
async function recordTogether(round: number): Promise<History[]> {
  const { next_cursor: cursor } = (await call("GET", "/api/events?cursor=latest")).body;
  const ids = Array.from({ length: TOGETHER }, (_, index) => `history ${seed} ${round + index}`);
  const recorded = await Promise.all(
    ids.map((id, index) => record(realService(id), randomOf(seed * 1_000_003 + round + index))),
  );
  const feeds = await eventsAfter(cursor);
  return ids.map((id, index) => ({ calls: recorded[index] ?? [], feed: feeds.get(id) ?? [] }));
}

/** What the histories must have met: kinds of calls with their results. */
const MET = [
  ...["ensure", "update", "suspend", "resume", "rotate", "remove", "view", "restore", "purge"].map(
    (kind) => `${kind} ${OK}`,
  ),
  ...["update", "suspend", "resume", "rotate", "remove", "restore", "purge"].map((kind) => `${kind} ${NOT_FOUND}`),
  ...["rotate", "remove"].map((kind) => `${kind} ${SUPERSEDED}`),
  `view ${REVOKED}`,
  `view ${SUSPENDED}`,
  `restore ${ID_TAKEN}`,
  `purge ${NOT_DELETED}`,
  `mint ${CREATED}`,
  `view session ${REVOKED}`,
  ...["mint", "end person", "end group"].map((kind) => `${kind} ${NOT_FOUND}`),
  ...["mint", "view session"].map((kind) => `${kind} ${SUSPENDED}`),
  ...["view session", "end session", "end person", "end group"].map((kind) => `${kind} ${OK}`),
];

it("every history of concurrent calls has a valid sequential order", async ({ expect }) => {
  const startedAt = Date.now();
  const counts = { histories: 0, calls: 0, overlaps: 0, events: 0 };
  const results: Record<string, number> = {};
  const failures: History[] = [];
  for (
    let round = 0;
    failures.length === 0 && hasAnotherRound(round, startedAt, 200, 10_000, 0.35);
    round += TOGETHER
  ) {
    for (const history of await recordTogether(round)) {
      const { calls, feed } = history;
      counts.histories += 1;
      counts.calls += calls.length;
      counts.events += feed.length;
      counts.overlaps += calls.filter((one) =>
        calls.some((other) => other.begunAt > one.begunAt && other.begunAt < one.endedAt),
      ).length;
      for (const { ask, answer } of calls) {
        const result = `${ask.do} ${answer?.result ?? "no answer"}`;
        results[result] = (results[result] ?? 0) + 1;
      }
      if (!isLinearizable(history, numberInToken)) failures.push(history);
    }
  }
  report("linearizability", { ...counts, ...results });
  expect(failures).toEqual([]);
  expect(Object.keys(results).toSorted()).toEqual(MET.toSorted());
  expect(counts.overlaps).toBeGreaterThan(counts.calls / 10);
}, 86_400_000);

it("the checker accepts a correct service, also with lost answers", async ({ expect }) => {
  for (let round = 0; round < 150; round += 1) {
    const service = new PlantedService(undefined, randomOf(round));
    const history = { calls: await record(service.call, randomOf(round + 7)), feed: service.feed };
    expect(isLinearizable(history, inPlantedToken), JSON.stringify(history)).toBe(true);
  }
});

it.for(FAULTS)("the checker finds %s", async (fault, { expect }) => {
  let found = 0;
  for (let round = 0; round < 300 && found === 0; round += 1) {
    const service = new PlantedService(fault, randomOf(round));
    const calls = await record(service.call, randomOf(round + 7), 4, 6);
    if (!isLinearizable({ calls, feed: service.feed }, inPlantedToken)) found += 1;
  }
  expect(found).toBe(1);
});
