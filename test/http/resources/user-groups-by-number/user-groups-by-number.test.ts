import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { byNumber, IN_ACME, rowsOf } from "../../../support/by-number.ts";
import { type Answer, codeOf } from "../../../support/client.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { answeredBy, query, STALE, view } from "../../../support/viewers.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");
const NOT_FOUND = [404, "user_group_not_found"];
const REVOKED = [401, "credential_revoked"];

/** Who may make all calls, and as whom events name them: an integrator with its second key, and operators. */
const CALLERS = [
  ["an API key", async () => byNumber(await issueKey()), { kind: "api_key", id: 2, name: "backend" }],
  [
    "an operator",
    async () => byNumber(await issueOperator("admin"), IN_ACME),
    { kind: "operator", id: 1, name: "admin" },
  ],
  ["the bootstrap token", async () => byNumber(operator, IN_ACME), { kind: "operator", id: null, name: "bootstrap" }],
] as const;

const tagOf = (answer: Answer) => answer.headers.get("ETag");
const ifMatch = (etag: string | null) => ({ headers: { "If-Match": etag ?? "" } });

describe.for(CALLERS)("by number, %s", ([, newCaller, actor]) => {
  /** An integrator with the group acme, number 1, and the calls of the caller. */
  async function start(fields: object = {}) {
    const { tokenOf, get, key } = await newIntegrator();
    const token = await tokenOf("acme", fields);
    return { key, get, token, ...(await newCaller()) };
  }

  it("changes a group, and sees it as the list does", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { token, update, show } = await start();
    vi.setSystemTime(NOW.getTime() + 1000);
    const fields = { name: "Acme Inc.", mapping: { sales: "db-7" }, properties: { region: "eu" } };
    const changed = await update(1, { new_user_group_id: "acme-2", ...fields });
    expect([changed.status, tagOf(changed)]).toEqual([200, '"1.2"']);
    expect(changed.body).toEqual({
      success: 1,
      user_group: {
        team_id: 1,
        provided_id: "acme-2",
        ...fields,
        api_environment_tag: "Testing",
        state: "active",
        created_at: "2026-03-01T10:30:00.000Z",
        updated_at: "2026-03-01T10:30:01.000Z",
        last_viewed_on: null,
      },
    });
    const shown = await show(1);
    expect([shown.body, tagOf(shown)]).toEqual([changed.body, '"1.2"']);
    expect((await view(token)).body.user_group).toMatchObject({ provided_id: "acme-2", name: "Acme Inc." });
  });

  it("writes nothing when nothing changes", async () => {
    const { update, events } = await start({ properties: { a: 1 } });
    const before = await events();
    for (const body of [{}, { name: "acme" }, { new_user_group_id: "acme" }, { properties: { a: 1 } }])
      expect(tagOf(await update(1, body))).toBe('"1.1"');
    expect(await events()).toEqual(before);
  });

  it("rotates the token, and never sees the new one", async () => {
    const { token: old, get, rotate, show } = await start();
    const rotated = await rotate(1);
    expect([rotated.status, tagOf(rotated)]).toEqual([200, '"1.2"']);
    expect(rotated.body).toEqual((await show(1)).body);
    expect(JSON.stringify(rotated.body)).not.toMatch(/"token"|ugt_/);
    expect(codeOf(await view(old))).toEqual(REVOKED);
    const { token } = (await get({ user_group_id: "acme" })).body.user_group;
    expect((await view(token)).status).toBe(200);
  });

  it("deletes a group, and frees its id but never its number", async () => {
    const { token, get, show, update, rotate, remove } = await start();
    const removed = await remove(1);
    expect([removed.status, tagOf(removed)]).toEqual([200, '"1.2"']);
    expect(removed.body).toMatchObject({ success: 1, user_group: { team_id: 1, state: "deleted" } });
    expect(JSON.stringify(removed.body)).not.toMatch(/"token"|ugt_/);
    expect(codeOf(await view(token))).toEqual(REVOKED);
    for (const answer of [await show(1), await update(1, { name: "x" }), await rotate(1), await remove(1)])
      expect(codeOf(answer)).toEqual(NOT_FOUND);
    const again = (await get({ user_group_id: "acme" })).body;
    expect(again).toMatchObject({ new_user_group: true, user_group: { team_id: 2 } });
    expect(again.user_group.token).not.toBe(token);
  });

  it("honours If-Match, and changes nothing in any other state", async () => {
    const { token, get, show, update, rotate, remove } = await start();
    const first = tagOf(await show(1));
    expect(tagOf(await update(1, { name: "B" }, ifMatch(first)))).toBe('"1.2"');
    for (const stale of [first, '"2.2"', `W/${first}`, '"0.0", "1.9"'])
      for (const change of [update, rotate, remove])
        expect(codeOf(await change(1, {}, ifMatch(stale)))).toEqual([412, "revision_mismatch"]);
    expect((await get({ user_group_id: "acme" })).body.user_group).toMatchObject({ token, name: "B" });
    expect(tagOf(await rotate(1, {}, ifMatch('W/"1.2"')))).toBe('"1.3"');
    expect((await remove(1, undefined, ifMatch('"1.3", "1.4"'))).status).toBe(200);
  });

  it.for(["x", "1.1", "*, *", '"1.1" "1.2"', ""])("refuses the If-Match %j", async (tag) => {
    const { show, update, rotate, remove } = await start();
    for (const change of [update, rotate, remove])
      expect((await change(1, {}, ifMatch(tag))).body.error).toMatchObject({
        code: "invalid_body",
        issues: [{ path: ["If-Match"] }],
      });
    expect(tagOf(await show(1))).toBe('"1.1"');
  });

  it.for(["2", "0", "01", "1.0", "-1", "0x1", "1e0", "acme", "%31%20", "9".repeat(30)])(
    "gets 404 for the number %s, whatever the call",
    async (teamId) => {
      const { show, update, rotate, remove } = await start();
      for (const answer of [await show(teamId), await update(teamId, {}), await rotate(teamId), await remove(teamId)])
        expect(codeOf(answer)).toEqual(NOT_FOUND);
      expect(tagOf(await show(1))).toBe('"1.1"');
    },
  );

  it("learns every fault of a body or a query", async () => {
    const { update, rotate } = await start();
    const issuesOf = ({ status, body }: Answer) => [
      status,
      ...body.error.issues.map(({ path }: { path: string[] }) => path[0]),
    ];
    expect(issuesOf(await update(1, { user_group_id: "acme", name: "" }))).toEqual([422, "name", "user_group_id"]);
    expect(issuesOf(await update(1, { token: "x" }))).toEqual([422, "token"]);
    expect(issuesOf(await update(1, '{"name":"a","name":"b"}'))).toEqual([422, "name"]);
    expect(issuesOf(await rotate(1, { grace_seconds: 604801 }))).toEqual([422, "grace_seconds"]);
    expect(issuesOf(await rotate(1, { current_token: "x" }))).toEqual([422, "current_token"]);
    expect(codeOf(await update(1, "{"))).toEqual([400, "malformed_json"]);
    expect(codeOf(await update(1))).toEqual([400, "body_required"]);
  });

  it("causes one event for each change, in its own name", async () => {
    const { update, rotate, remove, events } = await start();
    const count = (await events()).length;
    await update(1, { new_user_group_id: "acme-2" });
    await rotate(1);
    const removed = await remove(1);
    expect((await events()).slice(count)).toMatchObject([
      { type: "user_group.updated", actor, changed: ["provided_id"], previous_provided_id: "acme" },
      { type: "user_group.token_rotated", actor, user_group: { team_id: 1, provided_id: "acme-2" } },
      { type: "user_group.deleted", actor, request_id: removed.headers.get("X-Request-Id") },
    ]);
  });

  it.for(["rotate", "remove"] as const)("ends the lease and the sessions of a token by %s", async (name) => {
    const { key, leasedTokenOf } = await newIntegrator();
    const token = await leasedTokenOf("acme");
    const session = await sessionOf(key);
    expect((await view(session)).status).toBe(200);
    expect(answeredBy(await view(token, STALE))).toBe("index");
    const { [name]: change } = await newCaller();
    expect((await change(1)).status).toBe(200);
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
    for (const headers of [STALE, {}])
      for (const credential of [token, session]) expect(codeOf(await view(credential, headers))).toEqual(REVOKED);
    expect(codeOf(await query(token, { sql: "SELECT {{user_group_id}}" }, STALE))).toEqual(REVOKED);
  });
});

it("an API key changes no group of another environment", async () => {
  const { tokenOf } = await newIntegrator();
  await tokenOf("acme");
  const { show, update, rotate, remove } = byNumber(await issueKey({ environment: "Customer" }));
  for (const answer of [await show(1), await update(1, { name: "x" }), await rotate(1), await remove(1)])
    expect(codeOf(answer)).toEqual(NOT_FOUND);
  expect(tagOf(await byNumber(operator, IN_ACME).show(1))).toBe('"1.1"');
});

it.for(["acme-2", "acme", "beta"])(
  "an operator with the role support gives no group the id %s, and changes nothing",
  async (new_user_group_id) => {
    const { key, tokenOf } = await newIntegrator();
    for (const id of ["acme", "beta"]) await tokenOf(id);
    await byNumber(key).remove(2);
    const support = byNumber(await issueOperator("support"), IN_ACME);
    const before = await rowsOf("acme/Testing");
    for (const refused of [
      await support.update(1, { new_user_group_id }),
      await support.update(1, { new_user_group_id, name: "B", suspended: true }),
      await support.restore(2, { new_user_group_id }),
      await support.restore(2, { new_user_group_id, rotate_token: true }),
    ])
      expect(refused.body.error).toMatchObject({ code: "insufficient_access", required_role: "admin" });
    expect(await rowsOf("acme/Testing")).toEqual(before);
    expect((await support.update(1, { name: "B", suspended: true })).status).toBe(200);
    expect((await support.restore(2, { rotate_token: true })).status).toBe(200);
  },
);
