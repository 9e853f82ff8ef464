import { describe, expect, it } from "vitest";
import { bindTemplate } from "../../src/domain/sql/template.ts";
import type { PlaceholderStyle } from "../../src/domain/sql/tokens.ts";

/** What templates may contain for one database, and what several databases would read in different ways. */

const VARIABLES = new Map<string, unknown>([
  ["id", "acme"],
  ["n", 5],
  ["regions", ["eu", "us"]],
]);
const bind = (template: string, style: PlaceholderStyle, variables = VARIABLES) =>
  bindTemplate(template, variables, style);
const refusedAt = (position: number) => ({ ok: false, failure: { code: "invalid_template", position } });

describe("for SQL Server", () => {
  it.for([
    ["a placeholder with a number", "x = {{id}} AND y IN ({{regions}})", "x = @p1 AND y IN (@p2, @p3)"],
    [
      "the same number for a variable that occurs twice",
      "{{id}} IN ({{regions}}, {{id}}, {{regions}})",
      "@p1 IN (@p2, @p3, @p1, @p2, @p3)",
    ],
    ["an identifier in brackets", "[it's] = {{id}} AND [a]]b -- c] = {{id}}", "[it's] = @p1 AND [a]]b -- c] = @p1"],
    ["a string that ends with a backslash", "x = N'C:\\' AND y = {{id}}", "x = N'C:\\' AND y = @p1"],
    ["a comment in a comment", "/* a /* {b} */ ' */ x = {{id}}", "/* a /* {b} */ ' */ x = @p1"],
    ["dashes without a space", "5 --it's\n+ {{n}}", "5 --it's\n+ @p1"],
    ["a number sign and a question mark in a string", "#t.x = {{id}} AND y = 'why?#'", "#t.x = @p1 AND y = 'why?#'"],
    ["a global variable", "@@DATEFIRST = {{n}}", "@@DATEFIRST = @p1"],
    ["a backquote", "x = '`' AND y = {{id}}", "x = '`' AND y = @p1"],
    ["an identifier in a clause", "1 = 1 [[AND [a] = {{id}} AND {{n}} = [b] ]]", "1 = 1 AND [a] = @p1 AND @p2 = [b] "],
    ["an E before a string", "E'\\' = {{id}}", "E'\\' = @p1"],
  ] as const)("binds %s", ([, template, sql]) => {
    expect(bind(template, "@p1")).toMatchObject({ ok: true, value: { sql } });
  });

  it("gives the parameters as a list, of which the first is @p1", () => {
    expect(bind("{{id}} {{n}} IN ({{regions}}) {{id}}", "@p1")).toMatchObject({
      value: { params: ["acme", 5, "eu", "us"] },
    });
  });

  it.for([
    ["a variable in brackets", "x = [{{id}}]", 5],
    ["a variable in brackets with a doubled one", "x = [a]] {{id}}]", 9],
    ["brackets that a doubled one does not close", "x = [a]] AND y = {{id}}", 4],
    ["a variable in a comment that goes on", "/* /* */ {{id}} */", 9],
    ["a comment in which one is not closed", "/* /* */ x = {{id}}", 0],
    ["a variable in a string", "x = N'{{id}}'", 6],
    ["a parameter of the template", "x = @p1 AND y = {{id}}", 4],
    ["a variable of the template", "x = @x AND y = {{id}}", 4],
    ["a name that goes on with a number sign", "x = {{id}}#", 4],
    ["a table whose name would begin with the placeholder", "x = #{{id}}", 5],
    ["an escape of ODBC", "x = {{id}} --(* a *)--", 11],
    ["a bracket that could close the clause", "1 [[AND {{id}} = [a]]] b]]", 17],
  ] as const)("refuses %s", ([, template, position]) => {
    expect(bind(template, "@p1")).toMatchObject(refusedAt(position));
  });
});

describe("for ClickHouse", () => {
  it.for([
    ["a text", "a", "String"],
    ["an empty text", "", "String"],
    ["a number", 5, "Int64"],
    ["a negative number", -5, "Int64"],
    ["the largest safe number", 2 ** 53 - 1, "Int64"],
    ["the largest number of 64 bits", 9223372036854775000, "Int64"],
    ["a larger number", 2 ** 63, "Float64"],
    ["the smallest number of 64 bits, which prints as a smaller one", -(2 ** 63), "Float64"],
    ["a very large number", 1e300, "Float64"],
    ["a fraction", 1.5, "Float64"],
    ["a boolean", true, "Bool"],
    ["null", null, "Nullable(String)"],
  ] as const)("types %s by its value", ([, value, type]) => {
    expect(bind("x = {{v}}", "{p1:String}", new Map([["v", value]]))).toEqual({
      ok: true,
      value: { sql: `x = {p1:${type}}`, params: { p1: value }, dropped: [] },
    });
  });

  it.for([
    [["a", "b"], "Array(String)"],
    [[1, 2], "Array(Int64)"],
    [[1, 2.5], "Array(Float64)"],
    [[true], "Array(Bool)"],
    [["a", null], "Array(Nullable(String))"],
    [[null, 1], "Array(Nullable(Int64))"],
    [[null], "Array(Nullable(String))"],
  ] as const)("types the array %j of a function", ([list, type]) => {
    expect(bind("has({{v}}, x)", "{p1:String}", new Map([["v", list]]))).toEqual({
      ok: true,
      value: { sql: `has({p1:${type}}, x)`, params: { p1: list }, dropped: [] },
    });
  });

  it("refuses an array without a common type", () => {
    for (const list of [[1, "a"], [true, 1], []])
      expect(bind("has({{v}}, x)", "{p1:String}", new Map([["v", list]]))).toEqual({
        ok: false,
        failure: { code: "unusable_variable", variable: "v" },
      });
  });

  it.for([
    ["IN with parentheses", "x IN ({{regions}})", "x IN ({p1:String}, {p2:String})"],
    ["NOT IN with others", "x not in ('de', {{regions}})", "x not in ('de', {p1:String}, {p2:String})"],
    ["an array", "hasAny(x, [{{regions}}])", "hasAny(x, [{p1:String}, {p2:String}])"],
    ["a tuple", "(x, y) = ({{regions}})", "(x, y) = ({p1:String}, {p2:String})"],
    [
      "a list in a list",
      "f(x IN ({{regions}}), ['a', {{regions}}])",
      "f(x IN ({p1:String}, {p2:String}), ['a', {p1:String}, {p2:String}])",
    ],
    ["IN alone", "x IN {{regions}} AND y", "x IN {p1:Array(String)} AND y"],
    ["a function", "hasAny(x, {{regions}})", "hasAny(x, {p1:Array(String)})"],
    ["a function after a list", "indexOf({{regions}}, f(y, (1, 2)))", "indexOf({p1:Array(String)}, f(y, (1, 2)))"],
    [
      "both",
      "x IN ({{regions}}) AND has({{regions}}, y)",
      "x IN ({p1:String}, {p2:String}) AND has({p3:Array(String)}, y)",
    ],
  ] as const)("binds a list in %s", ([, template, sql]) => {
    expect(bind(template, "{p1:String}")).toMatchObject({ ok: true, value: { sql } });
  });

  it.for([
    [
      "the same name for a variable that occurs twice",
      "f({{id}}) = {{n}} OR {{id}}",
      "f({p1:String}) = {p2:Int64} OR {p1:String}",
    ],
    ["escapes in strings and names", "'it\\'s' \"a\\\"\" `b\\`` {{id}}", "'it\\'s' \"a\\\"\" `b\\`` {p1:String}"],
    ["a heredoc", "$q$ it's $q$ = {{id}}", "$q$ it's $q$ = {p1:String}"],
    [
      "its comments",
      "# it's\n#! it's\n-- it's\n--it's\n// it's\n/* it's */ {{id}}",
      "# it's\n#! it's\n-- it's\n--it's\n// it's\n/* it's */ {p1:String}",
    ],
    ["a map", "{'a': {{id}}, 'b': '{c:String}'}", "{'a': {p1:String}, 'b': '{c:String}'}"],
    ["its operators", "a ? {{id}} : b::String", "a ? {p1:String} : b::String"],
    [
      "a clause that ends with an array",
      "1 [[AND x IN [{{regions}}]]] [[AND a[1] = {{id}}]]",
      "1 AND x IN [{p1:String}, {p2:String}] AND a[1] = {p3:String}",
    ],
  ] as const)("binds %s", ([, template, sql]) => {
    expect(bind(template, "{p1:String}")).toMatchObject({ ok: true, value: { sql } });
  });

  it.for([
    ["a variable in a string with an escaped quote", "x = 'it\\'s {{id}}'", 11],
    ["a variable in backquotes", "`a\\` {{id}}`", 5],
    ["a variable in a heredoc", "$q$ {{id}} $q$", 4],
    ["a heredoc that is not closed", "$q$ = {{id}}", 0],
    ["a heredoc after a number", "1a$q$ ' $q$ , ' {{id}} $q$ '$q$", 16],
    ["a dollar sign in a name", "a$q$ = {{id}}", 1],
    ["a dollar sign alone", "$ a $ = {{id}}", 0],
    ["a variable in a comment with slashes", "1 // {{id}}", 5],
    ["a number sign without a space", "#a = {{id}}", 0],
    ["a number sign before a clause", "#[[a = {{id}}]]", 0],
    ["a comment in a comment", "/* /* */ {{id}} */", 9],
    ["a closed comment in a comment", "/* /* */ ' */ {{id}} /* ' */", 0],
    ["typographic quotes", "\u2018 a \u2019 = {{id}}", 0],
    ["a typographic quote that is not closed", "x \u201c = {{id}}", 2],
    ["a placeholder of the template", "x = {a:String} AND y = {{id}}", 4],
    ["one with a comment in it", "x = {/* */a:String} AND y = {{id}}", 4],
  ] as const)("refuses %s", ([, template, position]) => {
    expect(bind(template, "{p1:String}")).toMatchObject(refusedAt(position));
  });

  it("takes parameters of 64 KiB with their names, and no byte more", () => {
    // {"p1":"…"}
    const longest = 64 * 1024 - '{"p1":""}'.length;
    const bound = (units: number) => bind("{{v}}", "{p1:String}", new Map([["v", "x".repeat(units)]]));
    expect(bound(longest)).toMatchObject({ ok: true });
    expect(bound(longest + 1)).toMatchObject({ failure: { code: "variables_too_large" } });
    const asArray = (units: number) => bind("has({{v}}, x)", "{p1:String}", new Map([["v", ["x".repeat(units)]]]));
    expect(asArray(longest - 2)).toMatchObject({ ok: true });
    expect(asArray(longest - 1)).toMatchObject({ failure: { code: "variables_too_large" } });
  });
});

describe("for databases that share a question mark", () => {
  it.for([
    ["a bracket that SQL Server doubles", "[a]] = {{id}} AND b = [c]", 0],
    ["an escaped backquote of ClickHouse", "`a\\` = {{id}} AND `b`", 0],
    ["a comment of ClickHouse", "a // {{id}}", 2],
    ["a comment of ClickHouse before a clause", "a // b [[AND c = {{id}}]]", 2],
    ["a heredoc of ClickHouse in a name", "1a$q$ ' $q$ , ' = {{id}} '$q$'", 14],
    ["a dollar sign", "$ a $ = {{id}}", 0],
    ["typographic quotes of ClickHouse", "\u2018 a = {{id}} \u2019", 0],
  ] as const)("refuses %s", ([, template, position]) => {
    expect(bind(template, "?")).toMatchObject(refusedAt(position));
  });

  it.for([
    "[a] = {{id}} AND b[1] = [c]",
    "a // 2\n= {{id}}",
    "x = 'https://a.example' AND y = {{id}}",
    "x = {{id}} AND y = a[b[1]]",
    "`a` = {{id}} AND 'it''s' <> \"b\"",
  ])("binds %s, which all read alike", (template) => {
    expect(bind(template, "?")).toMatchObject({ ok: true });
  });
});

describe("colons and question marks, in each style", () => {
  const STYLES = ["?", "$1", "%s", "@p1", "{p1:String}"] as const;
  const stylesThatBind = (template: string) => STYLES.filter((style) => bind(template, style).ok);

  it.for([
    // In "?" and "@p1" these brackets are a name.
    ["a[1:2] = {{id}}", STYLES],
    ["a[:2] = {{id}}", STYLES],
    ["a[i:j] = {{id}}", STYLES],
    ["a[{{n}}:2] = 1", ["%s", "{p1:String}"]],
    ["a[{{n}} : 2] = 1", ["$1", "%s", "{p1:String}"]],
    ["a::text = {{id}}", STYLES],
    // ClickHouse has no placeholder like these.
    ["a = :name AND b = {{id}}", ["{p1:String}"]],
    ["a = (:name) AND b = {{id}}", ["{p1:String}"]],
    ["a = ? AND b = {{id}}", ["{p1:String}"]],
    ["j ? {{id}}", ["$1", "%s", "{p1:String}"]],
    ["j ?{{id}}", []],
    ["j ?| ARRAY[{{regions}}]", ["$1", "%s", "{p1:String}"]],
    ["j ?& ARRAY[{{regions}}]", ["$1", "%s", "{p1:String}"]],
  ] as const)("are bound or refused: %s", ([template, styles]) => {
    expect(stylesThatBind(template)).toEqual(styles);
  });

  it("name a missing variable, and drop no clause without one", () => {
    const template = "j ? {{id}} AND a[1:2] = b [[AND j ? {{user_group.gone}} AND a[1:2] = c]]";
    expect(bind(template, "$1")).toMatchObject({
      value: { sql: "j ? $1 AND a[1:2] = b ", params: ["acme"], dropped: ["user_group.gone"] },
    });
    expect(bind("true [[AND j ? {{viewer_id}}]]", "$1")).toMatchObject({ failure: { code: "unknown_variable" } });
  });
});
