import { expect, inject, it } from "vitest";
import { hasAnotherRound, report } from "../proof/effort.ts";
import { record, type Service } from "../proof/histories.ts";
import {
  type Answered,
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
} from "../proof/linearizability.ts";
import { FAULTS, type Fault, inPlantedToken, PlantedService } from "../proof/planted.ts";
import { type Answer, call } from "../support/node/client.ts";
import { randomOf } from "../support/random.ts";

const { seed } = inject("effort");
const { operatorToken } = inject("service");
/** How many histories are recorded at the same time. */
const TOGETHER = 8;

/** The team id in a token's payload: 8 bytes before the nonce and the MAC. */
const numberInToken = (token: string): number => {
  const payload = Buffer.from(token.split("_").slice(2).join("_"), "base64url");
  return Number(payload.readBigUInt64BE(payload.length - 40));
};

/** An environment has so few histories that a search examines all of its groups in one turn, and so at one moment. */
const HISTORIES_OF_PLACE = 80;

/** A header with a credential. */
type As = { Authorization: string };
const as = (credential: string): As => ({ Authorization: `Token ${credential}` });
const asBootstrap = as(operatorToken);

/** Who acts in the histories of a round, and where: a new key and a new admin, because each credential has a limit of calls a minute. */
type Actors = { workspace: string; integrator: As; admin: As };

/** The actors of one history, and the API key and the operator that it may revoke. */
type Own = Actors & { key: string; operatorKey: string; pathOfKey: string; pathOfOperator: string };

const issueKey = async (name: string, workspace: string, admin: As): Promise<{ key: string; path: string }> => {
  const body = { workspace, environment: "Testing", name };
  const { api_key: issued, key } = (await call("POST", "/api/keys", body, admin)).body;
  return { key, path: `/api/keys/${issued.id}?workspace=${workspace}&environment=Testing` };
};

const issueOperator = async (name: string, role: string, admin: As): Promise<{ key: string; path: string }> => {
  const { operator, key } = (await call("POST", "/api/operators", { name, role }, admin)).body;
  return { key, path: `/api/operators/${operator.id}` };
};

/** Records a history, and revokes its credentials: there may be a thousand valid ones. */
async function recordOne(id: string, actors: Actors, random: (below: number) => number): Promise<Call[]> {
  const { admin, workspace } = actors;
  const { key, path: pathOfKey } = await issueKey(id, workspace, admin);
  const { key: operatorKey, path: pathOfOperator } = await issueOperator(id, "viewer", admin);
  const calls = await record(realService(id, { ...actors, key, operatorKey, pathOfKey, pathOfOperator }), random);
  for (const path of [pathOfKey, pathOfOperator]) await call("DELETE", path, undefined, admin);
  return calls;
}

/** Sends a call to the running service. */
function send(
  id: string,
  { integrator, admin, key, operatorKey, pathOfKey, pathOfOperator }: Own,
  ask: Ask,
): Promise<Answer> {
  const byIntegrator = (method: string, path: string, body?: object) => call(method, path, body, integrator);
  switch (ask.do) {
    case "mint by key": {
      const body = { user_group_id: id, viewer_id: ask.viewerId };
      return call("POST", "/api/viewer_sessions", body, as(key));
    }
    case "revoke key":
      return call("DELETE", pathOfKey, undefined, admin);
    case "use operator":
      return call("GET", "/api/whoami", undefined, as(operatorKey));
    case "revoke operator":
      return call("DELETE", pathOfOperator, undefined, admin);
    case "ensure":
      return byIntegrator("GET", "/api/user", { user_group_id: id });
    case "update":
      return byIntegrator("PUT", "/api/user", { user_group_id: id, name: nameOf(ask.name, id) });
    case "suspend":
    case "resume":
      return byIntegrator("PUT", "/api/user", { user_group_id: id, suspended: ask.do === "suspend" });
    case "rotate":
      return byIntegrator("POST", "/api/user", { current_token: ask.token });
    case "remove":
      return byIntegrator("DELETE", "/api/user", { current_token: ask.token });
    case "view":
      return call("GET", "/api/viewer", undefined, as(ask.token));
    case "restore":
    case "purge":
      return byIntegrator("POST", `/api/user_groups/${ask.teamId}/${ask.do}`);
    case "mint":
      return byIntegrator("POST", "/api/viewer_sessions", { user_group_id: id, viewer_id: ask.viewerId });
    case "view session":
      return call("GET", "/api/viewer", undefined, as(ask.session));
    case "end session":
      return byIntegrator("POST", "/api/viewer_sessions/end", { session: ask.session });
    case "end person":
      return byIntegrator("POST", "/api/viewer_sessions/end", { user_group_id: id, viewer_id: ask.viewerId });
    case "end group":
      return byIntegrator("POST", "/api/viewer_sessions/end", { user_group_id: id });
    case "search":
      return byIntegrator("GET", `/api/user_groups?search=${searchFor(ask.name, id)}`);
    case "search deleted":
      return byIntegrator("GET", `/api/user_groups?state=deleted&search=${searchFor(undefined, id)}`);
    case "history":
      return byIntegrator("GET", `/api/user_groups/${ask.teamId}/events`);
  }
}

/** A name that no other history has, and that a search finds in other letters too. An id is one word, because a search finds words anywhere. */
const nameOf = (name: string, id: string): string => `${name} of ${id}`;
const searchFor = (name: string | undefined, id: string): string =>
  encodeURIComponent((name === undefined ? id : nameOf(name, id)).toUpperCase());

/** The type of an event as the checker names it. */
const shortType = (type: string): string => type.replace(/^(user_group|viewer_sessions)\./, "");

type ListedGroup = { team_id: number; name: string; state: string };

/** What lists have found, by the names that the calls have given. */
function listedIn(body: Answer["body"], id: string): Pick<Answered, "groups" | "types"> {
  const groups = body.user_groups?.map(({ team_id: teamId, name, state }: ListedGroup) => ({
    teamId,
    name: name.replace(` of ${id}`, ""),
    isSuspended: state === "suspended",
  }));
  return { groups, types: body.events?.map(({ type }: { type: string }) => shortType(type)) };
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
      name: name?.replace(` of ${id}`, ""),
      teamId,
      ...listedIn(body, id),
      session: body.session?.token,
      ...(state !== undefined && { isSuspended: state === "suspended" }),
    };
  };

/** The events after a cursor, oldest first, by the id of their group. */
async function eventsAfter(cursor: string, integrator: As): Promise<Map<string, FeedEvent[]>> {
  const feeds = new Map<string, FeedEvent[]>();
  for (let next = cursor, more = true; more; ) {
    const { status, body } = await call("GET", `/api/events?limit=1000&cursor=${next}`, undefined, integrator);
    if (status !== 200) throw new Error(`The feed was refused: ${JSON.stringify(body)}`);
    for (const { type, user_group: group } of body.events) {
      if (!group) continue;
      const event = { type: shortType(type), teamId: group.team_id };
      feeds.set(group.provided_id, [...(feeds.get(group.provided_id) ?? []), event]);
    }
    [next, more] = [body.next_cursor, body.has_more];
  }
  return feeds;
}

/** Records the histories of `TOGETHER` ids at the same time, with their events. */
async function recordTogether(round: number): Promise<History[]> {
  const ids = Array.from({ length: TOGETHER }, (_, index) => `history-${seed}-${round + index}.`);
  const workspace = `histories-${Math.floor(round / HISTORIES_OF_PLACE)}`;
  const ofRound = `round ${round}`;
  const { key: adminKey, path: pathOfAdmin } = await issueOperator(ofRound, "admin", asBootstrap);
  const admin = as(adminKey);
  const { key, path: pathOfKey } = await issueKey(ofRound, workspace, admin);
  const integrator = as(key);
  const { next_cursor: cursor } = (await call("GET", "/api/events?cursor=latest", undefined, integrator)).body;
  const recorded = await Promise.all(
    ids.map((id, index) => recordOne(id, { workspace, integrator, admin }, randomOf(seed * 1_000_003 + round + index))),
  );
  const feeds = await eventsAfter(cursor, integrator);
  for (const path of [pathOfKey, pathOfAdmin]) await call("DELETE", path, undefined, asBootstrap);
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
  ...["search", "search deleted", "history"].map((kind) => `${kind} ${OK}`),
];

it("every history of concurrent calls has a valid sequential order", async () => {
  const startedAt = Date.now();
  const counts = { histories: 0, calls: 0, overlaps: 0, events: 0 };
  const results: Record<string, number> = {};
  const hasMetAll = () => MET.every((result) => result in results);
  const failures: History[] = [];
  for (
    let round = 0;
    failures.length === 0 && (hasAnotherRound(round, startedAt, 96, 10_000, 0.35) || (round < 400 && !hasMetAll()));
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
});

/** Whether the checker takes the history of a service in memory. */
async function isTaken(fault: Fault | undefined, round: number): Promise<boolean> {
  const service = new PlantedService(fault, randomOf(round));
  const calls = await record(service.call, randomOf(round + 7), 4, fault === undefined ? 4 : 6);
  return isLinearizable({ calls, feed: service.feed }, inPlantedToken);
}

/** They wait most of the time. */
const isTakenInRounds = (fault: Fault | undefined, from: number, count: number): Promise<boolean[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => isTaken(fault, from + index)));

it("the checker accepts a correct service, also with lost answers", async () => {
  expect(await isTakenInRounds(undefined, 0, 150)).toEqual(Array(150).fill(true));
});

it.for(FAULTS)("the checker finds %s", async (fault) => {
  let isFound = false;
  for (let round = 0; round < 300 && !isFound; round += 10)
    isFound = (await isTakenInRounds(fault, round, 10)).includes(false);
  expect(isFound).toBe(true);
});
