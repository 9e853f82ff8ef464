import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Node, readTree, textOf, textsOf, UnknownTree, usesOf } from "../../prove/src/expressions/tree.ts";

describe("a stored expression", () => {
  it("has nodes, lists, words with escapes, and nothing", () => {
    const root = readTree(String.raw`({A :word a\ b\{\\ :none <> :list (o 1 2) :nodes ({B :n -1} <>) :empty ()} word)`);
    const [node, word] = Array.isArray(root) ? root : [];
    expect(word).toBe("word");
    if (!(node instanceof Node)) throw new Error("no node");
    expect(Object.fromEntries(node.fields)).toMatchObject({ word: "a b{\\", none: null, list: ["1", "2"], empty: [] });
    expect(node.nodes("nodes").map((each) => each.number("n"))).toEqual([-1]);
  });

  it.for([
    "",
    "{",
    "{A",
    "{A :x",
    "{A x 1}",
    "(a",
    "a b",
    "}",
    ")",
    "{A :x )}",
    "{CONST :constvalue 4 [ 1 2 }",
    "{CONST :constvalue 4 [ 1 ) ]}",
  ])("is refused in another form: %s", (text) => {
    expect(() => readTree(text)).toThrow(UnknownTree);
  });

  it("is refused with a node of a newer PostgreSQL, wherever it stands", () => {
    const made = "{OPEXPR :opfuncid 65 :args ({VAR :varno 1} {MADEUP :funcid 12})}";
    expect(() => usesOf(readTree(made))).toThrow("a stored expression has the unknown node MADEUP");
  });

  it("names all functions and relations, by the names of earlier versions too", () => {
    const uses = usesOf(
      readTree(
        "({QUERY :rtable ({RTE :relid 4711}) :targetList ({FUNCEXPR :funcid 1} {AGGREF :aggfnoid 2} {WINDOWFUNC :winfnoid 3} {COALESCE :args ({OPEXPR :opfuncid 0})})} {SCALARARRAYOPEXPR :opfuncid 4 :hashfuncid 5 :negfuncid 6})",
      ),
    );
    expect([[...uses.functions], [...uses.relations]]).toEqual([[1, 2, 3, 4, 5, 6], [4711]]);
  });
});

describe("the trees of PostgreSQL", () => {
  let database: PGlite;
  beforeAll(async () => {
    database = new PGlite();
    await database.waitReady;
  });
  afterAll(() => database.close());

  /** The expression of a function without arguments. */
  const expressionOf = async (sql: string): Promise<Node> => {
    await database.exec(`CREATE OR REPLACE FUNCTION f() RETURNS text LANGUAGE sql RETURN (${sql})::text`);
    const { rows } = await database.query<{ tree: string }>(
      "SELECT prosqlbody::text AS tree FROM pg_proc WHERE proname = 'f'",
    );
    const query = readTree(rows[0]?.tree ?? "");
    const target = query instanceof Node ? query.nodes("targetList").flatMap((each) => each.node("expr") ?? []) : [];
    const find = (node: Node): Node[] => [
      ...(node.tag === "CONST" ? [node] : []),
      ...[...node.fields.values()].flat().flatMap((each) => (each instanceof Node ? find(each) : [])),
    ];
    return target.flatMap(find)[0] ?? new Node("");
  };

  it.for(["", "x", "o'hara", "grüße 🙂", 'a b\\c{d}(e)<>"f"\n', "x".repeat(300)])(
    "give the text of a constant: %j",
    async (text) => {
      const literal = `'${text.replaceAll("'", "''")}'`;
      expect(textOf(await expressionOf(`current_setting(${literal})`))).toBe(text);
      expect(textOf(await expressionOf(`concat(${literal}::varchar)`))).toBe(text);
    },
  );

  it.for([
    ["'{}'", undefined],
    ["'{a}'", ["a"]],
    ['\'{team, "a b", "ü\\"", 0}\'', ["team", "a b", 'ü"', "0"]],
    ["'{a, NULL}'", undefined],
    ["'{{a}, {b}}'", undefined],
  ] as const)("give the texts of an array: %s", async ([literal, texts]) => {
    expect(textsOf(await expressionOf(`array_to_string(${literal}::text[], ',')`))).toEqual(texts);
  });

  it("give no text of a number, a NULL or bytes", async () => {
    for (const sql of ["abs(1)", "upper(NULL::text)", "md5('\\x00'::bytea)", "ARRAY[1]"])
      expect([textOf(await expressionOf(sql)), textsOf(await expressionOf(sql))], sql).toEqual([undefined, undefined]);
  });

  it("of all views of a new database are read, and have no unknown node", async () => {
    const { rows } = await database.query<{ view: string; tree: string }>(
      "SELECT ev_class::regclass::text AS view, ev_action::text AS tree FROM pg_rewrite",
    );
    expect(rows.length).toBeGreaterThan(100);
    for (const { view, tree } of rows) {
      const { functions, relations } = usesOf(readTree(tree));
      expect(functions.size + relations.size, view).toBeGreaterThan(0);
    }
  });
});
