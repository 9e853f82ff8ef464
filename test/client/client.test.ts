import { describe, expect, expectTypeOf, inject, it } from "vitest";
import {
  type EnsuredGroup,
  type EnsureInput,
  type EnvironmentClient,
  type ErrorCode,
  type JsonObject,
  type JsonValue,
  OperatorClient,
  type RefusalCode,
  type UpdatedGroup,
  UserGroupClient,
  ViewerClient,
} from "../../client/src/index.ts";
import type { Failure } from "../../src/domain/failure.ts";
import { errorOf } from "../support/node/refused.ts";

const { url, key, operatorToken } = inject("service");
const groups = new UserGroupClient({ url, apiKey: key });
const operator = new OperatorClient({ url, operatorKey: operatorToken });
const viewer = (token: string | undefined) => new ViewerClient({ url, token });

describe("user groups", () => {
  it("are created once, with all given fields", async () => {
    const input = {
      userGroupId: "client ä",
      name: "Client",
      mapping: { sales: "warehouse" },
      properties: { nested: [{ snake_case: null }, 1.5, "ü"], ["__proto__"]: 1 },
    };
    const { created, group } = await groups.ensure(input);
    expect(created).toBe(true);
    expect(group).toEqual({
      teamId: expect.any(Number),
      userGroupId: "client ä",
      name: "Client",
      token: expect.stringMatching(/^ugt_testing_/),
      properties: input.properties,
      etag: `"${group.teamId}.1"`,
    });
    expect(Object.keys(group.properties ?? {})).toEqual(["nested", "__proto__"]);
    expect(await groups.ensure({ userGroupId: "client ä", name: "ignored" })).toEqual({ created: false, group });
    expect((await viewer(group.token).view()).group.mapping).toEqual({ sales: "warehouse" });
  });

  it("are listed page by page, filtered, and never with a token", async () => {
    for (const id of ["client list 1", "client list 2", "client list 3"])
      await groups.ensure({ userGroupId: id, mapping: { a: "b" }, properties: { id } });
    const listed = await Array.fromAsync(groups.list({ prefix: "client list ", pageSize: 2 }));
    expect(await Array.fromAsync(groups.list({ userGroupId: "client list 2" }))).toEqual([listed[1]]);
    expect(await Array.fromAsync(groups.list({ userGroupId: "client list " }))).toEqual([]);
    expect(listed.map(({ userGroupId }) => userGroupId)).toEqual(["client list 1", "client list 2", "client list 3"]);
    expect(listed[0]).toMatchObject({ mapping: { a: "b" }, properties: { id: "client list 1" } });
    expect(JSON.stringify(listed)).not.toMatch(/ugt_/);
    expect((await errorOf(Array.fromAsync(groups.list({ pageSize: 1001 })))).code).toBe("invalid_body");
  });

  it("have a history, newest first, and say who has ended them", async () => {
    const { teamId } = (await groups.ensure({ userGroupId: "client history" })).group;
    const suspended = await groups.suspendByNumber({ teamId, reason: "unpaid" });
    const actor = { kind: "api_key", id: expect.any(Number), name: expect.any(String) };
    expect(suspended.suspendedBy).toEqual(actor);
    const removed = await groups.removeByNumber({ teamId });
    expect(removed).toMatchObject({ suspendedBy: suspended.suspendedBy, deletedBy: actor });
    expect(await groups.get({ teamId, state: "deleted" })).toMatchObject({ deletedBy: removed.deletedBy });

    const types = ["user_group.deleted", "user_group.suspended", "user_group.created"];
    const all = await Array.fromAsync(groups.history({ teamId, pageSize: 1 }));
    expect(all.map(({ type }) => type)).toEqual(types);
    const { events, nextCursor, searchedBackTo } = await groups.historyPage({ teamId, pageSize: 2 });
    expect([events, searchedBackTo]).toEqual([all.slice(0, 2), all[1]?.at]);
    expect(await Array.fromAsync(groups.history({ teamId, cursor: nextCursor ?? "" }))).toEqual(all.slice(2));
    expect((await errorOf(groups.historyPage({ teamId: 999_999_999 }))).code).toBe("user_group_not_found");
  });

  it("are updated, cleared and renamed, and not when they have changed since", async () => {
    const { group } = await groups.ensure({ userGroupId: "client update", properties: { a: 1 } });
    const updated = await groups.update({ userGroupId: "client update", name: "New", ifMatch: group.etag });
    expect(updated).toEqual({ ...group, name: "New", apiEnvironmentTag: "Testing", etag: `"${group.teamId}.2"` });

    const stale = await errorOf(groups.update({ userGroupId: "client update", name: "Newer", ifMatch: group.etag }));
    expect(stale).toMatchObject({ code: "revision_mismatch", status: 412 });

    const cleared = await groups.update({
      userGroupId: "client update",
      newUserGroupId: "client updated",
      properties: null,
    });
    expect(cleared).toMatchObject({ userGroupId: "client updated", name: "New", properties: null });
    expect((await errorOf(groups.update({ userGroupId: "client update" }))).code).toBe("user_group_not_found");
  });

  it("are deleted, unless a guard does not match", async () => {
    const { group } = await groups.ensure({ userGroupId: "client remove", mapping: { sales: "warehouse" } });
    const guarded = (guard: object) => groups.remove({ currentToken: group.token, ...guard });
    expect((await errorOf(guarded({ userGroupId: "another" }))).code).toBe("user_group_mismatch");
    expect((await errorOf(guarded({ dataSourceProvidedId: "another" }))).code).toBe("user_group_mismatch");
    expect(await guarded({ userGroupId: "client remove", dataSourceProvidedId: "warehouse" })).toBeUndefined();
    expect((await errorOf(guarded({}))).code).toBe("user_group_not_found");
  });
});

describe("viewers", () => {
  it("get their group and its variables, fresh or stale", async () => {
    const { teamId, token } = (await groups.ensure({ userGroupId: "client view", properties: { region: ["eu"] } }))
      .group;
    const group = { teamId, userGroupId: "client view", name: "client view", mapping: null };
    const expected = {
      audience: "demo/Testing",
      group: { ...group, properties: { region: ["eu"] }, apiEnvironmentTag: "Testing" },
      variables: { user_group_id: "client view", user_group_name: "client view", "user_group.region": ["eu"] },
    };
    expect(await viewer(token).view()).toEqual(expected);
    expect(await viewer(token).view({ maxAgeSeconds: 60 })).toEqual(expected);
  });

  it("bind values of the page, for SQL Server and ClickHouse too", async () => {
    const { group } = await groups.ensure({ userGroupId: "client values" });
    const client = viewer(group.token);
    const sql = "a = {{user_group_id}} [[AND b IN ({{value.list}})]] [[AND c = {{value.gone}}]]";
    const values = { list: [1, 2] };
    const numbered = await client.bindQuery({ sql, values, placeholders: "@p1" });
    const list: unknown[] = numbered.params;
    expect([numbered.sql, list]).toEqual(["a = @p1 AND b IN (@p2, @p3) ", ["client values", 1, 2]]);
    const named = await client.bindQuery({ sql, values, placeholders: "{p1:String}" });
    const object: Record<string, unknown> = named.params;
    expect(object).toEqual({ p1: "client values", p2: 1, p3: 2 });
    expect(named.dropped).toEqual(["value.gone"]);
  });

  it("bind SQL, and get the position of a template's error", async () => {
    const { group } = await groups.ensure({ userGroupId: "client bind" });
    const bindQuery = (sql: string, placeholders?: "?" | "$1" | "%s") =>
      viewer(group.token).bindQuery({ sql, placeholders });
    expect(await bindQuery("SELECT {{user_group_id}}")).toEqual({
      sql: "SELECT ?",
      params: ["client bind"],
      dropped: [],
    });
    expect((await bindQuery("SELECT 1 [[+ {{user_group.gone}}]]")).dropped).toEqual(["user_group.gone"]);
    expect((await bindQuery("SELECT {{user_group_id}}", "$1")).sql).toBe("SELECT $1");
    expect((await bindQuery("SELECT 5 % {{user_group_id}}", "%s")).sql).toBe("SELECT 5 %% %s");
    expect(await errorOf(bindQuery("SELECT {{region}}"))).toMatchObject({
      code: "unknown_variable",
      variable: "region",
    });
    expect(await errorOf(bindQuery("SELECT '{{region}}'"))).toMatchObject({
      code: "invalid_template",
      position: 8,
      reason: expect.stringContaining("string"),
    });
  });
});

describe("groups by number", () => {
  it("are got, changed, rotated and deleted, and never with a token", async () => {
    const { group } = await groups.ensure({ userGroupId: "client number", properties: { a: 1 } });
    const { teamId } = group;
    const got = await groups.get({ teamId });
    expect(got).toMatchObject({ teamId, userGroupId: "client number", properties: { a: 1 }, etag: group.etag });

    const change = { teamId, name: "New", properties: null, newUserGroupId: "client numbered" };
    const updated = await groups.updateByNumber({ ...change, ifMatch: got.etag });
    expect(updated).toMatchObject({ userGroupId: "client numbered", name: "New", properties: null });
    expect(await groups.updateByNumber(change)).toEqual(updated);
    const rotated = await groups.rotateTokenByNumber({ teamId, graceSeconds: 600, ifMatch: updated.etag });
    expect(await groups.get({ teamId })).toEqual(rotated);
    expect(JSON.stringify([got, updated, rotated])).not.toMatch(/ugt_/);
    expect((await viewer(group.token).view()).group.teamId).toBe(teamId);

    expect((await errorOf(groups.removeByNumber({ teamId, ifMatch: got.etag }))).code).toBe("revision_mismatch");
    const removed = await groups.removeByNumber({ teamId, ifMatch: rotated.etag });
    expect(removed).toMatchObject({ teamId, state: "deleted", purgeAt: expect.stringMatching(/Z$/) });
    expect((await errorOf(groups.removeByNumber({ teamId }))).code).toBe("user_group_not_found");
  });
});

describe("a group", () => {
  /** A client of a workspace of its own, with one group that has a mapping, properties and a token. */
  async function workspaceWithGroup(workspace: string) {
    const environment = { workspace, environment: "Testing" } as const;
    const { key: apiKey } = await operator.issueKey({ ...environment, name: "backend" });
    const client = new UserGroupClient({ url, apiKey });
    const { group } = await client.ensure({ userGroupId: "acme", mapping: { m: "d" }, properties: { deep: [1] } });
    return { client, group, teamId: group.teamId, asOperator: operator.inEnvironment(environment) };
  }

  /** The groups that exist as an export has them. */
  const exported = (client: EnvironmentClient) => Array.fromAsync(client.list());

  it("that is suspended refuses its viewers, and is the same when it resumes", async () => {
    const { client, group, teamId, asOperator } = await workspaceWithGroup("client-suspend");
    const before = await exported(client);

    const suspended = await client.suspend({ userGroupId: "acme", ifMatch: group.etag });
    expect(suspended).toEqual({ ...group, apiEnvironmentTag: "Testing", etag: `"${teamId}.2"` });
    expect(await errorOf(viewer(group.token).view())).toMatchObject({ code: "user_group_suspended", status: 403 });
    await client.resume({ userGroupId: "acme" });
    expect(await exported(client)).toEqual(before);

    await client.update({ userGroupId: "acme", suspended: true });
    expect(await asOperator.resumeByNumber({ teamId })).toMatchObject({ teamId, state: "active" });
    expect(await asOperator.suspendByNumber({ teamId })).toMatchObject({ teamId, state: "suspended" });
    await client.updateByNumber({ teamId, suspended: false });
    expect(await exported(client)).toEqual(before);
  });

  it("that is deleted and restored is the same, and is gone once it is purged", async () => {
    const { client, group, teamId } = await workspaceWithGroup("client-restore");
    const before = await exported(client);
    await client.remove({ currentToken: group.token });
    expect((await errorOf(client.get({ teamId }))).code).toBe("user_group_not_found");

    const deleted = await client.get({ teamId, state: "deleted" });
    expect(deleted).toMatchObject({ ...before[0], state: "deleted" });
    expect(Date.parse(deleted.purgeAt ?? "") - Date.parse(deleted.deletedAt ?? "")).toBe(30 * 24 * 60 * 60 * 1000);

    const restored = await client.restore({ teamId });
    expect(restored).toEqual({ ...before[0], etag: `"${teamId}.3"` });
    expect(await exported(client)).toEqual(before);
    await client.removeByNumber({ teamId });
    expect(await client.purge({ teamId })).toBeUndefined();
    expect(await exported(client)).toEqual([]);
  });
});

describe("whoami", () => {
  it("names an API key, a viewer, an operator and the bootstrap token", async () => {
    const { group } = await groups.ensure({ userGroupId: "client whoami", name: "Who" });
    const environment = { workspace: "demo", environment: "Testing", expiresAt: null };
    expect(await groups.whoami()).toMatchObject({ ...environment, kind: "api_key", name: "npm start" });
    expect((await groups.whoami()).scopes).toContain("tokens:read");
    expect(await viewer(group.token).whoami()).toEqual({
      ...environment,
      ...{ kind: "user_group_token", id: group.teamId, name: "Who" },
    });

    const { operator: issued, key: operatorKey } = await operator.issueOperator({ name: "who", role: "support" });
    const nobody = { kind: "operator", workspace: null, environment: null, expiresAt: null };
    const { id } = issued;
    expect(await new OperatorClient({ url, operatorKey }).whoami()).toEqual({
      ...nobody,
      id,
      name: "who",
      role: "support",
    });
    expect(await operator.whoami()).toEqual({ ...nobody, id: null, name: "bootstrap", role: "admin" });
  });
});

describe("operators", () => {
  it("are issued, listed, rolled with a grace and revoked", async () => {
    const input = { name: "client operator", role: "viewer", expiresInSeconds: 60 } as const;
    const { operator: issued, key: text } = await operator.issueOperator(input);
    expect(issued).toEqual({
      id: expect.any(Number),
      name: "client operator",
      role: "viewer",
      email: null,
      hasKey: true,
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      lastUsedAt: null,
      revokedAt: null,
    });
    const rolled = await operator.rollOperator({ id: issued.id, graceSeconds: 600 });
    expect(rolled.operator).toMatchObject({ name: "client operator", role: "viewer", expiresAt: issued.expiresAt });
    const old = new OperatorClient({ url, operatorKey: text });
    expect((await old.whoami()).id).toBe(issued.id);

    for (const { id } of [issued, rolled.operator, rolled.operator]) await operator.revokeOperator({ id });
    expect((await errorOf(old.whoami())).code).toBe("credential_revoked");
    const listed = await Array.fromAsync(operator.listOperators({ pageSize: 1 }));
    const ended = listed
      .filter(({ name }) => name === "client operator")
      .map((each) => [each.id, typeof each.revokedAt]);
    expect(ended).toEqual([issued, rolled.operator].map(({ id }) => [id, "string"]));
    expect((await errorOf(operator.rollOperator({ id: issued.id }))).code).toBe("operator_not_found");
  });

  it("have an email, and perhaps no key", async () => {
    const grace = { name: "client grace", role: "viewer", email: "Grace.Client@example.com" } as const;
    const { id, email, hasKey } = await operator.issueOperatorWithoutKey(grace);
    expect([email, hasKey]).toEqual(["grace.client@example.com", false]);
    expect((await errorOf(operator.issueOperator(grace))).code).toBe("email_taken");
    expect((await errorOf(operator.rollOperator({ id }))).code).toBe("operator_without_key");
    await operator.revokeOperator({ id });
    const { operator: issued, key } = await operator.issueOperator(grace);
    expect([issued.email, issued.hasKey, key.slice(0, 4)]).toEqual(["grace.client@example.com", true, "ugo_"]);
  });
});

describe("the operator", () => {
  it.for(["Customer", "Testing", null] as const)("issues, lists, rolls and revokes keys of %s", async (environment) => {
    const where = { workspace: "client", environment };
    const input = { ...where, name: "k", access: "read", expiresInSeconds: 60 } as const;
    const { apiKey, key: text } = await operator.issueKey(input);
    expect(apiKey).toEqual({
      ...where,
      ...{ id: 1, name: "k", access: "read", scopes: ["groups:read", "events:read"] },
      ...{ createdAt: expect.any(String), expiresAt: expect.any(String), lastUsedAt: null, revokedAt: null },
    });
    const reader = new UserGroupClient({ url, apiKey: text });
    expect(await errorOf(reader.update({ userGroupId: "x" }))).toMatchObject({
      code: "insufficient_access",
      requiredScope: "groups:write",
      requiredRole: undefined,
    });

    const rolled = await operator.rollKey({ ...where, id: 1, graceSeconds: 600 });
    expect(rolled.apiKey).toMatchObject({ id: 2, access: "read" });
    await operator.revokeKey({ ...where, id: 2 });
    await operator.revokeKey({ ...where, id: 2 });
    const listed = await Array.fromAsync(operator.listKeys({ ...where, pageSize: 1 }));
    expect(listed.map(({ id, revokedAt }) => [id, typeof revokedAt])).toEqual([
      [1, "string"],
      [2, "string"],
    ]);
    expect((await errorOf(operator.rollKey({ ...where, id: 2 }))).code).toBe("api_key_not_found");
  });
});

it("has every issue of a refused call, and its request id", async () => {
  const error = await errorOf(groups.ensure({ userGroupId: "", name: "\n" }));
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: "UserGroupServiceError",
    code: "invalid_body",
    status: 422,
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
    message: expect.stringMatching(/ user_group_id: Give a string .* name: Leave out control characters/),
    issues: [
      { path: ["user_group_id"], message: expect.any(String) },
      { path: ["name"], message: expect.any(String) },
    ],
  });
});

it("is refused with a credential of another kind", async () => {
  const { group } = await groups.ensure({ userGroupId: "client kinds" });
  const confused = new UserGroupClient({ url, apiKey: group.token ?? "" });
  expect(await errorOf(confused.ensure({ userGroupId: "x" }))).toMatchObject({ code: "unauthenticated", status: 401 });
  expect((await errorOf(viewer(key).view())).code).toBe("unauthenticated");
  const asOperator = new OperatorClient({ url, operatorKey: key });
  expect((await errorOf(asOperator.keyPage({ workspace: "client", environment: null }))).code).toBe("unauthenticated");
});

/** Calls that must compile, or must not. Never run. */
function typeChecks(): void {
  interface Clock {
    now(): number;
  }
  const clock: Clock = { now: () => 0 };
  interface Plan {
    readonly seats: readonly number[];
    trial?: boolean | undefined;
  }
  interface Account {
    region: string;
    plan: Plan;
  }
  const account: Account = { region: "eu", plan: { seats: [1, 2], trial: undefined } };
  void groups.ensure({ userGroupId: "x", properties: account });
  void groups.update({ userGroupId: "x", properties: account.plan });
  const record: JsonObject = { a: [1, { b: null }] };
  void groups.ensure({ userGroupId: "x", properties: record });
  void groups.ensure({ userGroupId: "x", properties: null });
  void groups.ensure({ userGroupId: "x" });
  const input: EnsureInput = { userGroupId: "x", properties: { nested: { list: ["a", 1, true, null] } } };
  void groups.ensure(input);
  // @ts-expect-error A date is not a JSON value.
  void groups.ensure({ userGroupId: "x", properties: { at: new Date() } });
  // @ts-expect-error A date is not a JSON value at any depth.
  void groups.update({ userGroupId: "x", properties: { list: [{ at: new Date() }] } });
  // @ts-expect-error A function is not a JSON value.
  void groups.ensure({ userGroupId: "x", properties: clock });
  // @ts-expect-error A big integer is not a JSON value.
  void groups.ensure({ userGroupId: "x", properties: { count: 1n } });
  // @ts-expect-error Properties are an object, not a list.
  void groups.ensure({ userGroupId: "x", properties: [1] });
  // @ts-expect-error Properties are an object, not a map.
  void groups.ensure({ userGroupId: "x", properties: new Map([["a", 1]]) });
}

it("has types that match the results", () => {
  expectTypeOf(typeChecks).returns.toBeVoid();
  expectTypeOf<Failure["code"]>().toExtend<RefusalCode>();
  type Own = "network_error" | "timeout" | "unexpected_answer" | "signed_out" | "service_unavailable";
  expectTypeOf<RefusalCode | Own>().toEqualTypeOf<ErrorCode>();
  expectTypeOf(groups.ensure).returns.resolves.toHaveProperty("created").toEqualTypeOf<boolean>();
  expectTypeOf<UpdatedGroup["properties"]>().toEqualTypeOf<JsonObject | null>();
  expectTypeOf(groups.rotateToken).returns.resolves.not.toHaveProperty("properties");
  expectTypeOf(groups.remove).returns.resolves.toEqualTypeOf<void>();
  expectTypeOf(groups.list).returns.toExtend<AsyncIterable<{ createdAt: string; userGroupId: string }>>();
  expectTypeOf<Awaited<ReturnType<ViewerClient["bindQuery"]>>>().toEqualTypeOf<{
    sql: string;
    params: JsonValue[];
    dropped: string[];
  }>();
  expectTypeOf<UserGroupClient>().toExtend<EnvironmentClient>();
  expectTypeOf(operator.inEnvironment).returns.toEqualTypeOf<EnvironmentClient>();
  expectTypeOf(groups.updateByNumber).returns.resolves.not.toHaveProperty("token");
  expectTypeOf(operator.issueKey).returns.resolves.toHaveProperty("key").toEqualTypeOf<string>();
  expectTypeOf<EnsuredGroup["token"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf(groups.rotateToken).returns.resolves.toHaveProperty("token").toEqualTypeOf<string>();
});
