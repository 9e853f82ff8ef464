import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { UserGroupClient } from "../../client/src/index.ts";
import { COLUMNS, CONTENT, GROUP_FIELDS, type GroupField } from "../../common/content.ts";
import { clientFields, content, contentOf, creating, valueOfField, type When } from "../support/content.ts";
import { runCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

/** Follows every field of a group, by the table of fields, through the commands and the client. */

/** A workspace of a test's own, and the commands in it. */
async function start(workspace: string, when?: When) {
  const apiKey = await keyOfWorkspace(workspace);
  const client = new UserGroupClient({ url: inject("service").url, apiKey });
  if (when) await client.ensure({ userGroupId: String(valueOfField("providedId", when)), ...clientFields(when) });
  const groups = (...args: string[]) => runCommand("groups", args, { API_KEY: apiKey });
  const importLines = (lines: string, ...args: string[]) => {
    const file = join(newFolder(), "groups.ndjson");
    writeFileSync(file, `${lines}\n`);
    return groups("import", file, ...args);
  };
  const exported = async () => JSON.parse((await groups("export")).stdout);
  return { client, groups, importLines, exported };
}

it("the client creates a group with every field, reads it and changes it", async () => {
  const { client, exported } = await start("content-client", "before");
  expect(contentOf(await exported())).toEqual(content("before"));
  await client.updateByNumber({ teamId: 1, ...clientFields("after") });
  expect(await client.get({ teamId: 1 })).toMatchObject(clientFields("after"));
});

it("an import creates a group with every field of an export", async () => {
  const { groups } = await start("content-exported", "before");
  const { stdout } = await groups("export");
  const { importLines, exported } = await start("content-imported");
  expect((await importLines(stdout)).stdout).toContain("created 1");
  expect(contentOf(await exported())).toEqual(content("before"));
});

it("a CSV has every field whose values are texts, and an import of it changes none", async () => {
  const { groups } = await start("content-csv", "before");
  const file = join(newFolder(), "content.csv");
  writeFileSync(file, (await groups("export", "--format", "csv")).stdout);
  const [header = ""] = readFileSync(file, "utf8").split("\r\n");
  for (const field of GROUP_FIELDS) expect(header).toMatch(new RegExp(`,${COLUMNS[field]}(?:[.,]|$)`));
  expect((await groups("import", file, "--update")).stdout).toContain("found 1, updated 0");
  const { groups: target, exported } = await start("content-csv-imported");
  expect((await target("import", file)).stdout).toContain("created 1");
  for (const field of GROUP_FIELDS.filter((each) => CONTENT[each].kind !== "object"))
    expect((await exported())[COLUMNS[field]]).toEqual(valueOfField(field, "before"));
});

it.for(GROUP_FIELDS)("an import finds what differs, and changes it with --update: %s", async (field) => {
  const { importLines, exported } = await start(`content-update-${field.toLowerCase()}`, "before");
  const line = JSON.stringify({ ...creating("before"), [COLUMNS[field]]: valueOfField(field, "after") });
  expect((await importLines(line)).stdout).toContain("differs 1");
  expect((await importLines(line, "--update")).stdout).toContain("updated 1");
  const changed = { ...content("before"), [COLUMNS[field]]: valueOfField(field, "after") };
  expect(contentOf(await exported())).toEqual(changed);
});

it("ug groups shows every field", async () => {
  const { groups } = await start("content-shown", "before");
  const { stdout } = await groups("show", "1");
  for (const field of GROUP_FIELDS) expect(stdout).toContain(textOf(field, "before"));
});

it("ug groups update changes every field, and clears what may be missing", async () => {
  const { groups, exported } = await start("content-changed", "before");
  for (const field of GROUP_FIELDS) {
    const option = `--${COLUMNS[field].replaceAll("_", "-")}`;
    if (CONTENT[field].isNullable) {
      await groups("update", "1", option, typeof valueOfField(field, "after") === "string" ? "" : "null");
      expect((await exported())[COLUMNS[field]]).toBeNull();
    }
    await groups("update", "1", option, textOf(field, "after"));
    expect((await exported())[COLUMNS[field]]).toEqual(valueOfField(field, "after"));
  }
});

/** A value as a command has it. */
function textOf(field: GroupField, when: When): string {
  const value = valueOfField(field, when);
  return typeof value === "string" ? value : JSON.stringify(value);
}
