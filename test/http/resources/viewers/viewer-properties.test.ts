import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { claimsIn, mint, sessionOf } from "../../../support/sessions.ts";
import { newIntegrator } from "../../../support/states.ts";
import { query, view } from "../../../support/viewers.ts";

/** An integrator whose group acme has a region, and the group's token. */
async function newGroup() {
  const { key, tokenOf } = await newIntegrator();
  const token = await tokenOf("acme", { properties: { region: "eu", store: "all" } });
  return { key, token };
}

describe("viewer_properties of a session", () => {
  it("are variables of their own, beside those of the group, and a claim", async () => {
    const { key } = await newGroup();
    const properties = { store: 7, regions: ["eu", "us"], deep: { a: [1.5, null] } };
    const session = await sessionOf(key, { viewer_id: "ann", viewer_properties: properties, include_variables: true });
    const variables = {
      user_group_id: "acme",
      user_group_name: "acme",
      "user_group.region": "eu",
      "user_group.store": "all",
      viewer_id: "ann",
      "viewer.store": 7,
      "viewer.regions": ["eu", "us"],
      "viewer.deep": { a: [1.5, null] },
    };
    expect((await view(session)).body.variables).toEqual(variables);
    expect(claimsIn(session)).toMatchObject({ viewer_properties: properties, variables });
    const { body } = await query(session, { sql: "s = {{viewer.store}} AND r IN ({{viewer.regions}})" });
    expect(body).toMatchObject({ sql: "s = ? AND r IN (?, ?)", params: [7, "eu", "us"] });
  });

  it("keep hostile keys as they are", async () => {
    const { key } = await newGroup();
    const json =
      '{"__proto__":{"admin":true},"constructor":1,"":"empty","viewer_id":"mallory","a.b":2,"\u202e":3," x ":4}';
    const body = `{"user_group_id":"acme","viewer_properties":${json}}`;
    const session = (await mintText(key, body)).body.session.token;
    const { variables } = (await view(session)).body;
    expect(Object.keys(variables).filter((name) => name.startsWith("viewer"))).toEqual(
      ["__proto__", "constructor", "", "viewer_id", "a.b", "\u202e", " x "].map((name) => `viewer.${name}`),
    );
    expect(variables["viewer.__proto__"]).toEqual({ admin: true });
    expect(variables.admin).toBeUndefined();
    expect(JSON.stringify(claimsIn(session).viewer_properties)).toBe(json);
  });

  it.for([
    ["null", "null"],
    ["a list", "[1]"],
    ["a text", '"x"'],
    ["2,049 bytes", JSON.stringify({ a: "x".repeat(2041) })],
    ["33 levels", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`],
    ["a number that cannot be kept", '{"n":12345678901234567890}'],
    ["a key twice", '{"a":1,"a":2}'],
    ["half a character", '{"a":"\\ud800"}'],
  ] as const)("are refused as %s, and no session is minted", async ([, json]) => {
    const { key } = await newGroup();
    const answer = await mintText(key, `{"user_group_id":"acme","viewer_properties":${json}}`);
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(answer.body.error.issues[0].path[0]).toBe("viewer_properties");
  });

  it("may have 2,048 bytes and 32 levels", async () => {
    const { key } = await newGroup();
    expect((await mint(key, { viewer_properties: { a: "x".repeat(2040) } })).status).toBe(201);
    expect(
      (await mintText(key, `{"user_group_id":"acme","viewer_properties":${`{"a":`.repeat(32)}1${"}".repeat(32)}}`))
        .status,
    ).toBe(201);
  });

  it("make no session of more than 8,000 characters", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme", { properties: { text: "x".repeat(3900) } });
    const fields = { include_variables: true, viewer_properties: { a: "y".repeat(20) } };
    expect((await mint(key, fields)).status).toBe(201);
    const many = { ...fields, viewer_properties: { a: "y".repeat(2000) } };
    expect(codeOf(await mint(key, many))).toEqual([422, "variables_too_large"]);
    const host = ["o", "p", "q"].map((letter) => letter.repeat(60)).join(".");
    const origins = Array.from({ length: 10 }, (_, n) => `https://${n}.${host}.example.com`);
    expect(codeOf(await mint(key, { ...fields, origins }))).toEqual([422, "variables_too_large"]);
  });
});

/** Mints with a body as it is written. */
const mintText = (key: string, body: string) => {
  return call("POST", "/api/viewer_sessions", {
    credential: key,
    body,
    headers: { "Content-Type": "application/json" },
    env,
  });
};

describe("a clause that names the viewer", () => {
  const MISSING = [
    ["[[AND s = {{viewer.store}}]]", "viewer.store"],
    ["[[AND s = {{ viewer.store }}]]", "viewer.store"],
    ["[[AND v = {{viewer_id}}]]", "viewer_id"],
    ["[[AND v = {{viewer_id}} AND s = {{viewer.store}}]]", "viewer_id"],
    // A property of the group that is missing would drop the viewer's filter with its own.
    ["[[AND t = {{user_group.tier}} AND r = {{user_group.region}} AND v = {{viewer_id}}]]", "user_group.tier"],
  ] as const;

  it.for(MISSING)("is never dropped: %s", async ([clause, variable]) => {
    const { key, token } = await newGroup();
    const plain = await sessionOf(key);
    const other = await sessionOf(key, { viewer_properties: { shop: 1 } });
    for (const credential of [token, plain, other]) {
      const { status, body } = await query(credential, { sql: `SELECT 1 WHERE TRUE ${clause}` });
      expect([status, body.error?.code, body.error?.variable]).toEqual([422, "unknown_variable", variable]);
    }
  });

  it("is kept where the session has it, and drops nothing beside it", async () => {
    const { key } = await newGroup();
    const session = await sessionOf(key, { viewer_id: "ann", viewer_properties: { store: 7 } });
    const sql = "1 [[AND s = {{viewer.store}}]] [[AND v = {{viewer_id}}]] [[AND t = {{user_group.tier}}]]";
    expect((await query(session, { sql })).body).toEqual({
      success: 1,
      audience: "acme/Testing",
      sql: "1 AND s = ? AND v = ? ",
      params: [7, "ann"],
      dropped: ["user_group.tier"],
    });
    const mixed = await query(session, { sql: "1 [[AND t = {{user_group.tier}} AND s = {{viewer.store}}]]" });
    expect(codeOf(mixed)).toEqual([422, "unknown_variable"]);
  });

  it.for([
    ["an empty list", { store: [] }],
    ["an object", { store: {} }],
  ] as const)("is refused for %s, and not dropped", async ([, properties]) => {
    const { key } = await newGroup();
    const session = await sessionOf(key, { viewer_properties: properties });
    const { body } = await query(session, { sql: "1 [[AND s IN ({{viewer.store}})]]" });
    expect(body.error).toMatchObject({ code: "unusable_variable", variable: "viewer.store" });
  });

  it("binds null as it is, which compares as false", async () => {
    const { key } = await newGroup();
    const session = await sessionOf(key, { viewer_properties: { store: null } });
    expect((await query(session, { sql: "1 [[AND s = {{viewer.store}}]]" })).body).toMatchObject({ params: [null] });
  });

  it.for(["{{viewer}}", "{{viewer_ids}}", "{{Viewer_id}}", "{{VIEWER.store}}", "{{viewers.store}}"])(
    "is refused for a name that nobody has: %s",
    async (variable) => {
      const { key } = await newGroup();
      const session = await sessionOf(key, { viewer_id: "ann", viewer_properties: { store: 7 } });
      expect(codeOf(await query(session, { sql: `1 [[AND s = ${variable}]]` }))).toEqual([422, "unknown_variable"]);
    },
  );
});
