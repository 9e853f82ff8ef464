import { describe, expect, it } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { newIntegrator } from "../../../support/states.ts";

describe("GET /api/user", () => {
  it("creates a group on an unknown id and shows it, unchanged, on a known one", async () => {
    const { get } = await newIntegrator();
    const fields = { name: "Acme Inc.", mapping: { main: "warehouse-7" }, properties: { region: "eu", tier: 2 } };

    const created = await get({ user_group_id: "acme", ...fields });
    const found = await get({ user_group_id: "acme", name: "Other", mapping: {}, properties: { other: true } });

    expect(created.status).toBe(200);
    expect(created.body).toEqual({
      success: 1,
      new_user_group: true,
      user_group: {
        team_id: 1,
        token: expect.stringMatching(/^ugt_testing_[\w-]+$/),
        name: "Acme Inc.",
        provided_id: "acme",
        properties: { region: "eu", tier: 2 },
      },
    });
    expect(found.status).toBe(200);
    expect(found.body).toEqual({ ...created.body, new_user_group: false });
  });

  it("uses the id as the name, and null properties, by default", async () => {
    const { get } = await newIntegrator();
    const { body } = await get({ user_group_id: "acme" });
    expect(body.user_group).toMatchObject({ name: "acme", provided_id: "acme", properties: null });
  });

  it("separates groups with one id in different environments and workspaces", async () => {
    const integrators = await Promise.all([
      newIntegrator({ environment: "Testing" }),
      newIntegrator({ environment: "Customer" }),
      newIntegrator({ environment: null }),
      newIntegrator({ workspace: "other" }),
    ]);
    const tokens = await Promise.all(integrators.map(({ tokenOf }) => tokenOf("acme")));
    expect(new Set(tokens).size).toBe(4);
    expect(tokens.map((token) => token.split("_")[1])).toEqual(["testing", "customer", "untagged", "testing"]);
  });
});

describe("POST /api/user_groups", () => {
  const newCreator = async (keyFields: object = {}) => {
    const integrator = await newIntegrator(keyFields);
    const create = (body: object, query = "") =>
      call("POST", `/api/user_groups${query}`, { credential: integrator.key, body });
    return { ...integrator, create };
  };
  const FIELDS = { user_group_id: "acme", name: "Acme Inc.", mapping: { main: "w" }, properties: { region: "eu" } };

  it("answers 201 to a new group, then 200, both exactly as GET does", async () => {
    const { create, get } = await newCreator();

    const created = await create(FIELDS);
    const found = await create({ user_group_id: "acme", name: "ignored" });
    const shown = await get({ user_group_id: "acme" });

    expect([created.status, found.status]).toEqual([201, 200]);
    expect(created.body).toEqual({ ...shown.body, new_user_group: true });
    expect(found.body).toEqual(shown.body);
    expect([created, found, shown].map(({ headers }) => headers.get("ETag"))).toEqual(['"1.1"', '"1.1"', '"1.1"']);
  });

  it("creates nothing for a key without groups:write, and shows none the token", async () => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const { create } = await newCreator({ access: "read" });
    expect(codeOf(await create({ user_group_id: "globex" }))).toEqual([404, "user_group_not_found"]);
    const { status, body } = await create({ user_group_id: "acme" });
    expect([status, Object.keys(body.user_group)]).toEqual([200, ["team_id", "name", "provided_id", "properties"]]);
    const { create: createAsWriter } = await newCreator({ scopes: ["groups:read", "groups:write"] });
    expect((await createAsWriter({ user_group_id: "globex" })).body.user_group).not.toHaveProperty("token");
  });
});

describe("PUT /api/user", () => {
  it("changes only the fields given, and shows the group with its tag", async () => {
    const { get, put } = await newIntegrator();
    const { token } = (await get({ user_group_id: "acme", properties: { tier: 1 } })).body.user_group;

    const updated = await put({ user_group_id: "acme", name: "Acme Inc." });

    expect(updated.status).toBe(200);
    expect(updated.body).toEqual({
      success: 1,
      user_group: {
        team_id: 1,
        token,
        name: "Acme Inc.",
        provided_id: "acme",
        properties: { tier: 1 },
        api_environment_tag: "Testing",
      },
    });
  });

  it("shows api_environment_tag null in the environment without a tag", async () => {
    const { put, tokenOf } = await newIntegrator({ environment: null });
    await tokenOf("acme");
    expect((await put({ user_group_id: "acme", name: "x" })).body.user_group.api_environment_tag).toBeNull();
  });

  it.for([
    ["any state", "*", 200],
    ["one of a list", '"no", "1.1"', 200],
    ["a weak tag as the strong one, since proxies weaken tags", 'W/"1.1"', 200],
    ["the tag that Apache makes of it, which names the encoding", '"1.1-gzip"', 200],
    ["a weak tag that names an encoding", 'W/"1.1-br"', 200],
    ["one of a list with encodings", '"0.0-zstd", "1.1-deflate", "no"', 200],
    ["the tag that Jetty makes of it", '"1.1--gzip"', 200],
    ["another tag with an encoding", '"1.2-gzip"', 412],
    ["a suffix that is no encoding", '"1.1-zip"', 412],
    ["an encoding outside of the quotes", '"1.1"-gzip', 422],
    ["a list with empty elements", ', "no",,W/"1.1" ,', 200],
    ["a tag with a comma in it", '"1.1,1"', 412],
    ["a bare number, with advice", "1.1", 422],
    ["half a tag", '"1.1', 422],
    ["a tag and something else", '"1.1" 1', 422],
    ["another group's ETag", '"2.1"', 412],
    ["nothing", "", 422],
  ] as const)("takes with If-Match %s", async ([, ifMatch, status]) => {
    const { put, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const answer = await put({ user_group_id: "acme", name: "x" }, { headers: { "If-Match": ifMatch } });
    expect(answer.status).toBe(status);
  });
});

describe("POST /api/user", () => {
  it("replaces the current token, and returns the group without properties", async () => {
    const { get, rotate } = await newIntegrator();
    const before = (await get({ user_group_id: "acme", name: "Acme", properties: { a: 1 } })).body.user_group;

    const rotated = await rotate(before.token);

    expect(rotated.status).toBe(200);
    expect(rotated.body).toEqual({
      success: 1,
      user_group: {
        team_id: 1,
        token: expect.stringMatching(/^ugt_testing_/),
        name: "Acme",
        provided_id: "acme",
        api_environment_tag: "Testing",
      },
    });
    expect(rotated.body.user_group.token).not.toBe(before.token);
    expect((await get({ user_group_id: "acme" })).body.user_group.token).toBe(rotated.body.user_group.token);
  });

  it("gives the same answer to every token of another environment", async () => {
    const { rotate, remove, tokenOf, key } = await newIntegrator();
    const deleted = await tokenOf("deleted");
    await remove(deleted);
    const current = await tokenOf("acme");
    // With the team id of the current token, so that only the environment differs.
    const elsewhere = [{ environment: "Customer" }, { environment: null }, { workspace: "other" }].map(
      async (fields) => {
        const { tokenOf: tokenThere } = await newIntegrator(fields);
        await tokenThere("first");
        return tokenThere("acme");
      },
    );
    const forged = `${current.slice(0, -1)}${current.endsWith("A") ? "E" : "A"}`;

    const wrong = [deleted, ...(await Promise.all(elsewhere)), forged, key, "never a token"];
    const answers = await Promise.all(wrong.flatMap((token) => [rotate(token), remove(token)]));

    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect({ ...body, request_id: "" }).toEqual({ ...answers[0]?.body, request_id: "" });
      expect(body.error.code).toBe("user_group_not_found");
    }
  });
});

describe("DELETE /api/user", () => {
  it.for([
    ["the group's own id", { user_group_id: "acme" }],
    ["a data source of its mapping", { data_source_provided_id: "warehouse-7" }],
    ["both", { user_group_id: "acme", data_source_provided_id: "warehouse-7" }],
    ["another id", { user_group_id: "other" }, "user_group_id"],
    ["a data source that is not in its mapping", { data_source_provided_id: "w-8" }, "data_source_provided_id"],
    ["a schema id in place of a data source", { data_source_provided_id: "main" }, "data_source_provided_id"],
    ["one right and one wrong", { user_group_id: "acme", data_source_provided_id: "x" }, "data_source_provided_id"],
  ] as const)("guarded by %s", async ([, guards, guard]) => {
    const { get, remove, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme", { mapping: { main: "warehouse-7" } });

    const { status, body } = await remove(token, guards);

    expect([status, body.error?.code, body.error?.guard]).toEqual(
      guard ? [409, "user_group_mismatch", guard] : [200, undefined, undefined],
    );
    expect(body.error?.message ?? "").toContain(guard ?? "");
    expect((await get({ user_group_id: "acme" })).body.new_user_group).toBe(guard === undefined);
  });
});
