/**
 * Whether a history of concurrent calls can be put in one order that the groups with one id, changed by one call at a time,
 * could have gone through: the search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with memoised
 * states, as Lowe describes it ("Testing for linearizability", 2017). Calls to different ids do not affect one another, so each
 * id is checked by itself (P-compositionality: Horn and Kroening, 2015). The changes must be in the order of the feed, and each
 * must have its event.
 */

/** A call. A token or session is any text that the service returned as one, and a number any `team_id` that it returned. */
export type Ask =
  | { do: "ensure" }
  | { do: "update"; name: string }
  | { do: "suspend" }
  | { do: "resume" }
  | { do: "rotate"; token: string }
  | { do: "remove"; token: string }
  | { do: "view"; token: string }
  | { do: "restore"; teamId: number }
  | { do: "purge"; teamId: number }
  | { do: "mint"; viewerId: string }
  | { do: "view session"; session: string }
  | { do: "end session"; session: string }
  | { do: "end person"; viewerId: string }
  | { do: "end group" }
  | { do: "mint by key"; viewerId: string }
  | { do: "revoke key" }
  | { do: "use operator" }
  | { do: "revoke operator" }
  | { do: "search"; name: string | undefined }
  | { do: "search deleted" }
  | { do: "history"; teamId: number };

/** The status of a success, or the status and the code of a refusal. */
export const OK = "200";
export const CREATED = "201";
export const NOT_FOUND = "404 user_group_not_found";
export const SUPERSEDED = "409 token_superseded";
export const REVOKED = "401 credential_revoked";
export const SUSPENDED = "403 user_group_suspended";
export const ID_TAKEN = "409 user_group_id_taken";
export const NOT_DELETED = "409 user_group_not_deleted";

/** The answer to a call. */
export type Answered = {
  result: string;
  isNew?: boolean;
  token?: string;
  name?: string;
  teamId?: number;
  isSuspended?: boolean;
  session?: string;
  /** What a search has found. */
  groups?: Found[];
  /** The types of the events in a group's history, newest first. */
  types?: string[];
};

/** A group as a search shows it. */
export type Found = { teamId: number; name: string; isSuspended: boolean };

/** A call with its answer, `undefined` if there was none, and the times of both: any numbers that increase. */
export type Call = { ask: Ask; answer: Answered | undefined; begunAt: number; endedAt: number };

/** An event of the feed: its type without `user_group.` or `viewer_sessions.`, and the number of its group. */
export type FeedEvent = { type: string; teamId: number };

/** The calls to one id, and the events of the groups with it, oldest first. */
export type History = { calls: Call[]; feed: FeedEvent[] };

/** A group. Values that an unanswered call has set are `?` until an answer contains them. */
type Group = { teamId: number; token: string; name: string; isSuspended: boolean };

/**
 * The sessions of groups that are not ended. One of a group that does not exist views again if the group is restored. Those that the
 * history's own key has minted end with that.
 */
type Sessions = Record<string, { teamId: number; viewerId: string; isOfKey: boolean }>;

/**
 * The groups with the id: the one that exists, and those that can be restored. A purged group is in neither. Each history has an API key
 * and an operator of its own, which are valid until it revokes them.
 */
type State = {
  existing: Group | undefined;
  deleted: Group[];
  sessions: Sessions;
  isKeyValid: boolean;
  isOperatorValid: boolean;
};

/** A possible effect of a call: the state after it, and the type and group of its event if it changed something. */
type Step = { state: State; event?: FeedEvent };

type Numbered = (token: string) => number;

/** What a call meets: the state, the tokens and numbers (`#1`) of groups before it, and the past and the next events of the feed. */
type Situation = {
  state: State;
  seen: ReadonlySet<string>;
  past: readonly FeedEvent[];
  next: FeedEvent | undefined;
  numberOf: Numbered;
};

const agrees = (known: string, shown: string): boolean => known === "?" || known === shown;

/** The step of a refusal or of a read: nothing changes. */
const unchanged = (state: State, isPossible: boolean): Step[] => (isPossible ? [{ state }] : []);

/** The step that leaves `group` as the existing one. */
const existsNow = (state: State, group: Group, type?: string): Step => ({
  state: { ...state, existing: group, deleted: state.deleted.filter(({ teamId }) => teamId !== group.teamId) },
  ...(type !== undefined && { event: { type, teamId: group.teamId } }),
});

/** The group with what a success shows of it; none if they disagree. A call without an answer shows nothing. */
function shown(group: Group, answer: Answered | undefined, numberOf: Numbered): Group[] {
  if (!answer) return [group];
  const { result, teamId, token = group.token, name = "", isSuspended = group.isSuspended } = answer;
  const isRight =
    result === OK &&
    teamId === group.teamId &&
    (answer.token === undefined || numberOf(answer.token) === teamId) &&
    agrees(group.token, token) &&
    agrees(group.name, name) &&
    isSuspended === group.isSuspended;
  return isRight ? [{ ...group, token, name }] : [];
}

function afterEnsure({ state, seen, next, numberOf }: Situation, answer: Answered | undefined): Step[] {
  const { existing } = state;
  if (existing) {
    const isPossible = answer !== undefined && !answer.isNew && answer.token !== undefined;
    return isPossible ? shown(existing, answer, numberOf).map((group) => existsNow(state, group)) : [];
  }
  const teamId = answer ? answer.teamId : next?.teamId;
  if (teamId === undefined || seen.has(`#${teamId}`)) return [];
  if (answer && (!answer.isNew || answer.token === undefined || seen.has(answer.token))) return [];
  const created = { teamId, token: "?", name: "?", isSuspended: false };
  return shown(created, answer, numberOf).map((group) => existsNow(state, group, "created"));
}

function afterPut(
  { state, numberOf }: Situation,
  changes: Partial<Group>,
  type: string,
  answer: Answered | undefined,
): Step[] {
  const { existing } = state;
  if (!existing) return unchanged(state, answer?.result === NOT_FOUND);
  if (answer && answer.token === undefined) return [];
  const changed = { ...existing, ...changes };
  const isChange = changed.name !== existing.name || changed.isSuspended !== existing.isSuspended;
  return shown(changed, answer, numberOf).map((group) => existsNow(state, group, isChange ? type : undefined));
}

/** Rotation and deletion: only the current token of the existing group can make them. */
function afterCurrentToken(
  { state, seen, numberOf }: Situation,
  ask: { do: "rotate" | "remove"; token: string },
  answer: Answered | undefined,
): Step[] {
  const { existing, deleted, sessions } = state;
  if (existing?.teamId !== numberOf(ask.token)) return unchanged(state, answer?.result === NOT_FOUND);
  if (answer?.result === SUPERSEDED) return unchanged(state, existing.token !== ask.token);
  if (!agrees(existing.token, ask.token)) return [];
  if (ask.do === "remove") {
    if (answer && answer.result !== OK) return [];
    const removed = { ...state, existing: undefined, deleted: [...deleted, { ...existing, token: ask.token }] };
    return [{ state: removed, event: { type: "deleted", teamId: existing.teamId } }];
  }
  if (answer && (answer.token === undefined || answer.token === ask.token || seen.has(answer.token))) return [];
  const rotated = { ...existing, token: "?" };
  const after = { ...state, sessions: without(sessions, ({ teamId }) => teamId === existing.teamId) };
  return shown(rotated, answer, numberOf).map((group) => existsNow(after, group, "token_rotated"));
}

function afterView({ state, numberOf }: Situation, token: string, answer: Answered | undefined): Step[] {
  const group = state.existing?.teamId === numberOf(token) ? state.existing : undefined;
  if (!answer || answer.result === REVOKED) return unchanged(state, group?.token !== token);
  if (!group || !agrees(group.token, token)) return [];
  const current = { ...group, token };
  if (answer.result === SUSPENDED) return group.isSuspended ? [existsNow(state, current)] : [];
  return group.isSuspended ? [] : shown(current, answer, numberOf).map((viewed) => existsNow(state, viewed));
}

function afterRestore({ state, numberOf }: Situation, teamId: number, answer: Answered | undefined): Step[] {
  const { existing, deleted } = state;
  if (answer?.result === OK && answer.isSuspended === undefined) return [];
  if (existing?.teamId === teamId) return shown(existing, answer, numberOf).map((group) => existsNow(state, group));
  const found = deleted.find((group) => group.teamId === teamId);
  if (!found) return unchanged(state, answer?.result === NOT_FOUND);
  if (existing) return unchanged(state, answer?.result === ID_TAKEN);
  return shown(found, answer, numberOf).map((group) => existsNow(state, group, "restored"));
}

function afterPurge({ state }: Situation, teamId: number, answer: Answered | undefined): Step[] {
  const { existing, deleted, sessions } = state;
  if (existing?.teamId === teamId) return unchanged(state, answer?.result === NOT_DELETED);
  const others = deleted.filter((group) => group.teamId !== teamId);
  if (others.length === deleted.length) return unchanged(state, answer?.result === NOT_FOUND);
  if (answer && answer.result !== OK) return [];
  const left = without(sessions, (session) => session.teamId === teamId);
  return [{ state: { ...state, deleted: others, sessions: left }, event: { type: "purged", teamId } }];
}

/** The sessions but those that have ended. */
const without = (sessions: Sessions, isEnded: (session: Sessions[string], text: string) => boolean): Sessions =>
  Object.fromEntries(Object.entries(sessions).filter(([text, session]) => !isEnded(session, text)));

/** A mint whose answer was lost leaves no session that anybody has. */
function afterMint(
  { state }: Situation,
  { viewerId, isOfKey }: { viewerId: string; isOfKey: boolean },
  answer: Answered | undefined,
): Step[] {
  const { existing, sessions } = state;
  if (!answer) return [{ state }];
  if (isOfKey && !state.isKeyValid) return unchanged(state, answer.result === REVOKED);
  if (!existing) return unchanged(state, answer.result === NOT_FOUND);
  if (existing.isSuspended) return unchanged(state, answer.result === SUSPENDED);
  const { session } = answer;
  if (answer.result !== CREATED || session === undefined || session in sessions) return [];
  return [
    { state: { ...state, sessions: { ...sessions, [session]: { teamId: existing.teamId, viewerId, isOfKey } } } },
  ];
}

function afterSessionView(situation: Situation, text: string, answer: Answered | undefined): Step[] {
  const { state, numberOf } = situation;
  const session = state.sessions[text];
  const group = session && state.existing?.teamId === session.teamId ? state.existing : undefined;
  if (!answer) return [{ state }];
  if (!group) return unchanged(state, answer.result === REVOKED);
  if (group.isSuspended) return unchanged(state, answer.result === SUSPENDED);
  return shown(group, answer, numberOf).map((viewed) => existsNow(state, viewed));
}

/** An end of one session, also of a deleted group. One that views no more is left as it is, without an event. */
function afterSessionEnd({ state }: Situation, text: string, answer: Answered | undefined): Step[] {
  const session = state.sessions[text];
  if (answer && answer.result !== OK) return [];
  if (!session) return [{ state }];
  const sessions = without(state.sessions, (_, each) => each === text);
  return [{ state: { ...state, sessions }, event: { type: "ended", teamId: session.teamId } }];
}

/** An end of a person's sessions, or of all. */
function afterEnd({ state }: Situation, viewerId: string | undefined, answer: Answered | undefined): Step[] {
  const { existing } = state;
  if (!existing) return unchanged(state, answer === undefined || answer.result === NOT_FOUND);
  if (answer && answer.result !== OK) return [];
  const isEnded = (session: Sessions[string]) =>
    session.teamId === existing.teamId && (viewerId === undefined || session.viewerId === viewerId);
  const sessions = without(state.sessions, isEnded);
  return [{ state: { ...state, sessions }, event: { type: "ended", teamId: existing.teamId } }];
}

/** A revocation, also a repeated one. Sessions that the key has minted end with it. */
function afterRevocation(state: State, answer: Answered | undefined): Step[] {
  if (answer && answer.result !== OK) return [];
  const sessions = without(state.sessions, ({ isOfKey }) => isOfKey && !state.isKeyValid);
  return [{ state: { ...state, sessions } }];
}

/** A search for the group that exists, by the id or by a name. */
function afterSearch({ state, numberOf }: Situation, name: string | undefined, answer: Answered | undefined): Step[] {
  const { existing } = state;
  if (!answer) return [{ state }];
  const [found, ...others] = answer.groups ?? [];
  if (answer.result !== OK || others.length > 0) return [];
  if (!found) return unchanged(state, !existing || (name !== undefined && existing.name !== name));
  if (!existing || (name !== undefined && found.name !== name)) return [];
  return shown(existing, { result: OK, ...found }, numberOf).map((group) => existsNow(state, group));
}

/** A search for the groups with the id that can be restored. */
function afterDeletedSearch({ state }: Situation, answer: Answered | undefined): Step[] {
  if (!answer) return [{ state }];
  const found = new Map(answer.groups?.map(({ teamId, name }) => [teamId, name]));
  const isRight = ({ teamId, name }: Group) => found.has(teamId) && agrees(name, found.get(teamId) ?? "");
  const isPossible = answer.result === OK && found.size === state.deleted.length && state.deleted.every(isRight);
  const deleted = state.deleted.map((group) => ({ ...group, name: found.get(group.teamId) ?? group.name }));
  return isPossible ? [{ state: { ...state, deleted } }] : [];
}

/** A group's history has exactly its past events, also after its purge. */
function afterHistory({ state, past }: Situation, teamId: number, answer: Answered | undefined): Step[] {
  if (!answer) return [{ state }];
  const types = past.filter((event) => event.teamId === teamId).map(({ type }) => type);
  return unchanged(state, answer.result === OK && answer.types?.join() === types.toReversed().join());
}

/** The possible steps of a call, given its answer; none if the answer is impossible. */
function stepsOf(situation: Situation, { ask, answer }: Call): Step[] {
  switch (ask.do) {
    case "ensure":
      return afterEnsure(situation, answer);
    case "update":
      return afterPut(situation, { name: ask.name }, "updated", answer);
    case "suspend":
      return afterPut(situation, { isSuspended: true }, "suspended", answer);
    case "resume":
      return afterPut(situation, { isSuspended: false }, "resumed", answer);
    case "rotate":
    case "remove":
      return afterCurrentToken(situation, ask, answer);
    case "view":
      return afterView(situation, ask.token, answer);
    case "restore":
      return afterRestore(situation, ask.teamId, answer);
    case "purge":
      return afterPurge(situation, ask.teamId, answer);
    case "mint":
    case "mint by key":
      return afterMint(situation, { viewerId: ask.viewerId, isOfKey: ask.do === "mint by key" }, answer);
    case "view session":
      return afterSessionView(situation, ask.session, answer);
    case "end session":
      return afterSessionEnd(situation, ask.session, answer);
    case "end person":
      return afterEnd(situation, ask.viewerId, answer);
    case "end group":
      return afterEnd(situation, undefined, answer);
    case "revoke key":
      return afterRevocation({ ...situation.state, isKeyValid: false }, answer);
    case "revoke operator":
      return afterRevocation({ ...situation.state, isOperatorValid: false }, answer);
    case "search":
      return afterSearch(situation, ask.name, answer);
    case "search deleted":
      return afterDeletedSearch(situation, answer);
    case "history":
      return afterHistory(situation, ask.teamId, answer);
    case "use operator":
      return unchanged(situation.state, !answer || answer.result === (situation.state.isOperatorValid ? OK : REVOKED));
  }
}

/**
 * Whether one call at a time could have given these answers and caused these events, beginning without a group with the id.
 * `numberOf` reads the team id in a token.
 */
export function isLinearizable({ calls, feed }: History, numberOf: Numbered): boolean {
  const visited = new Set<string>();
  const search = (done: bigint, state: State, eventsDone: number, seen: ReadonlySet<string>): boolean => {
    const memo = `${done} ${eventsDone} ${JSON.stringify(state)}`;
    if (visited.has(memo)) return false;
    visited.add(memo);
    const open = calls.map((call, index) => ({ call, index })).filter(({ index }) => !(done & (1n << BigInt(index))));
    const past = feed.slice(0, eventsDone);
    const next = feed[eventsDone];
    if (!next && open.every(({ call }) => !call.answer)) return true;
    // Only a call that began before any open call ended can be the next one.
    const firstEnd = Math.min(...open.map(({ call }) => (call.answer ? call.endedAt : Number.POSITIVE_INFINITY)));
    return open
      .filter(({ call }) => call.begunAt <= firstEnd)
      .some(({ call, index }) =>
        stepsOf({ state, seen, past, next, numberOf }, call)
          .filter(({ event }) => !event || (event.type === next?.type && event.teamId === next.teamId))
          .some((step) => {
            const group = step.state.existing;
            const seenNow = group ? new Set([...seen, group.token, `#${group.teamId}`]) : seen;
            return search(done | (1n << BigInt(index)), step.state, eventsDone + (step.event ? 1 : 0), seenNow);
          }),
      );
  };
  const start = { existing: undefined, deleted: [], sessions: {}, isKeyValid: true, isOperatorValid: true };
  return search(0n, start, 0, new Set());
}
