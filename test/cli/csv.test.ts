import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { escapeFormula, unescapeFormula } from "../../cli/src/groups/files/csv-cells.ts";
import { readCsv } from "../../cli/src/groups/files/csv-read.ts";
import { csvOf } from "../../cli/src/groups/files/export.ts";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

const { url, operatorToken } = inject("service");
const NO_OPTIONS = { renamed: new Map<string, string>(), skipsOthers: false };

function fileOf(text: string | Buffer, ending = "csv"): string {
  const file = join(newFolder(), `groups.${ending}`);
  writeFileSync(file, text);
  return file;
}

/** An environment of the test's own. */
async function environment(workspace: string) {
  const apiKey = await keyOfWorkspace(`csv-${workspace}`);
  const client = new UserGroupClient({ url, apiKey });
  return {
    apiKey,
    client,
    groups: (...args: string[]) => runCommand("groups", args, { API_KEY: apiKey }),
    // By their ids: an import creates several groups at a time, so that their numbers are in any order.
    contents: async () =>
      (await Array.fromAsync(client.list()))
        .map(({ userGroupId, name, state, mapping, properties }) => ({ userGroupId, name, state, mapping, properties }))
        .toSorted((one, other) => (one.userGroupId < other.userGroupId ? -1 : 1)),
  };
}

/** The CSV of groups as a list of the service has them. */
const csvText = async (groups: Record<string, unknown>[], delimiter = ",") =>
  (await Array.fromAsync(csvOf([groups] as never, { delimiter, bom: false }))).join("");

describe("import", () => {
  it("takes a CRM's export as it is: BOM, semicolons, CRLF, umlauts, line breaks and other columns", async () => {
    const { groups, contents } = await environment("crm");
    const file = fileOf(
      "\ufeffRecord ID;Company name;Region;Notes;Phone;Owner\r\n" +
        '007;Müller & Söhne;eu;"Zeile 1\r\nZeile ""2"";\nZeile 3";+49 170 1;ann\r\n' +
        "008;Ænima \u2028 AS;;-5;=1+1;ben\r\n" +
        ";;;;;\r\n",
    );
    const unknown = await groups("import", file);
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining("no column user_group_id")]);
    const columns = ["Record ID=user_group_id", "Company name=name", "Region=properties.region"];
    const options = [...columns, "Notes=properties.notes", "Phone=properties.phone"].flatMap((each) => [
      "--column",
      each,
    ]);
    const others = await groups("import", file, ...options);
    expect([others.status, others.stderr]).toEqual([2, expect.stringContaining('no fields of a group: "Owner"')]);
    expect(await groups("import", file, ...options, "--skip-other-columns")).toEqual({
      status: 0,
      stdout: "created 2, found 0, differs 0, refused 0",
      stderr: "",
    });
    expect(await contents()).toEqual([
      {
        ...{ userGroupId: "007", name: "Müller & Söhne", state: "active", mapping: null },
        properties: { region: "eu", notes: 'Zeile 1\r\nZeile "2";\nZeile 3', phone: "+49 170 1" },
      },
      {
        ...{ userGroupId: "008", name: "Ænima \u2028 AS", state: "active", mapping: null },
        properties: { notes: "-5", phone: "=1+1" },
      },
    ]);
  });

  it.for([
    ["Excel, CSV UTF-8 with semicolons", "\ufeffuser_group_id;name;properties.note;\r\n0019;Ä;;\r\n;;;\r\n"],
    ["Excel, of a file that names its delimiter", "\ufeffsep=;\r\nuser_group_id;name;properties.note\r\n0019;Ä;\r\n"],
    ["LibreOffice, with each text in quotation marks", '"user_group_id","name",,\n"0019","Ä",,\n,,,\n'],
    ["Numbers, with a filled table of its own size", "user_group_id,name,,,\r\n0019,Ä, ,,\r\n,,,,\r\n,,,,\r\n"],
    ["Google Sheets, without an end of the last line", "user_group_id,name,\r\n0019,Ä,"],
    ["a database, with bars", "sep=|\nuser_group_id|name\n0019|Ä\n"],
  ] as const)("takes what %s writes", async ([program, text]) => {
    const { groups, contents } = await environment(program.replaceAll(/\W/g, "-").toLowerCase().slice(0, 30));
    expect((await groups("import", fileOf(text), "--yes")).stdout).toBe("created 1, found 0, differs 0, refused 0");
    expect(await contents()).toMatchObject([{ userGroupId: "0019", name: "Ä", properties: null }]);
  });

  it("imports mappings and states, with any delimiter, from standard input too", async () => {
    const { apiKey, contents } = await environment("stdin");
    const child = startCommand("groups", ["import", "-", "--format", "csv", "--concurrency", "1"], { API_KEY: apiKey });
    child.stdin?.end("name\tuser_group_id\tmapping.sales\tstate\nA\ta\twarehouse-1\tsuspended\nB\tb\t\t\n");
    expect(await outcomeOf(child)).toMatchObject({ status: 0, stdout: "created 2, found 0, differs 0, refused 0" });
    expect(await contents()).toEqual([
      { userGroupId: "a", name: "A", state: "suspended", mapping: { sales: "warehouse-1" }, properties: null },
      { userGroupId: "b", name: "B", state: "active", mapping: null, properties: null },
    ]);
  });

  it("changes with --update the keys that have columns, and leaves other keys, types and empty cells", async () => {
    const { groups, client, contents } = await environment("update");
    const properties = { plan: "basic", seats: 5, tags: ["a"], other: { kept: true }, "a.b": "x" };
    await client.ensure({ userGroupId: "acme", name: "Acme", properties });
    const header = "user_group_id,name,properties.plan,properties.seats,properties.tags,properties.a.b\n";
    const same = fileOf(`${header}acme,,basic,5,"[""a""]",\n`);
    expect((await groups("import", same, "--update")).stdout).toBe(
      "created 0, found 1, updated 0, conflicts 0, refused 0",
    );
    const file = fileOf(`${header}acme,Acme Inc.,gold,5,,y\n`);
    expect((await groups("import", file, "--update")).stdout).toBe(
      "created 0, found 1, updated 1, conflicts 0, refused 0",
    );
    expect(await contents()).toMatchObject([
      { name: "Acme Inc.", properties: { ...properties, plan: "gold", "a.b": "y" } },
    ]);
  });

  it.for([
    [
      "two ids alike",
      "user_group_id,name\na,1\nb,2\na,3\n",
      'row 4: it has the user_group_id "a", as row 2 does. Keep one of the two.',
    ],
    ["a row with a cell too many", "user_group_id,name\na,1\nb,2,3\n", "row 3: it has 3 cells, and the header 2."],
    ["a row without an id", "user_group_id,name\na,1\n,2\n", "row 3: it has no user_group_id."],
    ["another state", "user_group_id,state\na,gone\n", "row 2: give the state active or suspended"],
    ["an open quotation mark", 'user_group_id,name\na,1\nb,"2\n', "a quotation mark is missing"],
    ["a quotation mark within a cell", 'user_group_id,name\na,1\nb,Screen 12"\n', "from line 3 on"],
    ["two columns of one field", "user_group_id,name,name\na,1,2\n", 'Several columns are about "name"'],
    [
      "bytes that are no UTF-8",
      Buffer.from("user_group_id,name\na,M\xfcller\n", "latin1"),
      "iconv -f WINDOWS-1252 -t UTF-8",
    ],
    ["UTF-16", Buffer.from("\ufeffuser_group_id\na\n", "utf16le"), "is a text in UTF-16"],
    ["UTF-16 without a mark", Buffer.from("user_group_id\na\n", "utf16le"), "is a text in UTF-16"],
    ["a workbook of Excel", Buffer.from("PK\x03\x04\x14\0\x06\0[Content_Types].xml"), "is a workbook"],
    ["a workbook of an old Excel", Buffer.from("d0cf11e0a1b11ae1", "hex"), "is a workbook of an old Excel (.xls)"],
    ["another delimiter than it says", "sep=,\nuser_group_id;name\na;b\n", "no column user_group_id"],
    ["a value in a column without a name", "user_group_id,,name\na,x,b\n", "row 2: column 2 has a value, and no name"],
    ["cells that are missing", "user_group_id,name\na,b\nc\n", "row 3: it has 1 cells, and the header 2."],
    ["nothing", "", "no column user_group_id"],
  ] as const)("imports nothing of a CSV with %s, and says what to do", async ([name, text, sentence]) => {
    const { groups, contents } = await environment(name.replaceAll(/\W/g, "-").toLowerCase());
    for (const options of [[], ["--dry-run"]]) {
      const { status, stdout, stderr } = await groups("import", fileOf(text as string), ...options);
      expect([status === 0, stdout, stderr]).toEqual([false, "", expect.stringContaining(sentence)]);
    }
    expect(await contents()).toEqual([]);
  });

  it("reports a row that the service refuses by its number in a spreadsheet, and continues", async () => {
    const { groups } = await environment("refused");
    const file = fileOf(`user_group_id,name\n"a",1\n\nb,${"x".repeat(300)}\nc,3\n`);
    const { status, stdout, stderr } = await groups("import", file);
    expect([status, stdout]).toEqual([1, "created 2, found 0, differs 0, refused 1"]);
    expect(stderr).toMatch(/^row 4: invalid_body: name: /);
  });
});

describe("dry run", () => {
  it.for([
    ["csv", "user_group_id,name,properties.region\nnew,N,\nsame,S,eu\nother,O,us\n"],
    [
      "ndjson",
      '{"user_group_id":"new","name":"N"}\n{"user_group_id":"same","name":"S"}\n{"user_group_id":"other","name":"O","properties":{"region":"us","kept":"x"}}\n',
    ],
  ] as const)("says for %s what it would create, change and leave, and changes nothing", async ([format, text]) => {
    const { groups, client, contents } = await environment(`dry-${format}`);
    await client.ensure({ userGroupId: "same", name: "S", properties: { region: "eu" } });
    await client.ensure({ userGroupId: "other", name: "Other", properties: { region: "eu", kept: "x" } });
    const before = await contents();
    const dry = async (...options: string[]) => groups("import", fileOf(text, format), "--dry-run", ...options);
    expect(await dry("--update")).toEqual({
      status: 0,
      stdout: [
        'create   "new"',
        'change   "other": name, properties.region',
        `At ${url} this import would: create 1, change 1, leave 1, refused 0. Nothing was changed.`,
      ].join("\n"),
      stderr: "",
    });
    const without = await dry();
    expect([without.status, without.stdout]).toEqual([1, expect.stringContaining("leave 1, differs 1, refused 0.")]);
    expect(JSON.parse((await dry("--update", "--json")).stdout)).toEqual({
      ...{ success: 1, dry_run: true, create: ["new"], differs: 0, leave: 1, refused: 0 },
      change: [{ provided_id: "other", changed: ["name", "properties.region"] }],
    });
    expect(await contents()).toEqual(before);
    expect((await client.events().next()).value?.type).toBe("api_key.issued");
  });

  it("finds many groups, and what an import of the file then does", async () => {
    const { groups } = await environment("dry-many");
    const csv = (count: number) =>
      fileOf(`user_group_id,name\n${Array.from({ length: count }, (_, n) => `g-${n},Gröüp ${n}\n`).join("")}`);
    await groups("import", csv(150));
    const dry = await groups("import", csv(160), "--dry-run", "--json");
    expect(JSON.parse(dry.stdout)).toMatchObject({ create: { length: 10 }, leave: 150, differs: 0 });
  });

  it("warns of ids that have lost the zeros at their beginning, and of no others", async () => {
    const { groups, client } = await environment("dry-zeros");
    for (const userGroupId of ["000019", "20", "0", "7a"]) await client.ensure({ userGroupId });
    const file = fileOf("user_group_id\n19\n0019\n20\n00\n7\n07a\n");
    const { stdout } = await groups("import", file, "--dry-run");
    expect(stdout.split("\n").filter((line) => line.includes("zeros"))).toEqual([
      'Has "19" lost zeros? There is a group "000019".',
      'Has "0019" lost zeros? There is a group "000019".',
      'Has "00" lost zeros? There is a group "0".',
      "Spreadsheets remove zeros at the beginning of numbers: format the column of ids as text, and fill it again.",
    ]);
    expect(JSON.parse((await groups("import", file, "--dry-run", "--json")).stdout).without_zeros).toHaveLength(3);
  });

  it("reports lines that name no group or repeat one", async () => {
    const { groups } = await environment("dry-refused");
    const file = fileOf('{"user_group_id":"a"}\nnonsense\n{"user_group_id":"a"}\n{"name":"x"}\n', "ndjson");
    const { status, stderr, stdout } = await groups("import", file, "--dry-run");
    expect([status, stderr.split("\n").map((line) => line.split(":")[0])]).toEqual([1, ["line 2", "line 3", "line 4"]]);
    expect(stdout).toContain("create 1, leave 0, differs 0, refused 3.");
  });
});

describe("export", () => {
  it("writes cells that no spreadsheet takes for formulas, and imports them as they were", async () => {
    const source = await environment("formulas");
    const values = {
      a: "=1+1",
      b: "+49",
      c: "-5",
      d: "@x",
      e: "'=x",
      f: "\t=x",
      g: "''",
      h: "a\nb",
      i: 'q"q',
      j: " x ",
      k: "end",
    };
    await source.client.ensure({
      userGroupId: "-id",
      name: "=cmd|' /C calc'!A0",
      properties: values,
      mapping: { "+s": "=d" },
    });
    const { stdout, status, stderr } = await source.groups("export", "--format", "csv");
    expect([status, stderr]).toEqual([0, ""]);
    const cells = stdout.replaceAll(/"(?:[^"]|"")*"/g, (cell) => cell.slice(1, -1)).split(/[,\n]/);
    expect(cells.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
    const target = await environment("formulas-imported");
    expect((await target.groups("import", fileOf(stdout))).stdout).toBe("created 1, found 0, differs 0, refused 0");
    expect(await target.contents()).toEqual(await source.contents());
  });

  it("names the values that are no texts, and an import of it changes nothing", async () => {
    const { groups, client } = await environment("types");
    await client.ensure({ userGroupId: "a", properties: { n: 1, t: "x", l: [1], empty: "", none: null } });
    await client.ensure({ userGroupId: "b", properties: { t: "y" } });
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    await operator.inEnvironment({ workspace: "csv-types", environment: "Testing" }).suspendByNumber({ teamId: 2 });
    const { stdout, stderr } = await groups("export", "--format", "csv", "--delimiter", ";", "--bom");
    expect(stdout.split("\r\n")).toEqual([
      "user_group_id;name;state;team_id;properties.empty;properties.l;properties.n;properties.none;properties.t",
      "a;a;active;1;;[1];1;null;x",
      "b;b;suspended;2;;;;;y",
    ]);
    expect(stderr).toContain("Values that are not texts, or are empty: 4.");
    expect((await groups("import", fileOf(stdout), "--update")).stdout).toBe(
      "created 0, found 2, updated 0, conflicts 0, refused 0",
    );
  });

  it("keeps keys with outer blanks, of which some are nothing else", () => {
    const header = " user_group_id ,properties.a ,properties. a,properties.\t,mapping. ";
    const [row] = readCsv(Buffer.from(`${header}\nx,1,2,3,4\n`), NO_OPTIONS);
    expect(row?.group.fields).toEqual({
      user_group_id: "x",
      properties: { "a ": "1", " a": "2", "\t": "3" },
      mapping: { " ": "4" },
    });
  });

  it("escapes each text so that an import restores it", () => {
    const text = fc.string({ unit: fc.constantFrom("'", "=", "+", "-", "@", "\t", "\r", "\n", "a", "＝", '"') });
    fc.assert(
      fc.property(text, (value) => {
        expect(unescapeFormula(escapeFormula(value))).toBe(value);
        expect(escapeFormula(value)).not.toMatch(/^[=+\-@\t\r\n＝]/);
      }),
    );
  });

  it.for([",", ";"])(
    "5,000 rows with every kind of text and %j between them are read as they are",
    async (delimiter) => {
      const groups = groupsOfEveryText(ROWS);
      const rows = readCsv(Buffer.from(`\ufeff${await csvText(groups, delimiter)}`), NO_OPTIONS);
      expect(rows.map(({ group }) => group.fields)).toEqual(
        groups.map(({ provided_id: id, name, properties }) => ({ user_group_id: id, name, properties })),
      );
      expect(rows.map(({ number }) => number)).toEqual(groups.map((_, index) => index + 2));
    },
  );

  it("rows with every kind of text arrive in the service as they are, and come back as they were", async () => {
    const { groups, contents } = await environment("every-text");
    const rows = groupsOfEveryText(inject("effort").minutes > 0 ? ROWS : 200);
    const { status, stdout } = await groups("import", fileOf(await csvText(rows, ";")));
    expect([status, stdout]).toEqual([0, `created ${rows.length}, found 0, differs 0, refused 0`]);
    const sorted = <Item extends { userGroupId: string }>(items: Item[]) =>
      items.toSorted((one, other) => (one.userGroupId < other.userGroupId ? -1 : 1));
    expect(sorted(await contents())).toEqual(
      sorted(rows.map(({ provided_id: userGroupId, ...row }) => ({ userGroupId, ...row }))),
    );
    const again = fileOf((await groups("export", "--format", "csv")).stdout);
    expect((await groups("import", again, "--update")).stdout).toBe(
      `created 0, found ${rows.length}, updated 0, conflicts 0, refused 0`,
    );
  });
});

const ROWS = 5_000;

/** Groups as the service lists them, whose texts have what is special in a CSV, in a terminal or in a spreadsheet. */
function groupsOfEveryText(count: number) {
  // The service takes no control characters in names and ids.
  const ofNames = ["a", "ü", "ß", "😀", ",", ";", '"', "'", "=", "+", "-", "@", " "];
  const ofProperties = [...ofNames, "\r", "\n", "\r\n", "\u2028", "\t", "\ufeff"];
  const textsOf = (units: string[]) => {
    const text = fc.string({ unit: fc.constantFrom(...units), minLength: 1, maxLength: 12 });
    const [texts = []] = fc.sample(fc.array(text, { minLength: count, maxLength: count, size: "max" }), {
      numRuns: 1,
      seed: 7,
    });
    return texts;
  };
  const [names, properties] = [textsOf(ofNames), textsOf(ofProperties)];
  return names.map((name, n) => ({
    ...{ provided_id: `${name}-${n}.`, name: `${name}.`, state: "active", mapping: null },
    properties: { "ключ.ü": properties[n], я: "x" },
  }));
}
