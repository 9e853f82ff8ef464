import { readFileSync } from "node:fs";
import { describe, inject, it } from "vitest";
import { UserGroupClient } from "../../client/src/index.ts";
import { call } from "../support/node/client.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

const STATES = ["active", "suspended", "deleted", "purged"] as const;
type State = (typeof STATES)[number];

const { url } = inject("service");
const apiKey = await keyOfWorkspace("lifecycle");
const client = new UserGroupClient({ url, apiKey });
let count = 0;

const authorization = (credential: string) => ({ Authorization: `Token ${credential}` });
const asIntegrator = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  call(method, path, body, { ...authorization(apiKey), ...headers });
const asViewer = (credential: string) => call("GET", "/api/viewer", undefined, authorization(credential));

/** A group of which one call with an Idempotency-Key was made, its tokens and a session of it, brought into a state. */
async function groupIn(state: State) {
  count += 1;
  const userGroupId = `${state}-${count}`;
  const { group } = await client.ensure({ userGroupId });
  const { teamId, token: ended = "" } = group;
  const { token: previous } = await client.rotateToken({ currentToken: ended });
  const rotation = { current_token: previous, grace_seconds: 600 };
  const repeat = () => asIntegrator("POST", "/api/user", rotation, { "Idempotency-Key": userGroupId });
  const token: string = (await repeat()).body.user_group.token;
  const mint = async (fields: object): Promise<string> =>
    (await asIntegrator("POST", "/api/viewer_sessions", { user_group_id: userGroupId, ...fields })).body.session.token;
  const [session, staleSession] = [await mint({}), await mint({ max_stale_seconds: 300 })];
  if (state === "suspended") await client.suspend({ userGroupId });
  if (state === "deleted" || state === "purged") await client.remove({ currentToken: token });
  if (state === "purged") await client.purge({ teamId });
  const byNumber = (method: string, path = "", body?: object) =>
    asIntegrator(method, `/api/user_groups/${teamId}${path}`, body);
  return { userGroupId, teamId, token, previous, ended, session, staleSession, repeat, byNumber };
}

type Group = Awaited<ReturnType<typeof groupIn>>;
type Answer = Awaited<ReturnType<typeof call>>;

/** The calls of the table, by the text of their row. */
const CALLS: Record<string, (group: Group) => Promise<Answer>> = {
  "viewer with the token": ({ token }) => asViewer(token),
  "viewer with the previous token, in its grace": ({ previous }) => asViewer(previous),
  "the same, after its grace": ({ ended }) => asViewer(ended),
  "viewer with a session": ({ session }) => asViewer(session),
  "viewer with a session that has `max_stale_seconds`": ({ staleSession }) => asViewer(staleSession),
  "GET `/api/user` of the id": ({ userGroupId }) => asIntegrator("GET", "/api/user", { user_group_id: userGroupId }),
  "PUT `/api/user` of the id": ({ userGroupId }) =>
    asIntegrator("PUT", "/api/user", { user_group_id: userGroupId, name: "New" }),
  "POST `/api/user`, which rotates": ({ token }) => asIntegrator("POST", "/api/user", { current_token: token }),
  "DELETE `/api/user`": ({ token }) => asIntegrator("DELETE", "/api/user", { current_token: token }),
  "repeat of a POST or DELETE, `Idempotency-Key`": ({ repeat }) => repeat(),
  "POST `/api/viewer_sessions` of the id": ({ userGroupId }) =>
    asIntegrator("POST", "/api/viewer_sessions", { user_group_id: userGroupId }),
  "GET by number": ({ byNumber }) => byNumber("GET"),
  "PUT by number": ({ byNumber }) => byNumber("PUT", "", { name: "New" }),
  "rotate by number": ({ byNumber }) => byNumber("POST", "/rotate"),
  "DELETE by number": ({ byNumber }) => byNumber("DELETE"),
  restore: ({ byNumber }) => byNumber("POST", "/restore"),
  purge: ({ byNumber }) => byNumber("POST", "/purge"),
};

/** What a cell of the table begins with, as an answer shows it. */
const MEANINGS: [RegExp, string][] = [
  [/^refused/, "401 credential_revoked"],
  [/^creates another group/, "200 true"],
  [/^the group/, "200 false"],
  [/^the first answer/, "200"],
  [/^a stale 200/, "200"],
  [/^(\d{3}) `(\w+)`/, "$1 $2"],
  [/^404/, "404 user_group_not_found"],
  [/^(20[01])/, "$1"],
];

function meaningOf(cell: string): string {
  const [pattern = /$/, meaning = "nothing"] = MEANINGS.find(([each]) => each.test(cell)) ?? [];
  const [start = ""] = pattern.exec(cell) ?? [];
  return start.replace(pattern, meaning);
}

const outcomeOf = ({ status, body }: Answer): string =>
  [status, body.error?.code ?? body.new_user_group].filter((part) => part !== undefined).join(" ");

/** The row of the table for a call. */
function cellsOf(name: string): string[] {
  const row = readFileSync("docs/integrators/lifecycle.md", "utf8")
    .split("\n")
    .find((line) => line.startsWith(`| ${name} `));
  return (row ?? "")
    .split("|")
    .slice(2, 6)
    .map((cell) => cell.trim());
}

describe.for(STATES)("docs/integrators/lifecycle.md shows for a group that is %s", (state) => {
  it.for(Object.entries(CALLS))("the answer to: %s", async ([name, make], { expect }) => {
    const cell = cellsOf(name)[STATES.indexOf(state)] ?? "";
    expect(outcomeOf(await make(await groupIn(state)))).toBe(meaningOf(cell));
  });
});

it("a grace and a session are valid again after a restore", async ({ expect }) => {
  const { previous, session, byNumber } = await groupIn("deleted");
  await byNumber("POST", "/restore");
  expect([(await asViewer(previous)).status, (await asViewer(session)).status]).toEqual([200, 200]);
});

it("a grace and a session stay ended after a restore with a new token", async ({ expect }) => {
  const { previous, session, byNumber } = await groupIn("deleted");
  await byNumber("POST", "/restore", { rotate_token: true });
  expect([(await asViewer(previous)).status, (await asViewer(session)).status]).toEqual([401, 401]);
});
