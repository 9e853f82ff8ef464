import { inject, it } from "vitest";
import { hasAnotherRound, report } from "../proof/effort.ts";
import { randomOf } from "../support/random.ts";
import { record, type Service } from "./proof/histories.ts";
import {
  type Ask,
  type Call,
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
const { operatorToken } = inject("service");
/** How many histories are recorded at the same time. */
const TOGETHER = 8;

/** The team id in a token's payload: 8 bytes before the nonce and the MAC. */
const numberInToken = (token: string): number => {
  const payload = Buffer.from(token.split("_").slice(2).join("_"), "base64url");
  return Number(payload.readBigUInt64BE(payload.length - 40));
};

/** The API key and the operator of one history. */
type Own = { admin: Admin; key: string; operatorKey: string; pathOfKey: string; pathOfOperator: string };

/** The header of an admin. */
type Admin = { Authorization: string };

const asBootstrap: Admin = { Authorization: `Token ${operatorToken}` };

/** Issues the credentials of one history, in the environment of the service's own key. */
async function issueOwn(name: string, admin: Admin): Promise<Own> {
  const { caller } = (await call("GET", "/api/whoami")).body;
  const named = { workspace: caller.workspace, environment: caller.environment, name };
  const { api_key: issued, key } = (await call("POST", "/api/keys", named, admin)).body;
  const { operator, key: operatorKey } = (await call("POST", "/api/operators", { name, role: "viewer" }, admin)).body;
  const query = `?workspace=${caller.workspace}&environment=${caller.environment ?? "untagged"}`;
  return {
    admin,
    key,
    operatorKey,
    pathOfKey: `/api/keys/${issued.id}${query}`,
    pathOfOperator: `/api/operators/${operator.id}`,
  };
}

/** Records a history, and revokes its credentials: there may be a thousand valid ones. */
async function recordOne(id: string, admin: Admin, random: (below: number) => number): Promise<Call[]> {
  const own = await issueOwn(id, admin);
  const calls = await record(realService(id, own), random);
  for (const path of [own.pathOfKey, own.pathOfOperator]) await call("DELETE", path, undefined, admin);
  return calls;
}

/** Sends a call to the running service. */
function send(id: string, own: Own, ask: Ask): Promise<Answer> {
  switch (ask.do) {
    case "mint by key": {
      const body = { user_group_id: id, viewer_id: ask.viewerId };
      return call("POST", "/api/viewer_sessions", body, { Authorization: `Token ${own.key}` });
    }
    case "revoke key":
      return call("DELETE", own.pathOfKey, undefined, own.admin);
    case "use operator":
      return call("GET", "/api/whoami", undefined, { Authorization: `Token ${own.operatorKey}` });
    case "revoke operator":
      return call("DELETE", own.pathOfOperator, undefined, own.admin);
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
  (id: string, own: Own): Service =>
  async (ask) => {
    const { status, body } = await send(id, own, ask);
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
  // An admin of their own: the bootstrap token would reach its limit in a long run.
  const named = { name: `round ${round}`, role: "admin" };
  const { operator, key } = (await call("POST", "/api/operators", named, asBootstrap)).body;
  const admin = { Authorization: `Token ${key}` };
  const recorded = await Promise.all(
    ids.map((id, index) => recordOne(id, admin, randomOf(seed * 1_000_003 + round + index))),
  );
  await call("DELETE", `/api/operators/${operator.id}`, undefined, asBootstrap);
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
  ...["mint", "mint by key", "end person", "end group"].map((kind) => `${kind} ${NOT_FOUND}`),
  ...["mint", "view session", "mint by key"].map((kind) => `${kind} ${SUSPENDED}`),
  ...["mint by key", "use operator"].map((kind) => `${kind} ${REVOKED}`),
  ...["use operator", "revoke key", "revoke operator"].map((kind) => `${kind} ${OK}`),
  `mint by key ${CREATED}`,
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
