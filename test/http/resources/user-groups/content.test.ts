import { describe, expect, it } from "vitest";
import { COLUMNS, CONTENT, CONTENT_FIELDS, GROUP_FIELDS } from "../../../../common/content.ts";
import { backUp, restore, wipe } from "../../../support/backups.ts";
import { byNumber } from "../../../support/by-number.ts";
import { signIn } from "../../../support/console.ts";
import { content, contentOf, creating, nameInUpdate, valueOfField } from "../../../support/content.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { issueOperator, newIntegrator } from "../../../support/states.ts";
import { answeredBy, STALE, view } from "../../../support/viewers.ts";

/** Follows every field of a group, by the table of fields, through all that the Worker does with groups. */

const MERGE_PATCH = { headers: { "Content-Type": "application/merge-patch+json" } };

/** A group in which each field has a value of its own. */
async function start() {
  const integrator = await newIntegrator();
  const { body } = await integrator.get(creating("before"));
  return { ...integrator, token: body.user_group.token, by: byNumber(integrator.key) };
}

describe("every field of a group", () => {
  it("is in its answers; the mapping only in those to viewers and by number", async () => {
    const { get, put, by } = await start();
    const { mapping: _, ...common } = content("before");
    const { body: found } = await get({ user_group_id: "initech" });
    expect(found.user_group).toMatchObject(common);
    expect((await put({ user_group_id: "initech" })).body.user_group).toMatchObject(common);
    expect(contentOf((await by.show(1)).body.user_group)).toEqual(content("before"));
    expect((await by.list()).body.user_groups.map(contentOf)).toEqual([content("before")]);
  });

  it("is in a fresh view, in a stale view of a session and in a lease", async () => {
    const { key, token, leasedTokenOf } = await start();
    const session = await sessionOf(key, { user_group_id: "initech", max_stale_seconds: 60 });
    await leasedTokenOf("initech");
    const views = [await view(token), await view(session), await view(token, STALE)];
    expect(views.map(answeredBy)).toEqual(["directory", "session", "index"]);
    for (const { body } of views) expect(contentOf(body.user_group)).toEqual(content("before"));
  });

  it("is changed by an update, as a whole, and its event names it", async () => {
    const { put, by } = await start();
    // The id comes last, because the update names the group by it.
    for (const field of [...GROUP_FIELDS, "providedId"] as const) {
      await put({ user_group_id: "initech", [nameInUpdate(field)]: valueOfField(field, "after") });
      expect((await by.events()).at(-1).changed).toEqual([COLUMNS[field]]);
    }
    expect(contentOf((await by.show(1)).body.user_group)).toEqual(content("after"));
  });

  it("is cleared by null if it may be missing, and set again by a merge patch", async () => {
    const { put, by } = await start();
    for (const field of GROUP_FIELDS) {
      const { status } = await put({ user_group_id: "initech", [COLUMNS[field]]: null });
      expect([field, status]).toEqual([field, CONTENT[field].isNullable ? 200 : 422]);
      if (status === 200) expect((await by.show(1)).body.user_group[COLUMNS[field]]).toBeNull();
      const { body } = await by.update(1, { [COLUMNS[field]]: valueOfField(field, "after") }, MERGE_PATCH);
      expect(body.user_group[COLUMNS[field]]).toEqual(valueOfField(field, "after"));
    }
  });

  it("is in a backup, which brings it back", async () => {
    const { token } = await start();
    const pages = await backUp();
    await wipe("acme/Testing");
    expect((await restore(pages)).status).toBe(200);
    expect(contentOf((await view(token)).body.user_group)).toEqual(content("before"));
  });

  it("is shown and edited in the console", async () => {
    const { by } = await start();
    const visitor = await signIn(await issueOperator("admin"));
    const path = "/console/environments/acme/Testing/groups/1";
    const { body: page } = await visitor.get(path);
    for (const field of CONTENT_FIELDS)
      for (const text of partsOf(valueOfField(field, "before"))) expect(page).toContain(`<bdi>${asHtml(text)}</bdi>`);

    for (const field of CONTENT_FIELDS) {
      const fields = { [nameInUpdate(field)]: textOf(valueOfField(field, "after")) };
      expect([field, (await visitor.send(`${path}/edit`, fields)).status]).toEqual([field, 303]);
      expect((await by.events()).at(-1).changed).toEqual([COLUMNS[field]]);
    }
    expect(contentOf((await by.show(1)).body.user_group)).toEqual(content("after"));
    const { body: form } = await visitor.get(`${path}/edit`);
    for (const field of CONTENT_FIELDS) {
      const value = asHtml(textOf(valueOfField(field, "after")));
      expect(form).toMatch(new RegExp(`name="${nameInUpdate(field)}"[^]*?${RegExp.escape(value)}`));
    }
  });
});

/** The texts of a value that the page of a group shows, of an object each key and value. */
const partsOf = (value: unknown): string[] =>
  typeof value === "string"
    ? [value]
    : Object.entries(Object(value)).flatMap(([key, each]) => [key, JSON.stringify(each)]);

/** A value as a form has it. */
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const asHtml = (text: string): string => text.replaceAll('"', "&quot;");
