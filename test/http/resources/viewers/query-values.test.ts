import { describe, expect, it } from "vitest";
import { sessionOf } from "../../../support/sessions.ts";
import { newIntegrator } from "../../../support/states.ts";
import { query } from "../../../support/viewers.ts";

/** The values that a page gives for a template. */

const tokenOf = async () =>
  (await newIntegrator()).tokenOf("acme", { properties: { region: "eu", rate: 2, "value.from": "group's" } });

const PERIOD =
  "SELECT 1 [[AND at >= {{value.from}}]] [[AND at < {{ value.to }}]] [[AND currency IN ({{value.currencies}})]]";

/** Values whose JSON has so many bytes. */
const valuesOf = (bytes: number) => {
  const values = { a: "é", b: "" };
  values.b = "x".repeat(bytes - new TextEncoder().encode(JSON.stringify(values)).length);
  return values;
};

describe("values of a query", () => {
  it.for([
    [
      { from: "2026-10-01", to: "2026-11-01", currencies: ["EUR", "USD"] },
      "SELECT 1 AND at >= ? AND at < ? AND currency IN (?, ?)",
      ["2026-10-01", "2026-11-01", "EUR", "USD"],
      [],
    ],
    [{ to: "2026-11-01" }, "SELECT 1  AND at < ? ", ["2026-11-01"], ["value.from", "value.currencies"]],
    [{ currencies: [], from: null }, "SELECT 1 AND at >= ?  ", [null], ["value.to", "value.currencies"]],
    [{}, "SELECT 1   ", [], ["value.from", "value.to", "value.currencies"]],
    [
      { from: 0, to: false, currencies: [1.5, -7] },
      "SELECT 1 AND at >= ? AND at < ? AND currency IN (?, ?)",
      [0, false, 1.5, -7],
      [],
    ],
    [
      { from: "' OR true --\u2028\u0001", unused: 1 },
      "SELECT 1 AND at >= ?  ",
      ["' OR true --\u2028\u0001"],
      ["value.to", "value.currencies"],
    ],
  ] as const)(
    "are parameters, and drop their clause where they are missing: %j",
    async ([values, sql, params, dropped]) => {
      const { status, body } = await query(await tokenOf(), { sql: PERIOD, values });
      expect(status).toBe(200);
      expect(body).toEqual({ success: 1, audience: "acme/Testing", sql, params, dropped });
    },
  );

  it("are bound for SQL Server in a list, and for ClickHouse in an object", async () => {
    const token = await tokenOf();
    const sql = "{{value.a}} = {{user_group.region}} AND {{value.b}} = {{value.a}}";
    const values = { a: "x", b: 5 };
    expect((await query(token, { sql, values, placeholders: "@p1" })).body).toMatchObject({
      sql: "@p1 = @p2 AND @p3 = @p1",
      params: ["x", "eu", 5],
    });
    expect((await query(token, { sql, values, placeholders: "{p1:String}" })).body).toMatchObject({
      sql: "{p1:String} = {p2:String} AND {p3:Int64} = {p1:String}",
      params: { p1: "x", p2: "eu", p3: 5 },
    });
  });

  it.for([
    ["a missing one", "x = {{value.from}}", {}, "value.from"],
    ["an empty list", "x IN ({{value.list}})", { list: [] }, "value.list"],
    ["a name that no value can have", "1 = 1 [[AND x = {{value.From}}]]", {}, "value.From"],
    ["a name without a name", "1 = 1 [[AND x = {{value.}}]]", {}, "value."],
    ["a name with 41 characters", `1 = 1 [[AND x = {{value.${"a".repeat(41)}}}]]`, {}, `value.${"a".repeat(41)}`],
    ["its own name alone", "x = {{from}}", { from: 1 }, "from"],
    ["a variable of the group", "x = {{user_group.tier}}", { tier: 1 }, "user_group.tier"],
    ["a variable of the viewer", "1 = 1 [[AND x = {{viewer_id}}]]", { viewer_id: "ada" }, "viewer_id"],
    ["a property of the prototype", "x = {{value.constructor}}", {}, "value.constructor"],
    [
      "a property of the group whose name is like one",
      "x = {{value.from}} AND y = {{user_group.value.from}}",
      {},
      "value.from",
    ],
  ] as const)("do not stand for %s", async ([, sql, values, variable]) => {
    expect(await query(await tokenOf(), { sql, values })).toMatchObject({
      status: 422,
      body: { error: { code: "unknown_variable", variable } },
    });
  });

  it.for([
    "1 = 1 [[AND region = {{user_group.region}} AND at >= {{value.from}}]]",
    "1 = 1 [[AND seller = {{viewer_id}} AND at >= {{value.from}}]]",
    "1 = 1 [[AND at >= {{value.from}} AND customer = {{user_group_id}} AND b IN ({{value.list}})]]",
  ])("that are missing drop no filter of the group or viewer: %s", async (sql) => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme", { properties: { region: "eu" } });
    const token = await sessionOf(key, { user_group_id: "acme", viewer_id: "ada" });
    for (const values of [{}, { list: [1] }, { list: [] }]) {
      expect(await query(token, { sql, values })).toMatchObject({
        status: 422,
        body: { error: { code: "unknown_variable", variable: "value.from" } },
      });
    }
    expect((await query(token, { sql, values: { from: 1, list: [1] } })).status).toBe(200);
  });

  it("may be missing in a clause that a missing property drops", async () => {
    const sql = "1 [[AND x = {{user_group.gone}} AND y = {{value.from}}]]";
    expect((await query(await tokenOf(), { sql })).body).toMatchObject({
      sql: "1 ",
      dropped: ["user_group.gone", "value.from"],
    });
  });

  const names = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`v${index}`, index]));
  it.for([
    ["50 names", names(50)],
    ["a name of 40 characters", { ["a".repeat(40)]: 1 }],
    ["a list of 100 items", { a: Array(100).fill("x") }],
    ["16 KiB of JSON in UTF-8", valuesOf(16 * 1024)],
    ["the largest number", { a: Number.MAX_VALUE, b: Number.MIN_VALUE, c: 2 ** 53 - 1 }],
    ["typed lists", { a: ["", "x"], b: [1, 2.5], c: [true, false], d: [] }],
  ] as const)("may be %s", async ([, values]) => {
    expect((await query(await tokenOf(), { sql: "1", values })).status).toBe(200);
  });

  it.for([
    ["51 names", names(51), []],
    ["a name of 41 characters", { ["a".repeat(41)]: 1 }, ["a".repeat(41)]],
    ["a list of 101 items", { a: Array(101).fill("x") }, ["a"]],
    ["a byte more than 16 KiB", valuesOf(16 * 1024 + 1), []],
    ["a capital letter", { From: 1 }, ["From"]],
    ["a digit first", { "1a": 1 }, ["1a"]],
    ["an empty name", { "": 1 }, [""]],
    ["the name of another kind of variable", { "user_group.region": "us" }, ["user_group.region"]],
    ["the prototype", JSON.parse('{"__proto__": 1}'), ["__proto__"]],
    ["an object", { a: {} }, ["a"]],
    ["a list of lists", { a: [[1]] }, ["a"]],
    ["a list with null", { a: [null] }, ["a"]],
    ["a list of two types", { a: ["1", 1] }, ["a"]],
    ["a list", [1], []],
    ["null", null, []],
    ["a text", "from", []],
  ] as const)("may not be %s", async ([, values, path]) => {
    const { status, body } = await query(await tokenOf(), { sql: "1", values });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: "invalid_body", issues: [{ path: ["values", ...path] }] });
  });

  it.for([
    ["U+0000", '"a\\u0000"', 422],
    ["half a character", '"\\ud800"', 422],
    ["a number that no double is", "9007199254740993", 422],
    ["a number that is too large", "1e999", 422],
    ["a number that is too small", "1e-999", 422],
    ["minus zero", "-0", 422],
    ["the same name twice", '1,"a":2', 422],
    ["no number", "NaN", 400],
    ["infinity", "Infinity", 400],
  ] as const)("are not changed in silence: %s", async ([, json, status]) => {
    const answer = await query(await tokenOf(), `{"sql":"{{value.a}}","values":{"a":${json}}}`);
    expect(answer.status).toBe(status);
  });

  it("show each mistake, but no more than an answer takes", async () => {
    const values = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`V${index}${"x".repeat(280)}`, {}]));
    const { status, body } = await query(await tokenOf(), { sql: "1", values });
    expect(status).toBe(422);
    expect(body.error.issues).toHaveLength(50);
  });
});
