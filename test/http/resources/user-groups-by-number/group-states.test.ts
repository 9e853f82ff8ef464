import { describe, expect, it } from "vitest";
import lifecycle from "../../../../docs/integrators/lifecycle.md?raw";
import { FAILURES } from "../../../../src/http/response/failures.ts";
import { byNumber } from "../../../support/by-number.ts";
import { type Answer, call } from "../../../support/client.ts";
import { replaceKv } from "../../../support/hostile-kv.ts";
import { newIntegrator } from "../../../support/states.ts";
import { query, STALE, view } from "../../../support/viewers.ts";

/** The states of a group. `replaced` is deleted, and another group has its id since. */
const STATES = ["active", "suspended", "deleted", "replaced", "restored", "purged"] as const;
type State = (typeof STATES)[number];

/**
 * What each call does in each state, in the order of `STATES`: its status, or the code of its refusal. The group's token was
 * rotated with a grace and an Idempotency-Key, and both tokens were viewed; a deletion has an Idempotency-Key too.
 */
const OUTCOMES = {
  // Viewers
  "view by the token": "200 user_group_suspended credential_revoked credential_revoked 200 credential_revoked",
  "view by the previous token": "200 user_group_suspended credential_revoked credential_revoked 200 credential_revoked",
  "view by a token after its grace":
    "credential_revoked credential_revoked credential_revoked credential_revoked credential_revoked credential_revoked",
  "view by a session that answers itself": "200 200 200 200 200 200",
  "view by a session": "200 user_group_suspended credential_revoked credential_revoked 200 credential_revoked",
  query: "200 user_group_suspended credential_revoked credential_revoked 200 credential_revoked",
  whoami: "200 user_group_suspended credential_revoked credential_revoked 200 credential_revoked",
  "stale view": "200 user_group_suspended credential_revoked credential_revoked 200 credential_revoked",
  "stale view of a lease that stayed": "200 200 200 200 200 200",
  "mint a session": "201 user_group_suspended user_group_not_found 201 201 user_group_not_found",
  // By id
  "GET creates": "false false true false false true",
  PUT: "200 200 user_group_not_found 200 200 user_group_not_found",
  "PUT with its first tag":
    "revision_mismatch revision_mismatch user_group_not_found revision_mismatch revision_mismatch user_group_not_found",
  "PUT with *": "200 200 user_group_not_found 200 200 user_group_not_found",
  "PUT that suspends": "200 200 user_group_not_found 200 200 user_group_not_found",
  // By token
  rotate: "200 200 user_group_not_found user_group_not_found 200 user_group_not_found",
  "rotate by the previous token":
    "token_superseded token_superseded user_group_not_found user_group_not_found token_superseded user_group_not_found",
  "rotate with its first tag":
    "revision_mismatch revision_mismatch user_group_not_found user_group_not_found revision_mismatch user_group_not_found",
  "repeat the rotation": "200 200 200 200 200 user_group_not_found",
  delete: "200 200 user_group_not_found user_group_not_found 200 user_group_not_found",
  "make or repeat the deletion": "200 200 200 200 200 user_group_not_found",
  // By number
  show: "200 200 user_group_not_found user_group_not_found 200 user_group_not_found",
  "show deleted": "user_group_not_found user_group_not_found 200 200 user_group_not_found user_group_not_found",
  "PUT by number": "200 200 user_group_not_found user_group_not_found 200 user_group_not_found",
  "rotate by number": "200 200 user_group_not_found user_group_not_found 200 user_group_not_found",
  "delete by number": "200 200 user_group_not_found user_group_not_found 200 user_group_not_found",
  restore: "200 200 200 user_group_id_taken 200 user_group_not_found",
  "restore under a new id": "200 200 200 200 200 user_group_not_found",
  purge: "user_group_not_deleted user_group_not_deleted 200 200 user_group_not_deleted user_group_not_found",
} as const satisfies Record<string, string>;
type CallName = keyof typeof OUTCOMES;

/** Calls that change nothing, so that they can be made one after the other. Each of the others has a group of its own. */
const READS = [
  "view by the token",
  "view by the previous token",
  "view by a token after its grace",
  "view by a session that answers itself",
  "view by a session",
  "query",
  "whoami",
  "stale view",
  "show",
  "show deleted",
] as const satisfies CallName[];
const CHANGES = (Object.keys(OUTCOMES) as CallName[]).filter((name) => !READS.some((read) => read === name));

/** Whether the group exists after the call. */
const existsAfter = (name: CallName, state: State, answer: Answer): boolean => {
  const existed = ["active", "suspended", "restored"].includes(state);
  const deletes =
    ["delete", "delete by number"].includes(name) || (name === "make or repeat the deletion" && state !== "restored");
  const restores = name === "restore" || name === "restore under a new id";
  return (existed && !deletes) || (restores && answer.status === 200);
};

/** A group in this state, and the calls on it. Its number is 1, and its revision was 2 before the rotation with a grace. */
async function groupIn(state: State) {
  const { key, get, put, rotate: rotateToken, tokenOf } = await newIntegrator();
  const { show, showDeleted, update, rotate, remove, restore, purge, list } = byNumber(key);
  const send = (method: "POST" | "DELETE", current_token: string, headers: Record<string, string> = {}) =>
    call(method, "/api/user", {
      credential: key,
      body: { current_token, ...(method === "POST" && { grace_seconds: 3600 }) },
      headers,
    });
  const mint = (fields = {}) =>
    call("POST", "/api/viewer_sessions", { credential: key, body: { user_group_id: "acme", ...fields } });

  const ended = await tokenOf("acme");
  const previous: string = (await rotateToken(ended)).body.user_group.token;
  const rotateOnce = () => send("POST", previous, { "Idempotency-Key": "rotation" });
  const current: string = (await rotateOnce()).body.user_group.token;
  const deleteOnce = () => send("DELETE", current, { "Idempotency-Key": "deletion" });
  const session: string = (await mint()).body.session.token;
  const staleSession: string = (await mint({ max_stale_seconds: 300 })).body.session.token;
  for (const token of [previous, previous, current, current]) await view(token, STALE);
  const suspend = () => put({ user_group_id: "acme", suspended: true });

  const toState: Record<State, () => Promise<unknown>> = {
    active: async () => undefined,
    suspended: suspend,
    deleted: deleteOnce,
    replaced: async () => [await deleteOnce(), await tokenOf("acme")],
    restored: async () => [await deleteOnce(), await restore(1)],
    purged: async () => [await deleteOnce(), await purge(1)],
  };
  const firstTag = { "If-Match": '"1.1"' };
  const calls: Record<CallName, () => Promise<Answer>> = {
    "view by the token": () => view(current),
    "view by the previous token": () => view(previous),
    "view by a token after its grace": () => view(ended),
    "view by a session that answers itself": () => view(staleSession),
    "view by a session": () => view(session),
    query: () => query(current, { sql: "x = {{user_group_id}}" }),
    whoami: () => call("GET", "/api/whoami", { credential: current }),
    "stale view": () => view(current, STALE),
    "stale view of a lease that stayed": () => view(current, STALE),
    "mint a session": () => mint(),
    "GET creates": () => get({ user_group_id: "acme" }),
    PUT: () => put({ user_group_id: "acme", name: "B" }),
    "PUT with its first tag": () => put({ user_group_id: "acme", name: "B" }, { headers: firstTag }),
    "PUT with *": () => put({ user_group_id: "acme", name: "B" }, { headers: { "If-Match": "*" } }),
    "PUT that suspends": suspend,
    rotate: () => send("POST", current),
    "rotate by the previous token": () => send("POST", previous),
    "rotate with its first tag": () => send("POST", current, firstTag),
    "repeat the rotation": rotateOnce,
    delete: () => send("DELETE", current),
    "make or repeat the deletion": deleteOnce,
    show: () => show(1),
    "show deleted": () => showDeleted(1),
    "PUT by number": () => update(1, { name: "B" }),
    "rotate by number": () => rotate(1),
    "delete by number": () => remove(1),
    restore: () => restore(1),
    "restore under a new id": () => restore(1, { new_user_group_id: "acme-2" }),
    purge: () => purge(1),
  };
  const exists = async () =>
    (await list()).body.user_groups.some(({ team_id: teamId }: { team_id: number }) => teamId === 1);
  return { enter: toState[state], calls, exists };
}

const outcomeOf = ({ status, body }: Answer): string => body.error?.code ?? String(body.new_user_group ?? status);

describe.for(STATES.map((state, index) => [state, index] as const))("of a group that is %s", ([state, index]) => {
  it.for([READS, ...CHANGES.map((name) => [name])])("%s: does what the table says", async (names) => {
    const { enter, calls, exists } = await groupIn(state);
    if (names.includes("stale view of a lease that stayed"))
      replaceKv((operation, _, real) => (operation === "delete" ? Promise.reject(new Error("KV is down.")) : real()));
    await enter();
    for (const name of names) {
      const answer = await calls[name]();
      expect(outcomeOf(answer), name).toBe(OUTCOMES[name].split(" ")[index]);
      expect(await exists(), name).toBe(existsAfter(name, state, answer));
    }
  });
});

/** The rows of the table in docs/integrators/lifecycle.md, and the calls above that they describe. */
const ROWS: Record<string, CallName> = {
  "viewer with the token": "view by the token",
  "viewer with the previous token, in its grace": "view by the previous token",
  "the same, after its grace": "view by a token after its grace",
  "viewer with a session": "view by a session",
  "viewer with a session that has `max_stale_seconds`": "view by a session that answers itself",
  "GET `/api/user` of the id": "GET creates",
  "PUT `/api/user` of the id": "PUT",
  "POST `/api/user`, which rotates": "rotate",
  "DELETE `/api/user`": "delete",
  "repeat of a POST or DELETE, `Idempotency-Key`": "repeat the rotation",
  "POST `/api/viewer_sessions` of the id": "mint a session",
  "GET by number": "show",
  "PUT by number": "PUT by number",
  "rotate by number": "rotate by number",
  "DELETE by number": "delete by number",
  restore: "restore",
  purge: "purge",
};

/** What a cell begins with, as an outcome. */
const MEANINGS: [RegExp, string][] = [
  [/^refused/, "401 credential_revoked"],
  [/^creates another group/, "true"],
  [/^the group/, "false"],
  [/^(?:the first answer|a stale 200)/, "200"],
  [/^(\d{3}) `(\w+)`/, "$1 $2"],
  [/^404/, "404 user_group_not_found"],
  [/^(20[01])/, "$1"],
];

function meaningOf(cell: string): string {
  const [pattern = /$/, meaning = "nothing"] = MEANINGS.find(([each]) => each.test(cell)) ?? [];
  const [start = ""] = pattern.exec(cell) ?? [];
  return start.replace(pattern, meaning);
}

const isCode = (outcome: string): outcome is keyof typeof FAILURES => Object.hasOwn(FAILURES, outcome);

it.for(Object.entries(ROWS))("docs/integrators/lifecycle.md has these outcomes: %s", ([row, name]) => {
  const line = lifecycle.split("\n").find((each) => each.startsWith(`| ${row} |`)) ?? "";
  const cells = line.split("|").slice(2, 6);
  const outcomes = (["active", "suspended", "deleted", "purged"] as const).map(
    (state) => OUTCOMES[name].split(" ")[STATES.indexOf(state)] ?? "",
  );
  expect(cells.map((cell) => meaningOf(cell.trim()))).toEqual(
    outcomes.map((outcome) => (isCode(outcome) ? `${FAILURES[outcome].status} ${outcome}` : outcome)),
  );
});
