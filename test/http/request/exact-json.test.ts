import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { parseExact } from "../../../common/exact-json.ts";
import { call, codeOf } from "../../support/client.ts";
import { sessionOf } from "../../support/sessions.ts";
import { newIntegrator } from "../../support/states.ts";
import { inDirectory } from "../../support/storage.ts";
import { view } from "../../support/viewers.ts";

/** The decimal value of a JSON number as a fraction of integers, computed in the simplest way. */
function fractionOf(number: string): [bigint, bigint] {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", decimals = ""] = mantissa.split(".");
  const power = Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  return power >= 0 ? [digits * 10n ** BigInt(power), 1n] : [digits, 10n ** BigInt(-power)];
}

function isSameDecimal(one: string, other: string): boolean {
  const [a, b] = fractionOf(one);
  const [c, d] = fractionOf(other);
  return a * d === c * b;
}

const find = (text: string) => parseExact(text).issues;

describe("parseExact", () => {
  it("finds the same in any formatting of the JSON text", () => {
    const strings = fc.string({ unit: "binary" }).map((text) => `${text}\ud800`);
    const nested = fc.nat({ max: 80 }).map((depth) => `${"[".repeat(depth)}1${"]".repeat(depth)}`);
    const values = fc.oneof(
      fc.jsonValue({ maxDepth: 6 }),
      fc.record({ a: strings }),
      nested.map((text) => JSON.parse(text)),
    );
    fc.assert(
      fc.property(values, (value) => {
        // Only the positions differ.
        const faults = (text: string) =>
          find(text).map(({ path, message }) => [path, message.replace(/ It is at .*/, "")]);
        expect(faults(JSON.stringify(value, null, 1))).toEqual(faults(JSON.stringify(value)));
      }),
    );
    expect(find(`${"[".repeat(30_000)}${"]".repeat(30_000)}`)).toHaveLength(1);
  });

  it("finds nothing in what JSON.stringify prints", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        fc.pre(JSON.stringify(value).isWellFormed() && !JSON.stringify(value).includes("\\u0000"));
        expect(find(JSON.stringify(value))).toEqual([]);
        expect(find(JSON.stringify(value, null, 2))).toEqual([]);
      }),
    );
  });

  it("finds a number exactly when printing it again gives another decimal value", () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,24})$/);
    const decimals = fc.option(fc.stringMatching(/^\d{1,24}$/), { nil: undefined });
    const exponents = fc.option(fc.integer({ min: -330, max: 330 }), { nil: undefined });
    fc.assert(
      fc.property(fc.boolean(), digits, decimals, exponents, (negative, whole, fraction, exponent) => {
        const number = `${negative ? "-" : ""}${whole}${fraction === undefined ? "" : `.${fraction}`}${exponent === undefined ? "" : `e${exponent}`}`;
        const printed = String(Number(number));
        const losesSign = negative && printed === "0";
        const isKept = Number.isFinite(Number(number)) && isSameDecimal(number, printed) && !losesSign;
        expect(find(`[${number}]`)).toHaveLength(isKept ? 0 : 1);
      }),
      { numRuns: 2000 },
    );
  });

  it("names the place of what it finds", () => {
    const places = (text: string) => find(text).map(({ path }) => path);
    expect(places('{"a":[true,{"b":"x"},{"c":[1e999]}]}')).toEqual([["a", 2, "c", 0]]);
    expect(places('{"a":{"x":1},"b":{"x":1,"y":{"x":1},"x":2}}')).toEqual([["b", "x"]]);
    expect(places('{"\\"}{":"[,:","e":"\\ud800"}')).toEqual([["e"]]);
    expect(places("[[],{},[[1e999]]]")).toEqual([[2, 0, 0]]);
  });
});

describe("what is expensive to read", () => {
  it("is read up to the last issue that an answer has", () => {
    const text = `{${Array(9000).fill('"a":1').join(",")}}`;
    const parse = vi.spyOn(JSON, "parse");
    const { issues } = parseExact(text);
    // The first call parses the whole text.
    const keys = parse.mock.calls.length - 1;
    parse.mockRestore();
    expect(issues).toHaveLength(100);
    expect(keys).toBeLessThanOrEqual(101);
  });

  it.for([
    ["above every double", `1e${"9".repeat(60_000)}`, 1],
    ["below every double", `1e-${"9".repeat(60_000)}`, 1],
    ["of zero", `0.0E${"9".repeat(60_000)}`, 0],
  ] as const)("is no long exponent: %s", ([, number, count]) => {
    const convert = vi.spyOn(globalThis, "BigInt");
    const issues = find(`[${number}]`);
    const converted = convert.mock.calls.filter(([text]) => String(text).length > 1000);
    convert.mockRestore();
    expect(issues).toHaveLength(count);
    expect(converted).toEqual([]);
  });
});

describe("a body that nests too deep", () => {
  it.for([
    ["valid JSON", `{"properties":{"a":${"[".repeat(100)}1${"]".repeat(100)}}}`, [422, "invalid_body"]],
    ["brackets without an end", `{"properties":{"a":${"[".repeat(60_000)}`, [422, "invalid_body"]],
    ["a line break after a backslash", `{"a":["\\\n",${"[".repeat(1000)}`, [422, "invalid_body"]],
    ["objects without an end", `{"a":`.repeat(10_000), [422, "invalid_body"]],
    ["no object", "[".repeat(65_000), [400, "malformed_json"]],
    ["a string of brackets that does not end", `{"a":"${"[".repeat(1000)}`, [400, "malformed_json"]],
  ] as const)("is refused without parsing it: %s", async ([, body, refusal]) => {
    const { get } = await newIntegrator();
    const parse = vi.spyOn(JSON, "parse");
    const answer = await get(body);
    const parsed = parse.mock.calls.filter(([text]) => text === body);
    parse.mockRestore();
    expect(codeOf(answer)).toEqual(refusal);
    expect(parsed).toHaveLength(body.includes('"[') ? 1 : 0);
    if (refusal[0] === 422)
      expect(answer.body.error.issues).toMatchObject([
        { path: expect.arrayContaining(["a"]), message: expect.stringMatching(/^Nest at most 64 levels/) },
      ]);
  });

  it("counts no bracket in a string", async () => {
    const { get } = await newIntegrator();
    expect((await get({ user_group_id: "acme", name: `\\"${"[{".repeat(100)}` })).status).toBe(200);
  });
});

describe("the character U+0000, which no jsonb of PostgreSQL holds", () => {
  it.for([
    ["GET", "/api/user", { user_group_id: "acme", properties: { a: ["b\0"] } }, ["properties", "a", 0]],
    ["GET", "/api/user", { user_group_id: "acme", properties: { "a\0": 1 } }, ["properties", "a\0"]],
    ["PUT", "/api/user", { user_group_id: "acme", mapping: { a: "\0" } }, ["mapping", "a"]],
    [
      "POST",
      "/api/viewer_sessions",
      { user_group_id: "acme", viewer_properties: { a: "\0" } },
      ["viewer_properties", "a"],
    ],
    ["POST", "/api/viewer_sessions", { user_group_id: "acme", viewer_id: "\0" }, ["viewer_id"]],
  ] as const)("is refused in a body: %s %s %o", async ([method, path, body, where]) => {
    const { key, get } = await newIntegrator();
    await get({ user_group_id: "acme" });
    const answer = await call(method, path, { credential: key, body });
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(answer.body.error.issues).toContainEqual({ path: where, message: expect.stringContaining("U+0000") });
    expect((await get({ user_group_id: "acme" })).body.user_group.properties).toBeNull();
  });

  it("is a text like any other where its escape is escaped", async () => {
    const { get } = await newIntegrator();
    const properties = { a: "\\u0000" };
    expect((await get({ user_group_id: "acme", properties })).body.user_group.properties).toEqual(properties);
  });

  it("stays, and is shown, where an earlier release has stored it", async () => {
    const { key, get, put } = await newIntegrator();
    await get({ user_group_id: "acme", properties: { a: "b" } });
    await inDirectory(({ sql }) => {
      sql.exec("UPDATE user_groups SET properties = ?", '{"a":"b\\u0000"}');
    });
    const stored = { a: "b\0" };
    expect((await put({ user_group_id: "acme", name: "Renamed" })).body.user_group.properties).toEqual(stored);
    const patched = await call("PUT", "/api/user_groups/1", {
      credential: key,
      headers: { "Content-Type": "application/merge-patch+json" },
      body: { properties: { c: 1 } },
    });
    expect(patched.body.user_group.properties).toEqual({ ...stored, c: 1 });
    const session = await sessionOf(key);
    expect((await view(session)).body.variables["user_group.a"]).toBe("b\0");
  });
});
