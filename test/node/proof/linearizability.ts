/**
 * Whether a history of concurrent calls can be put in one order that a single group, changed by one call at a time, could
 * have gone through: the search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with memoised states,
 * as Lowe describes it ("Testing for linearizability", 2017). Calls to different ids do not affect one another, so each id is
 * checked by itself (P-compositionality: Horn and Kroening, 2015).
 */

/** A call. A token is any text that the service returned as one. */
export type Ask =
  | { do: "ensure" }
  | { do: "update"; name: string }
  | { do: "rotate"; token: string }
  | { do: "remove"; token: string }
  | { do: "view"; token: string };

/** The answer to a call. */
export type Answered = { status: number; isNew?: boolean; token?: string; name?: string; teamId?: number };

/** A call with its answer, `undefined` if there was none, and the times of both: any numbers that increase. */
export type Call = { ask: Ask; answer: Answered | undefined; begunAt: number; endedAt: number };

/** The group with the id, or none. Values that an unanswered call has set are `?` until an answer contains them. */
type State = { teamId: number | "?"; token: string | "?"; name: string | "?" } | undefined;

type Numbered = (token: string) => number;

const agrees = <Value>(known: Value | "?", shown: Value): boolean => known === "?" || known === shown;

/**
 * The possible states after the call, given its answer; none if the answer is impossible. `numberOf` reads the team id in a
 * token.
 */
function after(state: State, { ask, answer }: Call, numberOf: Numbered, seen: ReadonlySet<string>): State[] {
  if (ask.do === "ensure") {
    if (!answer) return [state, ...(state ? [] : [{ teamId: "?" as const, token: "?" as const, name: "?" as const }])];
    const { token = "", teamId = 0, name = "" } = answer;
    if (answer.status !== 200 || numberOf(token) !== teamId) return [];
    if (state === undefined)
      return answer.isNew && !seen.has(token) && !seen.has(`#${teamId}`) ? [{ teamId, token, name }] : [];
    const isSame =
      !answer.isNew && agrees(state.teamId, teamId) && agrees(state.token, token) && agrees(state.name, name);
    return isSame ? [{ teamId, token, name }] : [];
  }
  if (ask.do === "update") {
    if (!answer) return state ? [state, { ...state, name: ask.name }] : [state];
    if (!state) return answer.status === 404 ? [state] : [];
    const { token = "", teamId = 0, name = "" } = answer;
    const isRight =
      answer.status === 200 && name === ask.name && agrees(state.token, token) && agrees(state.teamId, teamId);
    return isRight ? [{ teamId, token, name }] : [];
  }

  const isOfThis = state !== undefined && agrees(state.teamId, numberOf(ask.token));
  const isCurrent = isOfThis && agrees(state.token, ask.token);
  if (ask.do === "view") {
    if (!answer) return [state];
    if (answer.status === 401) return isCurrent && state.token !== "?" ? [] : [state];
    const isRight = answer.status === 200 && isCurrent && agrees(state.name, answer.name ?? "");
    return isRight ? [{ teamId: numberOf(ask.token), token: ask.token, name: answer.name ?? "" }] : [];
  }

  if (!answer) {
    if (!isCurrent) return [state];
    return [state, ask.do === "remove" ? undefined : { ...state, token: "?" }];
  }
  if (answer.status === 404) return isOfThis && state.teamId !== "?" ? [] : [state];
  if (answer.status === 409) return isOfThis && (!isCurrent || state.token === "?") ? [state] : [];
  if (answer.status !== 200 || !isCurrent) return [];
  if (ask.do === "remove") return [undefined];
  const { token = "", teamId = 0, name = "" } = answer;
  const isRight = numberOf(token) === teamId && token !== ask.token && !seen.has(token) && agrees(state.name, name);
  return isRight && agrees(state.teamId, teamId) ? [{ teamId, token, name }] : [];
}

/** Whether one call at a time could have given these answers, beginning without a group with the id. */
export function isLinearizable(calls: Call[], numberOf: Numbered): boolean {
  const visited = new Set<string>();
  const search = (done: bigint, state: State, seen: ReadonlySet<string>): boolean => {
    const memo = `${done} ${JSON.stringify(state)}`;
    if (visited.has(memo)) return false;
    visited.add(memo);
    const open = calls.map((call, index) => ({ call, index })).filter(({ index }) => !(done & (1n << BigInt(index))));
    if (open.every(({ call }) => !call.answer)) return true;
    // Only a call that began before any open call ended can be the next one.
    const firstEnd = Math.min(...open.map(({ call }) => (call.answer ? call.endedAt : Number.POSITIVE_INFINITY)));
    return open
      .filter(({ call }) => call.begunAt <= firstEnd)
      .some(({ call, index }) =>
        after(state, call, numberOf, seen).some((next) =>
          search(done | (1n << BigInt(index)), next, next ? new Set([...seen, next.token, `#${next.teamId}`]) : seen),
        ),
      );
  };
  return search(0n, undefined, new Set());
}
