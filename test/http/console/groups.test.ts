import { describe, expect, it, vi } from "vitest";
import { call } from "../../support/client.ts";
import { CONSOLE_ROUTES, signIn, visitorOf } from "../../support/console.ts";
import { CREDENTIAL_PATTERN } from "../../support/credential-pattern.ts";
import { inEnvironment, issueOperator, newIntegrator, operator } from "../../support/states.ts";
import { inDirectory } from "../../support/storage.ts";
import { view } from "../../support/viewers.ts";
import { watchedEnv } from "../../support/watched-env.ts";

const ENVIRONMENT = "/console/environments/acme/Testing";
const GROUP = `${ENVIRONMENT}/groups/1`;

const eventsOf = async () => (await call("GET", `/api/events${inEnvironment()}`, { credential: operator })).body.events;

const shownGroup = async (query = "") =>
  (await call("GET", `/api/user_groups/1${inEnvironment()}${query}`, { credential: operator })).body.user_group;

/** One group, and an operator who has signed in. */
async function newVisitor(role: "viewer" | "support" | "admin" = "admin", fields: object = {}) {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", fields);
  const key = await issueOperator(role, { name: `ada ${role}` });
  return { ...integrator, token, key, visitor: await signIn(key) };
}

describe("the list of groups", () => {
  it("is filtered by prefix and state, and goes on with a link", async () => {
    const { visitor, tokenOf, put } = await newVisitor();
    for (let number = 1; number <= 60; number += 1) await tokenOf(`b-${String(number).padStart(2, "0")}`);
    await put({ user_group_id: "b-07", suspended: true });

    const page = await visitor.get(`${ENVIRONMENT}/groups?user_group_id_prefix=b-`);
    expect(page.body).toContain("b-50");
    expect(page.body).not.toContain("b-51");

    const [, next = ""] = /href="([^"]+)" rel="next"/.exec(page.body) ?? [];
    const second = await visitor.get(next.replaceAll("&amp;", "&"));
    expect(second.body).toContain("b-60");
    expect(second.body).not.toContain("b-50<");

    const suspended = await visitor.get(`${ENVIRONMENT}/groups?state=suspended&user_group_id_prefix=`);
    expect(new Set(suspended.body.match(/b-\d\d/g))).toEqual(new Set(["b-07"]));
  });

  it("continues a search with a link of its own, and another one from its first page", async () => {
    const { visitor, tokenOf } = await newVisitor();
    for (let number = 1; number <= 60; number += 1) await tokenOf(`b-${number}`);
    const { body } = await visitor.get(`${ENVIRONMENT}/groups?search=b-`);
    const [, next = ""] = /href="([^"]+)" rel="next"/.exec(body) ?? [];
    const link = next.replaceAll("&amp;", "&");
    expect((await visitor.get(link)).body).toContain("b-60");
    expect((await visitor.get(link.replace("search=b-", "search=b"))).status).toBe(422);
  });

  it("says since when each group is suspended or deleted, in the lists of these", async () => {
    const { visitor, key } = await newVisitor();
    const timeIn = async (state: string) => {
      const { body } = await visitor.get(`${ENVIRONMENT}/groups?state=${state}`);
      const [, heading] = /<th class="fit low">([^<]+)/.exec(body) ?? [];
      return [heading, /<td class="fit low"><time datetime="([^"]+)/.exec(body)?.[1]];
    };
    expect(await timeIn("active")).toEqual(["Edited", (await shownGroup()).updated_at]);
    vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ["Date"] });
    const suspended = { suspended: true };
    await call("PUT", `/api/user_groups/1${inEnvironment()}`, { credential: key, body: suspended });
    expect(await timeIn("suspended")).toEqual(["Suspended", (await shownGroup()).suspended_at]);
    await call("DELETE", `/api/user_groups/1${inEnvironment()}`, { credential: key, body: {} });
    expect(await timeIn("deleted")).toEqual(["Deleted", (await shownGroup("&state=deleted")).deleted_at]);
  });

  it.for([
    ["cursor=%22%3E", "cursor"],
    ["search=acme&search=globex", "search"],
    ["search=%FF", "search"],
    ["unknown=1", "unknown"],
  ])("is refused as the API refuses it: %s", async ([query, field]) => {
    const { visitor } = await newVisitor();
    const refused = await call("GET", `/api/user_groups${inEnvironment()}&${query}`, { credential: operator });
    const [issue] = refused.body.error.issues;
    expect([refused.status, issue.path]).toEqual([422, [field]]);
    const { status, body } = await visitor.get(`${ENVIRONMENT}/groups?${query}`);
    expect(status).toBe(422);
    expect(body).toContain(issue.message);
    expect(body).not.toContain("No groups yet");
  });

  it("says what is wrong with a filter, at its field", async () => {
    const { visitor } = await newVisitor();
    const { status, body } = await visitor.get(`${ENVIRONMENT}/groups?state=deleted&search=a&user_group_id_prefix=a`);
    expect(status).toBe(422);
    expect(body).toContain('href="#field-user_group_id_prefix"');
  });
});

describe("every page of a list", () => {
  it.for([
    "/console/environments",
    "/console/operators",
    "/console/events",
    `${ENVIRONMENT}/groups`,
    `${ENVIRONMENT}/keys`,
    `${ENVIRONMENT}/keys/1/about`,
  ])("refuses a cursor that it has not given, and a field that is given twice: %s", async (path) => {
    const { visitor } = await newVisitor();
    expect((await visitor.get(path)).status).toBe(200);
    for (const query of ["cursor=%22%3E", "cursor=1&cursor=1", "search=a&search=b"])
      expect([query, (await visitor.get(`${path}?${query}`)).status]).toEqual([query, 422]);
  });
});

describe("a group", () => {
  it("is shown without its token, to every role", async () => {
    for (const role of ["viewer", "support", "admin"] as const) {
      const { visitor } = await newVisitor(role, { properties: { region: "eu" } });
      const { status, body } = await visitor.get(GROUP);
      expect(status).toBe(200);
      expect(body).toMatch(/region<.*&quot;eu&quot;/);
      expect(body).not.toMatch(CREDENTIAL_PATTERN);
    }
  });

  it("offers a role what it may do, and nothing else", async () => {
    const offered = async (role: "viewer" | "support" | "admin") => {
      const { body } = await (await newVisitor(role)).visitor.get(GROUP);
      return [...body.matchAll(/groups\/1\/([a-z-]+)"/g)].map(([, word]) => word);
    };
    expect(await offered("viewer")).toEqual(["view-as"]);
    const support = ["view-as", "edit", "rotate", "suspend", "end-sessions"];
    expect(await offered("support")).toEqual(support);
    expect(await offered("admin")).toEqual([...support, "delete"]);
  });

  it("is suspended with a reason and resumed, under the operator's name", async () => {
    const { visitor, token } = await newVisitor("support");
    const suspended = await visitor.send(`${GROUP}/suspend`, { reason: "unpaid" });
    expect(suspended.headers.get("Location")).toBe(`${GROUP}?done=suspended`);
    expect((await view(token)).status).toBe(403);
    const { body } = await visitor.get(`${GROUP}?done=suspended`);
    expect(body).toContain(`<a class="button" href="${GROUP}/resume">Resume…</a>`);
    expect(body).toMatch(
      /<b>Suspended <time.*by <a href="\/console\/operators\/1\/about"><bdi>ada support<.*unpaid.*viewers/,
    );

    await visitor.send(`${GROUP}/resume`);
    expect((await view(token)).status).toBe(200);
    expect((await eventsOf()).slice(-2)).toMatchObject([
      { type: "user_group.suspended", reason: "unpaid", actor: { kind: "operator", name: "ada support" } },
      { type: "user_group.resumed", actor: { kind: "operator", name: "ada support" } },
    ]);
  });

  it("gets a new token, and the old one goes on for the grace", async () => {
    const { visitor, token, tokenOf } = await newVisitor("support");
    await visitor.send(`${GROUP}/rotate`, { grace_seconds: "3600" });
    expect((await view(token)).status).toBe(200);
    const current = await tokenOf("acme");
    expect(current).not.toBe(token);
    await visitor.send(`${GROUP}/rotate`, { grace_seconds: "0" });
    expect((await view(current)).status).toBe(401);
  });

  it("is deleted, restored from its own page, and purged with its id and the operator's key", async () => {
    const { visitor, token, key } = await newVisitor();
    await visitor.send(`${GROUP}/delete`, { reason: "left" });
    expect((await view(token)).status).toBe(401);
    expect((await visitor.get(GROUP)).body).toMatch(/Deleted <time.*by <a href="\/console\/operators\/1\/about">/);

    await visitor.send(GROUP, {}, `${GROUP}/restore`);
    expect((await view(token)).status).toBe(200);

    await visitor.send(`${GROUP}/delete`);
    const other = await issueOperator("admin", { name: "other" });
    for (const operator_key of ["", "ugo_wrong", other])
      expect((await visitor.send(`${GROUP}/purge`, { confirmation: "acme", operator_key })).status).toBe(422);
    expect((await visitor.send(`${GROUP}/purge`, { confirmation: "acme", operator_key: key })).status).toBe(303);
    const gone = await visitor.get(GROUP);
    const [, events = ""] = /href="([^"]+)">Events of this number/.exec(gone.body) ?? [];
    expect([gone.status, events.endsWith("team_id=1")]).toEqual([404, true]);
    expect((await visitor.get(events.replaceAll("&amp;", "&"))).body).toMatch(/<h1>Events of <bdi>acme<.*Purged/);
    expect((await eventsOf()).map(({ type }: { type: string }) => type).slice(-4)).toEqual([
      "user_group.deleted",
      "user_group.restored",
      "user_group.deleted",
      "user_group.purged",
    ]);
  });

  it("is left as it is if it has changed since the page was opened", async () => {
    const { visitor, put } = await newVisitor();
    for (const word of ["rotate", "suspend", "delete", "end-sessions"]) {
      const etag = /name="etag" value="([^"]+)"/.exec((await visitor.get(`${GROUP}/${word}`)).body)?.[1] ?? "";
      await put({ user_group_id: "acme", name: `changed before ${word}` });
      const fields = { etag: etag.replaceAll("&quot;", '"'), confirmation: "acme" };
      const { status, body } = await visitor.send(`${GROUP}/${word}`, fields);
      expect([word, status]).toEqual([word, 422]);
      expect(body).toContain("has changed since");
    }
    expect(await shownGroup()).toMatchObject({ state: "active", name: "changed before end-sessions" });
  });
});

/** What a browser sends of a page's text areas. */
const textAreasOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<textarea [^>]*name="(\w+)"[^>]*>\n?([^<]*)/g)].map(([, name = "", text = ""]) => [
      name,
      text.replaceAll("&quot;", '"').replaceAll("&amp;", "&").replaceAll("\n", "\r\n"),
    ]),
  );

describe("the edit of a large group", () => {
  /** Entries of a mapping, 3 bytes a character, and so 9 in a form. */
  const entries = (first: number, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${first + index}`, "客".repeat(255)]));

  it("renames it, though percent-encoding makes its form three times as long", async () => {
    const { visitor } = await newVisitor("admin", { properties: { a: "客".repeat(5400) }, mapping: entries(0, 50) });
    const texts = textAreasOf((await visitor.get(`${GROUP}/edit`)).body);
    expect(new URLSearchParams(texts).toString().length).toBeGreaterThan(2 * 64 * 1024);
    const { status } = await visitor.send(`${GROUP}/edit`, { ...texts, name: "Renamed" });
    expect([status, (await shownGroup()).name]).toEqual([303, "Renamed"]);
  });

  it("renames it, though no form can hold its mapping, which stays", async () => {
    const { visitor } = await newVisitor("admin", { mapping: entries(0, 50) });
    const patched = await call("PUT", `/api/user_groups/1${inEnvironment()}`, {
      credential: operator,
      headers: { "Content-Type": "application/merge-patch+json" },
      body: { mapping: entries(50, 50) },
    });
    expect(patched.status).toBe(200);
    const { body } = await visitor.get(`${GROUP}/edit`);
    expect(body.includes("The mapping is too long for a form")).toBe(true);
    const { status } = await visitor.send(`${GROUP}/edit`, { ...textAreasOf(body), name: "Renamed" });
    const group = await shownGroup();
    expect([status, group.name, Object.keys(group.mapping).length]).toEqual([303, "Renamed", 100]);
  });
});

it("renames a group in which an earlier release has stored U+0000, and leaves that", async () => {
  const { visitor } = await newVisitor("admin", { properties: { a: "b" } });
  await inDirectory(({ sql }) => {
    sql.exec("UPDATE user_groups SET properties = ?", '{"a":"b\\u0000"}');
  });
  const texts = textAreasOf((await visitor.get(`${GROUP}/edit`)).body);
  const { status } = await visitor.send(`${GROUP}/edit`, { ...texts, name: "Renamed" });
  const { name, properties } = await shownGroup();
  expect([status, name, properties]).toEqual([303, "Renamed", { a: "b\0" }]);
});

describe("the edit of a group", () => {
  const fields = { name: "Acme", properties: '{"region": "eu"}', mapping: "" };

  it("changes its fields", async () => {
    const { visitor } = await newVisitor("support", { mapping: { sales: "ds-1" } });
    const { headers } = await visitor.send(`${GROUP}/edit`, { ...fields, reason: "moved" });
    expect(headers.get("Location")).toBe(`${GROUP}?done=updated`);
    expect(await shownGroup()).toMatchObject({ name: "Acme", properties: { region: "eu" }, mapping: null });
    expect((await eventsOf()).at(-1)).toMatchObject({ changed: ["name", "mapping", "properties"], reason: "moved" });
  });

  it("renames for an admin alone", async () => {
    const support = (await newVisitor("support")).visitor;
    expect((await support.get(`${GROUP}/edit`)).body).not.toContain("new_user_group_id");
    const renaming = { ...fields, new_user_group_id: "zenith" };
    expect((await support.send(`${GROUP}/edit`, renaming)).status).not.toBe(303);
    const admin = await signIn(await issueOperator("admin"));
    expect((await admin.send(`${GROUP}/edit`, renaming)).status).toBe(303);
    expect(await shownGroup()).toMatchObject({ provided_id: "zenith" });
  });

  it("refuses what the API refuses, each at its field, and keeps what was typed", async () => {
    const { visitor } = await newVisitor();
    for (const [field, value] of [
      ["properties", '{"n": 12345678901234567890}'],
      ["properties", "[1]"],
      ["properties", "{"],
      ["mapping", '{"sales": 1}'],
      ["name", "a\tb"],
      ["reason", "a\u0007b"],
    ] as const) {
      const { status, body } = await visitor.send(`${GROUP}/edit`, { ...fields, [field]: value });
      expect([field, status]).toEqual([field, 422]);
      expect(body).toContain(`href="#field-${field}"`);
      expect(body).toContain(value.replaceAll('"', "&quot;"));
    }
    expect(await shownGroup()).toMatchObject({ name: "acme" });
  });

  it("names the field of each error in its summary, in the order of the page", async () => {
    const { visitor } = await newVisitor("admin");
    const fields = { name: "", properties: "{", mapping: "[]", reason: "x".repeat(600) };
    const { body } = await visitor.send(`${GROUP}/edit`, fields);
    const summary = [...body.matchAll(/<li><a href="#field-\w+">(\w+): /g)].map(([, label]) => label);
    expect(summary).toEqual(["Name", "Properties", "Mapping", "Reason"]);
  });

  it("shows both values of a conflict, and loses neither", async () => {
    const { visitor, put } = await newVisitor();
    const page = await visitor.get(`${GROUP}/edit`);
    const etag = (/name="etag" value="([^"]+)"/.exec(page.body)?.[1] ?? "").replaceAll("&quot;", '"');
    await put({ user_group_id: "acme", name: "Theirs", properties: { region: "us" } });

    const { status, body } = await visitor.send(`${GROUP}/edit`, { ...fields, name: "Mine", etag });
    expect(status).toBe(412);
    expect(body).toContain('value="Mine"');
    expect(body).toMatch(/Stored now:<\/p><pre><bdi>Theirs/);
    expect(body).toContain("{&quot;region&quot;: &quot;eu&quot;}");
    expect(body).toContain("&quot;region&quot;: &quot;us&quot;");
    expect(body.match(/Stored now/g)).toHaveLength(2);
    expect(await shownGroup()).toMatchObject({ name: "Theirs" });

    await visitor.send(`${GROUP}/edit`, { ...fields, name: "Mine" });
    expect(await shownGroup()).toMatchObject({ name: "Mine" });
  });
});

describe("view as a group", () => {
  it("begins with a template of the group's own variables, which binds", async () => {
    const properties = { "odd name": 1, deep: { a: 1 }, regions: ["eu", "us"], plan: "pro", none: null };
    const { visitor } = await newVisitor("viewer", { properties });
    const { sql = "" } = textAreasOf((await visitor.get(`${GROUP}/view-as`)).body);
    expect(sql.split("\r\n").slice(2)).toEqual([
      "[[AND regions IN ({{user_group.regions}})]]",
      "[[AND plan = {{user_group.plan}}]]",
    ]);
    const { status, body } = await visitor.send(`${GROUP}/view-as`, { sql });
    expect([status, body.includes("AND regions IN (?, ?)")]).toEqual([200, true]);
    expect(body).not.toContain('<details class="field" open');
  });

  it("binds a template as viewers get it, and marks what was dropped", async () => {
    const { visitor } = await newVisitor("viewer", { properties: { region: "eu" } });
    const sql =
      "a = {{user_group.region}} [[AND b = {{user_group.tier}}]]\r\nAND c = {{viewer_id}} AND d = {{viewer.team}}";
    const before = (await eventsOf()).length;
    const { status, body } = await visitor.send(`${GROUP}/view-as`, {
      sql,
      placeholders: "$1",
      viewer_id: "ada",
      viewer_properties: '{"team": "x"}',
    });
    expect(status).toBe(200);
    expect(body).toContain("a = $1 ");
    expect(body).toContain("AND c = $2 AND d = $3");
    expect(body).toMatch(/<del><bdi>\[\[AND b = \{\{user_group\.tier\}\}\]\]<\/bdi><\/del>/);
    expect(body).not.toMatch(/eyJ/);
    expect((await eventsOf()).length).toBe(before);
    expect((await shownGroup()).last_viewed_on).toBeNull();
  });

  it("binds values of a page, with the names that placeholders of ClickHouse have", async () => {
    const { visitor } = await newVisitor("viewer");
    const sql = "a = {{value.from}} [[AND b = {{value.to}}]]";
    const fields = { sql, placeholders: "{p1:String}", values: '{"from": "<i>"}' };
    const { status, body } = await visitor.send(`${GROUP}/view-as`, fields);
    expect(status).toBe(200);
    expect(body).toContain("a = {p1:String} </bdi>");
    expect(body).toMatch(/<ul><li><code>p1: <bdi>&quot;&lt;i&gt;&quot;/);
    expect(body).toMatch(/<del><bdi>\[\[AND b = \{\{value\.to\}\}\]\]<\/bdi><\/del>/);
  });

  it("warns of variables that sort nothing, by name, beside the result", async () => {
    const { visitor } = await newVisitor("viewer");
    const warningsIn = async (sql: string) => {
      const { status, body } = await visitor.send(`${GROUP}/view-as`, { sql, values: '{"sort": "<b>", "by": "x"}' });
      expect(status).toBe(200);
      expect(body).toContain("<h2>Bound SQL</h2>");
      return [...body.matchAll(/\{\{(value\.\w+)\}\}<\/bdi> sorts nothing/g)].map(([, name]) => name);
    };
    expect(await warningsIn("ORDER BY {{value.sort}} DESC, x, {{value.by}}")).toEqual(["value.sort", "value.by"]);
    expect(await warningsIn("ORDER BY CASE {{value.sort}} WHEN 'x' THEN x END LIMIT {{value.by}}")).toEqual([]);
  });

  it("says what is wrong with a template or a person", async () => {
    const { visitor } = await newVisitor("viewer");
    for (const [fields, field] of [
      [{ sql: "a = {{nothing}}" }, "sql"],
      [{ sql: "a = {{viewer_id}}" }, "sql"],
      [{ sql: "[[ a" }, "sql"],
      [{ sql: "1", values: "[]" }, "values"],
      [{ sql: "1", values: '{"From": 1}' }, "values"],
      [{ sql: "1", values: '{"a": 1e999}' }, "values"],
      [{ sql: "1", viewer_properties: "{" }, "viewer_properties"],
      [{ sql: "1", viewer_id: "a\u0007" }, "viewer_id"],
    ] as const) {
      const { status, body } = await visitor.send(`${GROUP}/view-as`, fields);
      expect(status).toBe(422);
      expect(body).toContain(`href="#field-${field}"`);
    }
  });
});

it("shows the overview of an environment", async () => {
  const { visitor, tokenOf } = await newVisitor("viewer");
  await tokenOf("b");
  const { status, body } = await visitor.get(ENVIRONMENT);
  expect(status).toBe(200);
  expect(body).toContain(`<a href="${ENVIRONMENT}/groups">2</a>`);
  expect(body).not.toContain("<dt>Size</dt>");
});

it("shows the start page by workspaces, and wakes no environment for it", async () => {
  const { visitor } = await newVisitor();
  for (const environment of ["Customer", null])
    await call("POST", "/api/keys", { credential: operator, body: { workspace: "zoo", environment, name: "backend" } });
  await call("POST", "/api/keys", { credential: operator, body: { workspace: "acme", environment: null, name: "x" } });
  const { watched, costs } = watchedEnv();
  const { body } = await visitorOf(visitor.cookie, watched).get("/console/environments");
  const rows = body.match(/<tr><td>.*?<\/tr>/g)?.map((row: string) => row.match(/^<tr><td>\w+|aria-label="[^"]+"/g));
  expect(rows).toEqual([
    ["<tr><td>acme", 'aria-label="acme/Testing"', 'aria-label="acme/untagged"'],
    ["<tr><td>zoo", 'aria-label="zoo/Customer"', 'aria-label="zoo/untagged"'],
  ]);
  expect(costs.rpcs.filter((name) => !name.startsWith("registry."))).toEqual([]);
});

it("asks each object a few times for a page of an environment", async () => {
  const { visitor } = await newVisitor();
  const pages = CONSOLE_ROUTES.filter(({ method, path }) => method === "GET" && path.startsWith(ENVIRONMENT));
  expect(pages.length).toBeGreaterThan(10);
  for (const { path } of pages) {
    const { watched, costs } = watchedEnv();
    await visitorOf(visitor.cookie, watched).get(path);
    const ofRegistry = costs.rpcs.filter((name) => name.startsWith("registry.")).length;
    // Admission, the frame, and the admission to the events of a key.
    expect(ofRegistry, path).toBeLessThanOrEqual(3);
    expect(costs.rpcs.length - ofRegistry, path).toBeLessThanOrEqual(2);
    expect(costs.kv).toEqual([]);
  }
});

const HOSTILE = `<script>alert(1)</script>"'&\u202e\u200b javascript:alert(1) ${"x".repeat(180)}`;

it("shows hostile texts as texts on every page", async () => {
  const { get } = await newIntegrator();
  const deep = Array.from({ length: 30 }).reduce((inner: unknown) => ({ [HOSTILE]: inner }), HOSTILE);
  await get({ user_group_id: HOSTILE, name: HOSTILE, properties: { deep }, mapping: { [HOSTILE]: HOSTILE } });
  const visitor = await signIn(await issueOperator("admin", { name: "<script>alert(2)</script>" }));
  for (const { method, path } of CONSOLE_ROUTES.filter(({ method }) => method === "GET")) {
    const { body } = await visitor.get(path);
    expect([method, path, /<script/i.test(String(body))]).toEqual([method, path, false]);
    expect(String(body)).not.toMatch(/href="javascript:|[\u202e\u200b](?![^<]*<\/textarea>)(?![^<]*")/);
    expect(String(body).length).toBeLessThan(48_000);
  }
});

it("shows 16 KiB of nested properties on a page that stays small", async () => {
  const chain = JSON.parse(`${'{"a":'.repeat(28)}1${"}".repeat(28)}`);
  const properties = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`k${index}`, chain]));
  expect(JSON.stringify(properties).length).toBeGreaterThan(15_000);
  const { visitor } = await newVisitor("admin", { properties });
  for (const path of [GROUP, `${GROUP}/edit`]) {
    const { status, body } = await visitor.get(path);
    expect(status).toBe(200);
    expect(body.length).toBeLessThan(48_000);
  }
});
