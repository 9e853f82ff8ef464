import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bindTemplate } from "../../src/domain/sql/template.ts";
import { PLACEHOLDER_STYLES, type PlaceholderStyle } from "../../src/domain/sql/tokens.ts";

const VARIABLES = new Map<string, unknown>([
  ["id", "acme"],
  ["user_group.tier", 2],
  ["user_group.active", true],
  ["user_group.nothing", null],
  ["user_group.regions", ["eu", "us"]],
  ["user_group.one", ["eu"]],
  ["user_group.none", []],
  ["user_group.object", { a: 1 }],
  ["user_group.nested", [1, [2]]],
  ["user_group.a key", "spaced"],
  ["user_group.blank ", "kept"],
]);

/** The styles of databases that read `E'…'` or whose drivers write values into the SQL. */
const WRITTEN_STYLES = ["?", "$1", "%s"] as const;

const bind = (template: string, style: PlaceholderStyle = "?") => bindTemplate(template, VARIABLES, style);

describe("bindTemplate", () => {
  it.for([
    ["SELECT 1", "SELECT 1", []],
    ["SELECT * FROM t WHERE id = {{id}}", "SELECT * FROM t WHERE id = ?", ["acme"]],
    ["x = {{ id }} AND y = {{id}}", "x = ? AND y = ?", ["acme", "acme"]],
    ["x IN ({{user_group.regions}}) AND y = {{user_group.tier}}", "x IN (?, ?) AND y = ?", ["eu", "us", 2]],
    ["x = {{user_group.active}} OR y = {{user_group.nothing}}", "x = ? OR y = ?", [true, null]],
    ["x = {{user_group.a key}}", "x = ?", ["spaced"]],
    [
      "a::int + {{id}}::text, arr[1], '{\"a\":{\"b\":1}}', '[[1]]' ",
      "a::int + ?::text, arr[1], '{\"a\":{\"b\":1}}', '[[1]]' ",
      ["acme"],
    ],
    ["WHERE 1=1 [[AND x = {{id}}]]", "WHERE 1=1 AND x = ?", ["acme"]],
    [
      "'it''s' \"a\"\"b\" `c``d` e'it''s' -- '{ \n /* [[ ' ]] */ a$b$c [Sheet1$] {{id}}",
      "'it''s' \"a\"\"b\" `c``d` e'it''s' -- '{ \n /* [[ ' ]] */ a$b$c [Sheet1$] ?",
      ["acme"],
    ],
    [
      "x IN ('a',\n 'b') AND y <> 'c'\n AND z <> 'd' [[\n OR {{id}} <> 'e'\n]] OR 'f' <> 'g' 'h'",
      "x IN ('a',\n 'b') AND y <> 'c'\n AND z <> 'd' \n OR ? <> 'e'\n OR 'f' <> 'g' 'h'",
      ["acme"],
    ],
    ["'a' [[= {{id}}]] 'b'", "'a' = ? 'b'", ["acme"]],
    ["[[x = {{user_group.blank }}]] [[y = {{ user_group.tier }}]]", "x = ? y = ?", ["kept", 2]],
  ] as const)("binds %s", ([template, sql, params]) => {
    expect(bind(template)).toEqual({ ok: true, value: { sql, params, dropped: [] } });
  });

  it.for([
    ["WHERE 1=1 [[AND x = {{user_group.gone}}]]", "WHERE 1=1 ", ["user_group.gone"]],
    ["[[a = {{id}} AND b = {{user_group.gone}}]] c", " c", ["user_group.gone"]],
    ["[[a = {{user_group_id}}]][[b = {{user_group_name}}]]", "", ["user_group_id", "user_group_name"]],
    [
      "[[a = {{ user_group.z }} + {{user_group.b}}]] c [[d = {{user_group.a}} * {{user_group.z}}]]",
      " c ",
      ["user_group.z", "user_group.b", "user_group.a"],
    ],
  ] as const)("names the variables for which it drops clauses of %s", ([template, sql, dropped]) => {
    expect(bind(template)).toEqual({ ok: true, value: { sql, params: [], dropped } });
  });

  it.for(["user_group_ID", "region", "user_group", "user_group.", "user_groups.a", "User_group.a", "x.user_group.a"])(
    "refuses to drop a clause because of %s, which no group can have",
    (variable) => {
      const unknown = { ok: false, failure: { code: "unknown_variable", variable } };
      expect(bind(`true [[AND x = {{${variable}}}]]`)).toEqual(unknown);
      expect(bind(`true [[AND y = {{user_group.gone}} AND x = {{ ${variable} }}]]`, "$1")).toEqual(unknown);
    },
  );

  it.for([
    ["f({{user_group.regions}})", "f(?, ?)"],
    ["x IN ( 'a', {{user_group.regions}} -- c, \n, 'b')", "x IN ( 'a', ?, ? -- c, \n, 'b')"],
    ["x IN (/* [ */{{user_group.regions}}\t/* ) */ )", "x IN (/* [ */?, ?\t/* ) */ )"],
    ["(1 [[, {{user_group.gone}}]], {{user_group.regions}} [[, {{user_group.gone}}]])", "(1 , ?, ? )"],
    ["(1 [[, {{user_group.regions}}]] [[, {{id}}]])", "(1 , ?, ? , ? )"],
  ] as const)("puts a list into a list: %s", ([template, sql]) => {
    expect(bind(template)).toMatchObject({ ok: true, value: { sql } });
  });

  it("binds a list in an array of PostgreSQL", () => {
    expect(bind("ARRAY[{{user_group.regions}}]", "$1")).toMatchObject({ ok: true, value: { sql: "ARRAY[$1, $2]" } });
  });

  it.for([
    "LIMIT {{user_group.regions}}",
    "({{user_group.regions}} || 'x')",
    "(x = {{user_group.regions}})",
    "IN ({{user_group.regions}}",
    "{{user_group.regions}})",
    "(1, {{id}} {{user_group.regions}})",
    "[[({{user_group.gone}}, ]]{{user_group.regions}})",
    "'(' {{user_group.regions}} ')'",
    "/* ( */ {{user_group.regions}} /* ) */",
    "x IN ({{user_group.one}} + 1)",
  ])("refuses a list that is no item of a list: %s", (template) => {
    for (const style of PLACEHOLDER_STYLES)
      expect(bind(template, style)).toMatchObject({ ok: false, failure: { code: "unusable_variable" } });
  });

  it.for([
    "x = ANY({{user_group.regions}})",
    "x = any ( {{user_group.regions}} )",
    "x <> ALL({{ user_group.one }})",
    "x = Some /* ( */ (({{user_group.regions}}))",
    "x = ANY({{user_group.regions}}::text[])",
    "x = ANY({{user_group.regions}}, {{id}})",
    "[[x = {{id}} AND x = ANY ]] [[({{user_group.regions}})]]",
  ])("advises IN for a list in %s", (template) => {
    for (const style of PLACEHOLDER_STYLES)
      expect(bind(template, style)).toMatchObject({
        ok: false,
        failure: {
          code: "invalid_template",
          position: template.search(/\{\{ ?user_group/),
          reason: expect.stringContaining("Write IN ({{list}})"),
        },
      });
  });

  it.for([
    ["x = ANY({{id}})", "x = ANY($1)"],
    ["x = ANY(ARRAY[{{user_group.regions}}])", "x = ANY(ARRAY[$1, $2])"],
    ['x = "any"({{user_group.regions}})', 'x = "any"($1, $2)'],
    ["x = many({{user_group.regions}})", "x = many($1, $2)"],
    ["x = ANY(SELECT y WHERE z IN ({{user_group.regions}}))", "x = ANY(SELECT y WHERE z IN ($1, $2))"],
  ] as const)("binds %s, where no list stands in ANY", ([template, sql]) => {
    expect(bind(template, "$1")).toMatchObject({ ok: true, value: { sql } });
  });

  it.for([
    "x IN UNNEST({{user_group.regions}})",
    "x in unnest ( {{user_group.one}} )",
    "FROM UNNEST /* ( */ ({{user_group.regions}}) AS r",
  ])("advises IN or ARRAY for a list in %s", (template) => {
    for (const style of PLACEHOLDER_STYLES)
      expect(bind(template, style)).toMatchObject({
        ok: false,
        failure: {
          code: "invalid_template",
          position: template.indexOf("{{"),
          reason: expect.stringContaining("Write IN ({{list}}) instead of IN UNNEST({{list}})"),
        },
      });
    expect(bind("x = ANY(UNNEST(ARRAY[{{user_group.regions}}]))", "$1")).toMatchObject({ ok: true });
  });

  it("closes the brackets of an array before those of the clause", () => {
    expect(bind("1 [[AND {{user_group.gone}} = a[1]]] [[AND {{id}} = a[b[1]]]]", "$1")).toMatchObject({
      value: { sql: "1  AND $1 = a[b[1]]", dropped: ["user_group.gone"] },
    });
  });

  it("changes nothing in syntax that only PostgreSQL reads", () => {
    for (const sql of ["e'it\\'s'", "$$ it's -- # ` $$ $tag$ $$ $tag$", "'really?'", "a # b['c'] -- ?\n"])
      expect(bind(`${sql} {{id}}`, "$1")).toMatchObject({ ok: true, value: { sql: `${sql} $1` } });
  });

  it("refuses placeholders of their own with $1, too", () => {
    for (const template of ["owner = ? AND t = {{id}}", "x = ?1", "x = :x", "x = $x", "x = @x", "` ' ` {{id}} ` '`"])
      expect(bind(template, "$1")).toMatchObject({ ok: false, failure: { code: "invalid_template" } });
    expect(bind("a[{{id}}] || b[1:{{id}}] ?| c AND d @> e", "$1")).toMatchObject({
      ok: true,
      value: { sql: "a[$1] || b[1:$1] ?| c AND d @> e" },
    });
  });

  it.for([
    "a[1:2] = {{id}}",
    "a[i:j] = {{id}}",
    'a["i":j] = {{id}}',
    "a[b[1]:j] = {{id}}",
    "a[f(i):j] = {{id}}",
    "a[:2] = {{id}}",
    "a[:2][1:] = {{id}}",
    "a[1::int:2] = {{id}}",
    "a[{{user_group.tier}} : j]",
    "a[1:{{user_group.tier}}]",
    "j ? {{id}}",
    "j ?\n{{id}}",
    "j @? {{id}}",
    "j ?| b = {{id}}",
    "j ?& b = {{id}}",
  ])("binds a slice or an operator of jsonb as PostgreSQL reads it: %s", (template) => {
    for (const style of ["$1", "%s"] as const)
      expect(bind(template, style)).toMatchObject({
        ok: true,
        value: { sql: template.replace(/\{\{.*\}\}/, style), dropped: [] },
      });
  });

  it.for([
    ["{{id}} = :x", 9, "[1 : 2]"],
    ["f({{id}}, :x)", 10, "[1 : 2]"],
    ["f(:x, {{id}})", 2, "[1 : 2]"],
    ["f(:1, {{id}})", 2, "[1 : 2]"],
    ["{{id}} = a[:x]", 11, "[1 : 2]"],
    ["[[{{id}} = a ]]:x", 15, "[1 : 2]"],
    ["[[:1 = {{id}}]]", 2, "[1 : 2]"],
    ["{{id}} = ?", 9, "jsonb_exists(j, {{value.key}})"],
    ["x = ? AND y = {{id}}", 4, "jsonb_exists(j, {{value.key}})"],
    ["x = ?1 AND y = {{id}}", 4, "jsonb_exists(j, {{value.key}})"],
    ["x = ? [[AND y = {{id}}]]", 4, "jsonb_exists(j, {{value.key}})"],
    ["j ? k AND {{id}}", 2, "jsonb_exists(j, {{value.key}})"],
    ["j ?{{id}}", 3, "Put a space"],
    ["a[{{id}} :2]", 9, "[1 : 2]"],
  ] as const)("refuses the placeholder of %s, and names what to write instead", ([template, position, advice]) => {
    expect(bind(template, "$1")).toEqual({
      ok: false,
      failure: { code: "invalid_template", position, reason: expect.stringContaining(advice) },
    });
    expect(bind(template, "%s")).toEqual(bind(template, "$1"));
  });

  it.for(["j ? {{id}}", "j ?| b = {{id}}", "j ?& b = {{id}}"])(
    "reads a placeholder with ?, and names the function to write instead: %s",
    (template) => {
      expect(bind(template, "?")).toMatchObject({
        failure: {
          code: "invalid_template",
          position: 2,
          reason: expect.stringContaining("jsonb_exists(j, {{value.key}})"),
        },
      });
    },
  );

  it("doubles each percent sign of the template for the drivers of Python", () => {
    expect(
      bind("x %{{user_group.tier}}% 2 AND y LIKE 'a%s' -- 100%\n AND z IN ({{user_group.regions}})", "%s"),
    ).toEqual({
      ok: true,
      value: { sql: "x %%%s%% 2 AND y LIKE 'a%%s' -- 100%%\n AND z IN (%s, %s)", params: [2, "eu", "us"], dropped: [] },
    });
    expect(bind("x % 2", "?")).toMatchObject({ ok: true, value: { sql: "x % 2" } });
  });

  it("binds an array of PostgreSQL with %s, and refuses what MySQL reads in another way", () => {
    expect(bind("x = ANY(ARRAY[{{user_group.regions}}])", "%s")).toMatchObject({
      ok: true,
      value: { sql: "x = ANY(ARRAY[%s, %s])" },
    });
    for (const template of [
      "'it\\'s' {{id}}",
      "--x\n{{id}}",
      "$$ ' $$ {{id}}",
      "# it's\n{{id}}",
      "owner = $1",
      "x = :x",
    ])
      expect(bind(template, "%s")).toMatchObject({ ok: false, failure: { code: "invalid_template" } });
  });

  it("numbers the placeholders of PostgreSQL, and changes no operator or backslash", () => {
    expect(bind("j #> '{a}' ? '\\' AND x IN ({{user_group.regions}}) AND y = {{id}}", "$1")).toEqual({
      ok: true,
      value: { sql: "j #> '{a}' ? '\\' AND x IN ($1, $2) AND y = $3", params: ["eu", "us", "acme"], dropped: [] },
    });
  });

  it.for([
    ["a number in a string", "plan <> 'US$1' AND t = {{id}}", 11],
    ["a number in an escaped string", "plan <> E'US$1' AND t = {{id}}", 12],
    ["a number in a quoted identifier", '"cost$1" = {{id}}', 5],
    ["a number in a comment", "/* US$1 */ t = {{id}}", 5],
    ["a number in a line comment", "-- $12\nt = {{id}}", 3],
    ["a number in a dollar quote", "$q$ $1 $q$ = {{id}}", 4],
    ["a number after a dollar quote", "$$a$$1 = {{id}}", 4],
    ["a number in a name", "tab$1 = {{id}}", 3],
    ["a number in a longer name", "tab$$0$1x = {{id}}", 4],
    ["a raw value", "{{user_group.tier}}^2", 0],
    ["a raw name", "2 + {{user_group.tier}}~2", 4],
    ["an open value", "{{id}}#1", 0],
    ["a named modifier", "{{id}}:raw", 0],
    ["a slice", "a[{{user_group.tier}}:{{user_group.tier}}]", 2],
  ] as const)("refuses what pg-promise reads as %s, and names its place", ([, template, position]) => {
    expect(bind(template, "$1")).toEqual({
      ok: false,
      failure: { code: "invalid_template", position, reason: expect.stringMatching(/^Some drivers .*\.$/) },
    });
  });

  it("accepts what pg-promise does not format", () => {
    for (const [template, sql] of [
      ["{{id}}::text, '$', 'US$ 1', a$b", "$1::text, '$', 'US$ 1', a$b"],
      ["{{id}} ^ 2 # 3 ~ '4' : 5", "$1 ^ 2 # 3 ~ '4' : 5"],
      ["x = {{user_group.US$1}}", "x = $1"],
      ["{{id}}[[^ {{id}}]]", "$1 ^ $1"],
    ] as const)
      expect(bindTemplate(template, new Map([...VARIABLES, ["user_group.US$1", 1]]), "$1")).toMatchObject({
        ok: true,
        value: { sql },
      });
    expect(bind("{{id}}^2, '$1', a$1")).toMatchObject({ ok: true, value: { sql: "?^2, '$1', a$1" } });
  });

  it.for(WRITTEN_STYLES)("refuses with %s text that a driver would join to a value", (style) => {
    for (const [template, position] of [
      ["5 -{{user_group.tier}}", 3],
      ["x <> E'a'{{id}}", 9],
      ["{{id}}'a'", 0],
      ["U&{{id}}", 2],
      ["x <> E'a'\n{{id}}", 5],
      ["x <> E'a' /* b\n */ {{id}}", 5],
      ["x <> E'a'\n[[{{user_group.gone}} + 1]] {{id}}", 5],
      ["{{id}}\n'\\' AND x <> ' OR true --'", 0],
      ["{{id}}\n{{id}}", 0],
    ] as const)
      expect(bind(template, style)).toMatchObject({ ok: false, failure: { code: "invalid_template", position } });
    expect(bind("5 - {{user_group.tier}} -[[- {{id}}]]", style)).toMatchObject({ ok: true });
  });

  it.for([
    ["{{missing}}", "missing"],
    ["a {{id}} {{user_group.missing}}", "user_group.missing"],
    ["{{__proto__}}", "__proto__"],
    ["{{constructor}}", "constructor"],
  ] as const)("refuses the missing variable of %s", ([template, variable]) => {
    expect(bind(template)).toEqual({ ok: false, failure: { code: "unknown_variable", variable } });
  });

  it.for(["user_group.none", "user_group.object", "user_group.nested"])("refuses %s, in brackets too", (variable) => {
    for (const template of [`x = {{${variable}}}`, `a [[ x = {{${variable}}} ]]`])
      expect(bind(template)).toEqual({ ok: false, failure: { code: "unusable_variable", variable } });
  });

  it("refuses more values than a database takes", () => {
    const many = new Map([["many", Array(2000).fill(1)]]);
    expect(bindTemplate("({{many}}) ".repeat(5), many, "?").ok).toBe(true);
    for (const style of PLACEHOLDER_STYLES)
      expect(bindTemplate("({{many}}) ".repeat(6), many, style)).toMatchObject({
        failure: { code: "unusable_variable" },
      });
  });

  it.for([
    ["braces that are not closed", "SELECT {{id", 7],
    ["braces that are closed by one", "SELECT {{id}", 7],
    ["braces in braces", "SELECT {{{id}}}", 7],
    ["braces that close none", "SELECT id}}", 9],
    ["braces around nothing", "SELECT {{ }}", 7],
    ["brackets that are not closed", "a [[ b", 2],
    ["brackets that close none", "a ]] b", 2],
    ["brackets in brackets", "a [[ b [[ c ]] ]]", 7],
    ["a variable in a string", "x = '{{id}}'", 5],
    ["a variable in a string with a doubled quote", "x = 'it''s {{id}}'", 11],
    ["a variable in a string with a backslash", "x = e'it\\'s {{id}}'", 12],
    ["a variable in a quoted identifier", 'SELECT "{{id}}"', 8],
    ["a variable in a MySQL identifier", "SELECT `{{id}}`", 8],
    ["a variable in a line comment", "SELECT 1 -- {{id}}", 12],
    ["a variable in a comment", "SELECT /* {{id}} */ 1", 10],
    ["a comment in a comment", "/* /* */ {{id}} */", 0],
    ["a variable in a dollar quote", "SELECT $$ {{id}} $$", 10],
    ["a variable in a tagged dollar quote", "SELECT $q$ $$ {{id}} $q$", 14],
    ["a string that is not closed", "SELECT 'a", 7],
    ["an identifier that is not closed", 'SELECT "a', 7],
    ["a comment that is not closed", "SELECT /* a", 7],
    ["a dollar quote that is not closed", "SELECT $a$ $$", 7],
    ["a clause whose end is commented out", "a [[ b -- ]]", 2],
    ["a clause without a variable", "SELECT ARRAY[[1,2],[3,4]]", 12],
    ["a variable in a comment of MySQL", "SELECT 1 # {{id}}", 11],
    ["a string that MySQL ends elsewhere", "'a\\' OR x = {{id}} OR \\'b'", 0],
    ["a question mark of its own", "x = ? AND y = {{id}}", 4],
    ["a numbered placeholder of its own", "x = $1 AND y = {{id}}", 4],
    ["a numbered question mark of its own", "t = {{id}} OR x = ?1", 18],
    ["a named placeholder of its own", "t = {{id}} OR x = :x", 18],
    ["another one", "t = {{id}} OR x = @x", 18],
    ["yet another one", "t = {{id}} OR x = $x", 18],
    ["a bracketed identifier of SQLite", "SELECT [{{id}}]", 8],
    ["a dollar quote with a tag that is no letter", "SELECT $\u20ac$ {{id}} $\u20ac$", 11],
    ["a string that goes on in another line", "E'a'\n'\\' AND t = {{id}} -- '", 0],
    ["one that goes on after a comment", "x <> E'a' -- b\n'\\' AND t = {{id}} -- '", 5],
    ["one that goes on after two comments", "x <> E'a' /* b */ -- c\n-- d\n'\\' AND t = {{id}} -- '", 5],
    ["one that goes on after a dropped clause", "x <> E'a'\n[[+ {{missing}} +]]'\\' AND t = {{id}} -- '", 5],
    [
      "one that goes on where two have gone",
      "x <> E'a'[[+ {{missing}} +]]\n[[+ {{missing}} +]] '\\' AND t = {{id}} -- '",
      5,
    ],
    ["one that goes on in a clause", "x <> E'a'[[\n'\\' AND t = {{id}} -- ' \n]]", 5],
    ["one that goes on after its clause", "[[x = {{id}} AND x <> E'a']]\n'\\' AND t = {{id}} -- '", 22],
    ["one that goes on in the next clause", "[[x = {{id}} AND x <> E'a'\n]][['\\' AND t = {{id}} -- '\n]]", 22],
    ["an escape that SQLite reads in another way", "x = E'a\\'' AND t = {{id}}", 4],
    ["a question mark that drivers replace in a string", "x <> 'really?' AND t = {{id}}", 5],
    ["one in a quoted identifier", 'x <> "?" AND t = {{id}}', 5],
    ["one in a comment", "x -- why?\n AND t = {{id}}", 2],
    ["a dollar quote that MySQL reads as names", "x $$ ' $$ AND t = {{id}} AND $$ ' -- $$", 2],
    ["a dollar quote that SQLite reads as placeholders", "$q$ OR $q$ IS NOT NULL AND t = {{id}}", 0],
    ["brackets that hold a string in DuckDB", "SELECT ['] , {{id}} , ['] AS l", 7],
    ["brackets that hold a dollar quote", "a[$q$] , {{id}} , [$q$]", 1],
    ["brackets that hold a comment of MySQL", "a[#] = {{id}}", 1],
    ["a quoted identifier that holds a string elsewhere", "`'` , {{id}}, `'`", 0],
    ["one that holds dashes", "`--` = {{id}}", 0],
    ["one that holds a comment", "x = `/*` AND t = {{id}}", 4],
    ["one that holds a dollar quote", "`$q$` = {{id}}", 0],
    ["a comment of MySQL that opens a string elsewhere", "x # '\n AND t = {{id}} -- '", 2],
    ["a comment that MariaDB runs", "x <> /*M!' */ AND t = {{id}} AND x <> /*M! '*/", 5],
    ["dashes before a blank that is none", "x --\u00a0.a <> '\n AND t = {{id}} --\u00a0'", 2],
    ["a NUL, where some databases stop", "x \0 AND t = {{id}}", 2],
    ["a carriage return by itself", "x -- c\r AND t = {{id}}", 6],
    ["dashes that MySQL subtracts", "5--'a\n AND t = {{id}} --'", 1],
    ["a comment that MySQL runs", "/*! ' */ AND t = {{id}} -- '", 0],
    ["braces in front of very many blanks", `x {{${" ".repeat(60_000)}`, 2],
    ["a placeholder that would be part of a name", "tenant{{id}}", 6],
    ["a placeholder that would be part of a number", "x = {{id}}0", 4],
    ["a placeholder that would begin a dollar quote", "x = @{{id}}", 5],
    ["placeholders side by side", "{{id}}{{id}}", 0],
  ] as const)("refuses %s, and names its place", ([, template, position]) => {
    expect(bind(template)).toEqual({
      ok: false,
      failure: { code: "invalid_template", position, reason: expect.stringMatching(/\.$/) },
    });
  });

  it("gives a variable that occurs twice the same numbers", () => {
    const variables = new Map<string, unknown>([
      ["a", "x"],
      ["b", "x"],
      ["list", [1, 2]],
    ]);
    const template = "f({{a}}) IN ({{list}}) AND {{b}} = {{ a }} OR g NOT IN (0, {{list}})";
    expect(bindTemplate(template, variables, "$1")).toEqual({
      ok: true,
      value: { sql: "f($1) IN ($2, $3) AND $4 = $1 OR g NOT IN (0, $2, $3)", params: ["x", 1, 2, "x"], dropped: [] },
    });
    expect(bindTemplate(template, variables, "?")).toMatchObject({ value: { params: ["x", 1, 2, "x", "x", 1, 2] } });
  });

  it("refuses values that would make a short template a very long query", () => {
    const long = new Map([["long", "x".repeat(16_000)]]);
    expect(bindTemplate("{{long}} ".repeat(4), long, "?").ok).toBe(true);
    expect(bindTemplate("{{long}} ".repeat(5), long, "?")).toMatchObject({ failure: { code: "variables_too_large" } });
  });

  it.for([
    ["a", 1],
    ["é", 2],
    ["\n", 2],
    ["😀", 4],
  ] as const)("takes parameters of 64 KiB as JSON in UTF-8, and no byte more, of %j", ([character, bytes]) => {
    // Of the list with its two brackets, and with its quotes.
    const fit = (64 * 1024 - 4) / bytes;
    const bound = (count: number) => bindTemplate("{{v}}", new Map([["v", character.repeat(count)]]), "?");
    expect(bound(Math.floor(fit)).ok).toBe(true);
    expect(bound(Math.floor(fit) + 1)).toMatchObject({ failure: { code: "variables_too_large" } });
  });

  it("does not join tokens that brackets separated", () => {
    for (const template of [
      "-[[- {{id}}]] DROP",
      "/[[ {{user_group.gone}} ]]* x",
      "a[[{{id}}]]b",
      "-[[ {{user_group.gone}} ]]- x",
      "a[[\u00a0= {{id}}]]",
    ]) {
      const bound = bind(template);
      expect(bound.ok && bound.value.sql).not.toMatch(/--|\/\*|a\?|\?b|''|a\u00a0/);
    }
  });
});

describe("for any values", () => {
  const HOSTILE = "{{id}} ]] [[ ? $1 */ -- $$ {{ }}";
  const hostile = fc.oneof(fc.string(), fc.constantFrom("'; DROP TABLE t; --", "\\", "\u0000", ...HOSTILE.split(" ")));
  const values = fc.oneof(
    hostile,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(hostile, { minLength: 1, maxLength: 4 }),
  );
  const TEXTS = [
    "SELECT ",
    " = ",
    " AND ",
    "(",
    ")",
    " || 'q''s' ",
    ' "i" ',
    " -- c\n",
    " /* c */ ",
    "a.b",
    " 1 ",
    ", ",
  ];
  const texts = fc.array(fc.constantFrom(...TEXTS, "::text "), { maxLength: 4 });

  const typeOf = (value: unknown) => {
    if (typeof value !== "number")
      return value === null ? "Nullable(String)" : typeof value === "string" ? "String" : "Bool";
    return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? "Int64" : "Float64";
  };
  const placeholderOf = (style: PlaceholderStyle, number: number, value: unknown) =>
    style.replace("{p1:String}", `{p1:${typeOf(value)}}`).replace("1", String(number));
  const named = (params: unknown[]) => Object.fromEntries(params.map((value, index) => [`p${index + 1}`, value]));

  it("the SQL is the template's text with placeholders, and the values are its parameters", () => {
    const parts = fc.array(fc.tuple(texts, fc.option(values, { nil: undefined })), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(parts, fc.constantFrom(...PLACEHOLDER_STYLES), (pieces, style) => {
        const variables = new Map<string, unknown>();
        const expected: unknown[] = [];
        let template = "";
        let sql = "";
        for (const [index, [text, value]] of pieces.entries()) {
          template += `${text.join("")} `;
          sql += `${text.join("")} `;
          if (value === undefined) continue;
          variables.set(`v${index}`, value);
          template += `IN ({{v${index}}}) `;
          const listed = [value].flat();
          sql += `IN (${listed.map((item, offset) => placeholderOf(style, expected.length + offset + 1, item)).join(", ")}) `;
          expected.push(...listed);
        }
        expect(bindTemplate(template, variables, style)).toEqual({
          ok: true,
          value: { sql, params: style === "{p1:String}" ? named(expected) : expected, dropped: [] },
        });
      }),
      { numRuns: 500 },
    );
  });

  it("the SQL is the same for all values, except for the number of placeholders", () => {
    const pieces = `{{a}} {{b}} [[ ]] ' " \` -- /* */ $$ $t$ x 0 e' \\ ? - { } (`.split(" ");
    const soup = fc.array(fc.constantFrom(" ", "\n", ...pieces), { maxLength: 14 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(soup, hostile, hostile, (template, one, other) => {
        const bound = (a: unknown) => bindTemplate(template, new Map(Object.entries({ a, b: 1 })), "?");
        const [first, second] = [bound(one), bound(other)];
        expect(first.ok).toBe(second.ok);
        if (first.ok && second.ok) expect(first.value.sql).toBe(second.value.sql);
      }),
      { numRuns: 2000 },
    );
  });
});
