import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { byNumber, rowsOf } from "../../../support/by-number.ts";
import { type Answer, type CallOptions, call, codeOf } from "../../../support/client.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { answeredBy, query, STALE, view } from "../../../support/viewers.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");
const NOT_FOUND = [404, "user_group_not_found"];

/** The calls by number of one caller. */
type ByNumber = {
  show: (teamId: number | string) => Promise<Answer>;
  put: (teamId: number | string, body: object | string, options?: CallOptions) => Promise<Answer>;
  rotate: (teamId: number | string, body?: object, options?: CallOptions) => Promise<Answer>;
  remove: (teamId: number | string, options?: CallOptions) => Promise<Answer>;
};

function callsOf(credential: string, where = ""): ByNumber {
  const to = (method: string, path: string, options: CallOptions) =>
    call(method, `/api/user_groups/${path}${where}`, { credential, ...options });
  return {
    show: (teamId) => to("GET", `${teamId}`, {}),
    put: (teamId, body, options = {}) => to("PUT", `${teamId}`, { body, ...options }),
    rotate: (teamId, body, options = {}) => to("POST", `${teamId}/rotate`, { body, ...options }),
    remove: (teamId, options = {}) => to("DELETE", `${teamId}`, options),
  };
}

/** Who may make all four calls, and as whom events name them: an integrator with its second key, and operators. */
const CALLERS = [
  ["an API key", async () => callsOf(await issueKey()), { kind: "api_key", id: 2, name: "backend" }],
  [
    "an operator",
    async () => callsOf(await issueOperator("admin"), inEnvironment()),
    { kind: "operator", id: 1, name: "admin" },
  ],
  [
    "the bootstrap token",
    async () => callsOf(operator, inEnvironment()),
    { kind: "operator", id: null, name: "bootstrap" },
  ],
] as const;

/** The feed's events after the first `count`. */
const eventsAfter = async (count: number) =>
  (await call("GET", `/api/events${inEnvironment()}`, { credential: operator })).body.events.slice(count);

const ETAG = (answer: Answer) => answer.headers.get("ETag");
const ifMatch = (etag: string | null) => ({ headers: { "If-Match": etag ?? "" } });

describe.for(CALLERS)("by number, %s", ([, newCaller, actor]) => {
  it("changes a group, and sees it as the list does", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const { put, show } = await newCaller();
    vi.setSystemTime(NOW.getTime() + 1000);
    const changed = await put(1, {
      new_user_group_id: "acme-2",
      name: "Acme Inc.",
      mapping: { sales: "db-7" },
      properties: { region: "eu" },
    });
    expect([changed.status, ETAG(changed)]).toEqual([200, '"1.2"']);
    expect(changed.body).toEqual({
      success: 1,
      user_group: {
        team_id: 1,
        provided_id: "acme-2",
        name: "Acme Inc.",
        mapping: { sales: "db-7" },
        properties: { region: "eu" },
        api_environment_tag: "Testing",
        state: "active",
        created_at: "2026-03-01T10:30:00.000Z",
        updated_at: "2026-03-01T10:30:01.000Z",
        last_viewed_on: null,
      },
    });
    const shown = await show(1);
    expect([shown.body, ETAG(shown)]).toEqual([changed.body, '"1.2"']);
    expect((await view(token)).body.user_group).toMatchObject({ provided_id: "acme-2", name: "Acme Inc." });
  });

  it("writes nothing when nothing changes", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme", { properties: { a: 1 } });
    const { put } = await newCaller();
    const before = await eventsAfter(0);
    for (const body of [{}, { name: "acme" }, { new_user_group_id: "acme" }, { properties: { a: 1 } }])
      expect(ETAG(await put(1, body))).toBe('"1.1"');
    expect(await eventsAfter(0)).toEqual(before);
  });

  it("rotates the token, and never sees the new one", async ({ expect }) => {
    const { get, tokenOf } = await newIntegrator();
    const old = await tokenOf("acme");
    const { rotate, show } = await newCaller();
    const rotated = await rotate(1);
    expect([rotated.status, ETAG(rotated)]).toEqual([200, '"1.2"']);
    expect(rotated.body).toEqual((await show(1)).body);
    expect(JSON.stringify(rotated.body)).not.toMatch(/"token"|ugt_/);
    expect(codeOf(await view(old))).toEqual([401, "credential_revoked"]);
    const { token } = (await get({ user_group_id: "acme" })).body.user_group;
    expect(token).not.toBe(old);
    expect((await view(token)).status).toBe(200);
  });

  it("rotates with a grace for viewers, and for them alone", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { rotate: rotateByToken, tokenOf } = await newIntegrator();
    const old = await tokenOf("acme");
    const { rotate } = await newCaller();
    expect((await rotate(1, { grace_seconds: 60 })).status).toBe(200);
    expect((await view(old)).status).toBe(200);
    expect(codeOf(await rotateByToken(old))).toEqual([409, "token_superseded"]);
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await view(old))).toEqual([401, "credential_revoked"]);
  });

  it("deletes a group, and frees its id but never its number", async ({ expect }) => {
    const { get, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const calls = await newCaller();
    const removed = await calls.remove(1);
    expect([removed.status, ETAG(removed)]).toEqual([200, '"1.2"']);
    expect(removed.body).toMatchObject({ success: 1, user_group: { team_id: 1, state: "deleted" } });
    expect(JSON.stringify(removed.body)).not.toMatch(/"token"|ugt_/);
    expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
    for (const answer of [
      await calls.show(1),
      await calls.put(1, { name: "x" }),
      await calls.rotate(1),
      await calls.remove(1),
    ])
      expect(codeOf(answer)).toEqual(NOT_FOUND);
    const again = (await get({ user_group_id: "acme" })).body;
    expect(again).toMatchObject({ new_user_group: true, user_group: { team_id: 2 } });
    expect(again.user_group.token).not.toBe(token);
  });

  it("honours If-Match, and changes nothing in any other state", async ({ expect }) => {
    const { get, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const calls = await newCaller();
    const first = ETAG(await calls.show(1));
    expect(ETAG(await calls.put(1, { name: "B" }, ifMatch(first)))).toBe('"1.2"');
    for (const stale of [first, '"2.2"', `W/${first}`, '"0.0", "1.9"'])
      for (const answer of [
        await calls.put(1, { name: "C" }, ifMatch(stale)),
        await calls.rotate(1, undefined, ifMatch(stale)),
        await calls.remove(1, ifMatch(stale)),
      ])
        expect(codeOf(answer)).toEqual([412, "revision_mismatch"]);
    expect((await get({ user_group_id: "acme" })).body.user_group).toMatchObject({ token, name: "B" });
    expect(ETAG(await calls.rotate(1, {}, ifMatch('W/"1.2"')))).toBe('"1.3"');
    expect((await calls.remove(1, ifMatch('"1.3", "1.4"'))).status).toBe(200);
  });

  it.for(["x", "1.1", "*, *", '"1.1" "1.2"', ""])("refuses the If-Match %j", async (tag, { expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const calls = await newCaller();
    for (const answer of [
      await calls.put(1, { name: "C" }, ifMatch(tag)),
      await calls.rotate(1, undefined, ifMatch(tag)),
      await calls.remove(1, ifMatch(tag)),
    ])
      expect(answer.body.error).toMatchObject({ code: "invalid_body", issues: [{ path: ["If-Match"] }] });
    expect(ETAG(await calls.show(1))).toBe('"1.1"');
  });

  it.for(["2", "0", "01", "1.0", "-1", "0x1", "1e0", "acme", "%31%20", "9".repeat(30)])(
    "gets 404 for the number %s, whatever the call",
    async (teamId, { expect }) => {
      const { tokenOf } = await newIntegrator();
      await tokenOf("acme");
      const { show, put, rotate, remove } = await newCaller();
      for (const answer of [await show(teamId), await put(teamId, {}), await rotate(teamId), await remove(teamId)])
        expect(codeOf(answer)).toEqual(NOT_FOUND);
      expect(ETAG(await show(1))).toBe('"1.1"');
    },
  );

  it("learns every fault of a body or a query", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const { put, rotate } = await newCaller();
    const issuesOf = ({ status, body }: Answer) => [status, ...body.error.issues.map((issue: Issue) => issue.path[0])];
    type Issue = { path: string[] };
    expect(issuesOf(await put(1, { user_group_id: "acme", name: "" }))).toEqual([422, "name", "user_group_id"]);
    expect(issuesOf(await put(1, { token: "x" }))).toEqual([422, "token"]);
    expect(issuesOf(await put(1, '{"name":"a","name":"b"}'))).toEqual([422, "name"]);
    expect(issuesOf(await rotate(1, { grace_seconds: 604801 }))).toEqual([422, "grace_seconds"]);
    expect(issuesOf(await rotate(1, { current_token: "x" }))).toEqual([422, "current_token"]);
    expect(codeOf(await put(1, "{"))).toEqual([400, "malformed_json"]);
    expect(codeOf(await call("PUT", `/api/user_groups/1${inEnvironment()}`, { credential: operator }))).toEqual([
      400,
      "body_required",
    ]);
  });

  it("causes one event for each change, in its own name", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const { put, rotate, remove } = await newCaller();
    const count = (await eventsAfter(0)).length;
    await put(1, { new_user_group_id: "acme-2" });
    await rotate(1);
    const removed = await remove(1);
    const events = await eventsAfter(count);
    expect(events).toMatchObject([
      { type: "user_group.updated", changed: ["provided_id"], previous_provided_id: "acme" },
      { type: "user_group.token_rotated", user_group: { team_id: 1, provided_id: "acme-2" } },
      { type: "user_group.deleted", request_id: removed.headers.get("X-Request-Id") },
    ]);
    expect(events.map((event: { actor: object }) => event.actor)).toEqual([actor, actor, actor]);
  });

  it.for([
    ["rotates", (calls: ByNumber) => calls.rotate(1)],
    ["deletes", (calls: ByNumber) => calls.remove(1)],
  ] as const)("ends the lease and the sessions of a token when it %s", async ([, change], { expect }) => {
    const { key, leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    const session = await sessionOf(key);
    expect((await view(session)).status).toBe(200);
    expect(answeredBy(await view(token, STALE))).toBe("index");
    const calls = await newCaller();
    expect((await change(calls)).status).toBe(200);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
    for (const headers of [STALE, {}])
      for (const credential of [token, session])
        expect(codeOf(await view(credential, headers))).toEqual([401, "credential_revoked"]);
    expect(codeOf(await query(token, { sql: "SELECT {{user_group_id}}" }, STALE))).toEqual([401, "credential_revoked"]);
  });

  it("lets exactly one of ten racing deletions win", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const { remove } = await newCaller();
    const statuses = await Promise.all(Array.from({ length: 10 }, () => remove(1).then(({ status }) => status)));
    expect(statuses.toSorted()).toEqual([200, ...Array(9).fill(404)]);
  });

  it("lets exactly one of ten racing changes of one state win", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const { put, rotate, show } = await newCaller();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        index % 2 ? put(1, { name: `${index}` }, ifMatch('"1.1"')) : rotate(1, {}, ifMatch('"1.1"')),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(9);
    expect(ETAG(await show(1))).toBe('"1.2"');
  });
});

it("an API key changes no group of another environment", async ({ expect }) => {
  const { tokenOf } = await newIntegrator();
  await tokenOf("acme");
  const { show, put, rotate, remove } = callsOf(await issueKey({ environment: "Customer" }));
  for (const answer of [await show(1), await put(1, { name: "x" }), await rotate(1), await remove(1)])
    expect(codeOf(answer)).toEqual(NOT_FOUND);
  expect(ETAG(await callsOf(operator, inEnvironment()).show(1))).toBe('"1.1"');
});

describe("an operator with the role support", () => {
  const where = { workspace: "acme", environment: "Testing" };
  const lacking = { status: 403, body: { error: { code: "insufficient_access", required_role: "admin" } } };

  /** The groups acme, which has the number 1, and beta, which is deleted and has 2; and operators of both roles. */
  async function twoGroups() {
    const { tokenOf } = await newIntegrator();
    for (const id of ["acme", "beta"]) await tokenOf(id);
    const admin = byNumber(await issueOperator("admin"), where);
    await admin.remove(2);
    return { admin, support: byNumber(await issueOperator("support"), where) };
  }

  it.for(["acme-2", "acme", "beta"])("may not rename a group to %s, and changes nothing", async (id, { expect }) => {
    const { support } = await twoGroups();
    const before = await rowsOf("acme/Testing");
    for (const fields of [{}, { name: "B", suspended: true }])
      expect(await support.update(1, { new_user_group_id: id, ...fields })).toMatchObject(lacking);
    for (const body of [{}, { rotate_token: true }])
      expect(await support.restore(2, { new_user_group_id: id, ...body })).toMatchObject(lacking);
    expect(await rowsOf("acme/Testing")).toEqual(before);
  });

  it("may make the same calls without a new id", async ({ expect }) => {
    const { support } = await twoGroups();
    expect((await support.update(1, { name: "B", suspended: true })).status).toBe(200);
    expect((await support.restore(2, { rotate_token: true })).status).toBe(200);
  });

  it("is refused where an admin renames and restores under another id", async ({ expect }) => {
    const { admin } = await twoGroups();
    expect((await admin.update(1, { new_user_group_id: "acme-2" })).body.user_group.provided_id).toBe("acme-2");
    expect((await admin.restore(2, { new_user_group_id: "acme" })).body.user_group.provided_id).toBe("acme");
  });
});
