import { describe, expect, it } from "vitest";
import { variablesThatSortNothing } from "../../src/domain/sql/template.ts";
import { PLACEHOLDER_STYLES } from "../../src/domain/sql/tokens.ts";

/** Variables that are a whole term of ORDER BY, and those that are a part of one. */

describe("variablesThatSortNothing", () => {
  it.for([
    ["ORDER BY {{a}}", ["a"]],
    ["order\n by {{ a }} ;", ["a"]],
    ["ORDER BY {{a}} DESC, {{b}} ASC NULLS LAST, {{a}}", ["a", "b"]],
    ["ORDER BY f(x, y), {{a}} nulls first LIMIT {{b}}, {{c}}", ["a"]],
    ["ORDER BY {{a}} OFFSET {{b}} ROWS FETCH NEXT {{c}} ROWS ONLY", ["a"]],
    ["ORDER BY {{a}}::text, {{b}}::numeric(10, 2) DESC, {{c}} :: int", ["a", "b", "c"]],
    ["ORDER BY ({{a}}), (( {{b}} )) DESC, ({{c}}::int)", ["a", "b", "c"]],
    ["ORDER BY({{a}})", ["a"]],
    ["ORDER BY CAST({{a}} AS text), try_cast( {{b}} AS numeric(10, 2) )", ["a", "b"]],
    ["SELECT row_number() OVER (PARTITION BY {{a}}, x ORDER BY {{b}} ROWS 1 PRECEDING), {{c}}", ["b"]],
    ["SELECT array_agg(x ORDER BY y, {{a}}), {{b}} FROM t ORDER BY {{c}}", ["a", "c"]],
    ["(SELECT 1 ORDER BY {{a}}) UNION (SELECT 2 ORDER BY {{b}})", ["a", "b"]],
    ["ORDER BY {{a}} UNION SELECT {{b}}, {{c}}", ["a"]],
    ["ORDER /* x */ BY -- y\n {{a}} /* z */ , 'q' /* , */, {{b}}", ["a", "b"]],
    ["ORDER BY [[{{a}},]] x [[, {{b}} DESC]]", ["a", "b"]],
    ["ORDER BY [[{{a}} DESC]] [[{{b}}]]", ["a", "b"]],
    ["ORDER BY {{a}} {{b}}", ["a", "b"]],
    ["[[AND x = {{a}}]] ORDER BY x [[LIMIT {{b}}]]", []],
    ["ORDER BY CASE {{a}} WHEN 'amount' THEN amount END, CASE WHEN {{b}} = 'x' THEN x END DESC", []],
    ["ORDER BY (CASE {{a}} WHEN 'amount' THEN amount END)", []],
    ['ORDER BY f({{a}}), "f"({{b}}), t.f ( {{c}} ), coalesce(x, {{d}})', []],
    ["ORDER BY amount * {{a}}, {{b}} || name, {{c}} = x, x IN ({{d}})", []],
    ["ORDER BY {{a}} AND x, {{b}} LIKE name, {{c}}::text || name, CAST({{d}} || name AS text)", []],
    ["SELECT {{a}}, x FROM t WHERE y IN ({{b}}, {{c}}) GROUP BY {{d}}", []],
    ["SELECT {{a}}, 'ORDER BY ', {{b}} /* ORDER BY */ , {{c}} AS order_by, {{d}}", []],
  ] as const)("finds in %s: %j", ([template, names]) => {
    for (const style of PLACEHOLDER_STYLES) expect(variablesThatSortNothing(template, style)).toEqual(names);
  });

  it("finds arrays, and not the values in them", () => {
    const template = "ORDER BY ARRAY[x, {{a}}, y], a[{{b}}], {{c}}::text[] DESC";
    expect(variablesThatSortNothing(template, "$1")).toEqual(["c"]);
  });

  it("finds nothing in a template that is refused", () => {
    expect(variablesThatSortNothing("ORDER BY {{a}} '", "$1")).toEqual([]);
  });
});
