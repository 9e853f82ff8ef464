import { evictAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { runAlarm } from "../../../support/alarm.ts";
import {
  backUp,
  backupPage,
  insertLargeGroups,
  linesOf,
  OF_ACME,
  rehashed,
  restore,
  restorePage,
  wipe,
} from "../../../support/backups.ts";
import { byNumber } from "../../../support/by-number.ts";
import { call, codeOf } from "../../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { limiter } from "../../../support/limiter.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { view } from "../../../support/viewers.ts";

const ACME = "acme/Testing";
const REVOKED = [401, "credential_revoked"];
const NOT_EMPTY = [409, "environment_not_empty"];
const FORBIDDEN = [403, "insufficient_access"];
const INVALID = [422, "invalid_backup"];
const AS_NDJSON = { headers: { "Content-Type": "application/x-ndjson" } };

/** The only page of a small backup, after which its environment, or the registry, is wiped. */
async function onlyPage(query = OF_ACME, name = ACME): Promise<string> {
  const [page = ""] = await backUp(query);
  await wipe(name);
  return page;
}

/** Restores a page that was edited without a signing key. */
const restoreEdited = async (page: string, edit: (text: string) => string, query = OF_ACME) =>
  restorePage(await rehashed(page, edit), query, "unsigned=true");

/** An environment with groups in each state, sessions, some of which are ended, and keys. */
async function start() {
  const integrator = await newIntegrator();
  const { key, tokenOf } = integrator;
  const by = byNumber(key);
  const fields = {
    name: 'Ä "Acme"',
    mapping: { m: "d", ["__proto__"]: "x" },
    properties: { deep: [{ a: null }], 2: 1 },
  };
  const token = await tokenOf("acme", fields);
  await tokenOf("suspended");
  await by.update(2, { suspended: true, reason: "unpaid" });
  const deleted = await tokenOf("deleted");
  await by.remove(3);
  const graced = await tokenOf("graced");
  await by.rotate(4, { grace_seconds: 3600 });
  const second = await issueKey({ name: "second", scopes: ["groups:read"] });
  const ended = await sessionOf(key, { viewer_id: "ann" });
  await call("POST", "/api/viewer_sessions/end", { credential: key, body: { session: ended } });
  const open = await sessionOf(key, { viewer_id: "bob" });
  // The first view of a group on a day changes what lists show of it.
  for (const viewed of [token, graced]) await view(viewed);
  return { ...integrator, by, token, deleted, graced, second, ended, open };
}

/** All that an integrator and its viewers can see. */
async function everything({ key, by, token, graced, second, ended, open }: Awaited<ReturnType<typeof start>>) {
  const seen = [
    await by.list(),
    await by.list({ state: "deleted" }),
    await by.show(1),
    await call("GET", "/api/user", { credential: key, body: { user_group_id: "acme" } }),
    await view(token),
    await view(graced),
    await view(ended),
    await view(open),
    await call("GET", "/api/whoami", { credential: second }),
    await call("GET", "/api/events?limit=1000", { credential: key }),
  ];
  return seen.map(({ status, headers, body }) => {
    const { request_id: _, next_cursor: __, ...rest } = body;
    return [status, headers.get("ETag"), JSON.stringify(rest)];
  });
}

describe("a backup that is restored under the same names", () => {
  it("brings back every group, key, session and event", async () => {
    const state = await start();
    const before = await everything(state);
    const pages = await backUp();
    await wipe(ACME);
    expect(codeOf(await view(state.token))).toEqual(REVOKED);
    expect((await restore(pages)).body).toEqual({ success: 1, page: pages.length, done: true });
    expect(await everything(state)).toEqual(before);
    const { body } = await call("GET", "/api/events", { credential: operator });
    expect(body.events.at(-1)).toMatchObject({
      type: "environment.restored",
      environment: { workspace: "acme", environment: "Testing" },
    });
  });

  it("goes on with numbers that nobody had, under a new feed", async () => {
    const { key, get, by } = await start();
    const { body: feed } = await call("GET", "/api/events?cursor=latest", { credential: key });
    const newest = (await by.events()).at(-1).id;
    const pages = await backUp();
    await wipe(ACME);
    await restore(pages);
    const created = await get({ user_group_id: "new" });
    expect(created.body.user_group.team_id).toBe(1_000_004);
    const [event] = (await by.events({ user_group_id: "new" })) as { id: number }[];
    expect(event?.id).toBe(newest + 1_000_000);
    await issueKey({ name: "third" });
    const { body } = await call("GET", `/api/keys${OF_ACME}`, { credential: operator });
    expect(body.api_keys.map(({ id }: { id: number }) => id)).toEqual([1, 2, 1_000_002]);
    const old = await call("GET", `/api/events?cursor=${feed.next_cursor}`, { credential: key });
    expect(codeOf(old)).toEqual([410, "cursor_expired"]);
    // A page that begins at a time finds the event on either side of the gap.
    const since = async (at: string) => (await by.events({ since: at }))[0]?.id;
    const all = (await by.events()) as { id: number; at: string }[];
    expect(await since(all[1]?.at ?? "")).toBeLessThanOrEqual(all[1]?.id ?? 0);
    expect(await since("2000-01-01T00:00:00Z")).toBe(1);
  });

  it("begins again if the feed has lost an event that a backup needs", async () => {
    const { by } = await start();
    await insertLargeGroups(70);
    const cursor = linesOf((await backupPage()).body).at(-1).next_cursor;
    expect(cursor).toBeTypeOf("string");
    expect((await backupPage(OF_ACME, cursor)).status).toBe(200);
    const keepNewest = () =>
      inDirectory(({ sql }) => sql.exec("DELETE FROM events WHERE id < (SELECT max(id) FROM events)"));
    await by.update(1, { name: "renamed since" });
    await keepNewest();
    expect((await backupPage(OF_ACME, cursor)).status).toBe(200);
    await by.update(5, { name: "renamed later" });
    await keepNewest();
    expect(codeOf(await backupPage(OF_ACME, cursor))).toEqual([410, "cursor_expired"]);
  });

  it("counts the pages of a restore with lists, and admits their caller before the body", async () => {
    const support = await issueOperator("support");
    const body = new ReadableStream({ pull: () => new Promise(() => undefined) });
    const path = `/api/restore${OF_ACME}`;
    expect(codeOf(await call("POST", path, { credential: support, body, ...AS_NDJSON }))).toEqual(FORBIDDEN);
    const limited = { ...env, LIST_LIMIT: limiter(1) };
    const page = () => call("POST", path, { credential: operator, body: "x", env: limited, ...AS_NDJSON });
    expect([(await page()).status, (await page()).status]).toEqual([422, 429]);
  });

  it("keeps ids unique", async () => {
    const { put } = await start();
    await restore([await onlyPage()]);
    const renamed = await put({ user_group_id: "acme", new_user_group_id: "graced" });
    expect(codeOf(renamed)).toEqual([409, "user_group_id_taken"]);
  });

  it("ends the tokens and keys of before, if asked to", async () => {
    const { key, token, open, graced } = await start();
    await restore([await onlyPage()], OF_ACME, "rotate_tokens=true&revoke_keys=true");
    for (const credential of [token, open, graced]) expect(codeOf(await view(credential))).toEqual(REVOKED);
    expect(codeOf(await call("GET", "/api/user_groups", { credential: key }))).toEqual(REVOKED);
    const fresh = await newIntegrator();
    expect((await view(await fresh.tokenOf("acme"))).status).toBe(200);
  });
});

describe("the pages of a backup", () => {
  it("have the lines of the format, and each names its hash", async () => {
    await start();
    const [page = "", ...others] = await backUp();
    expect(others).toEqual([]);
    const lines = linesOf(page);
    expect(lines[0]).toEqual({
      kind: "header",
      format: 2,
      workspace: "acme",
      environment: "Testing",
      taken_at: expect.any(String),
      release: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      schema: expect.any(Number),
    });
    expect(lines.at(-2)).toEqual({
      kind: "footer",
      groups: 4,
      api_keys: 2,
      events: expect.any(Number),
      ended_sessions: 1,
    });
    const text = page.slice(0, page.lastIndexOf('{"kind":"page"'));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    expect(lines.at(-1)).toEqual({
      kind: "page",
      number: 1,
      next_cursor: null,
      sha256: new Uint8Array(digest).toHex(),
      signed_by: expect.any(String),
      mac: expect.any(String),
    });
    const kinds = lines.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(
      new Set(["header", "user_group", "ended_session", "event", "api_key", "footer", "page"]),
    );
  });

  it("hold no credential", async () => {
    const { key, token, open } = await start();
    const text = [...(await backUp()), ...(await backUp(""))].join("");
    expect(text).not.toMatch(CREDENTIAL_PATTERN);
    for (const credential of [key, token, open, operator]) expect(text).not.toContain(credential);
    expect(text).not.toMatch(/ug[kto]_|eyJ/);
  });

  it("end before 1,000 rows or 1 MiB, and one file follows from them", async () => {
    const { key } = await newIntegrator();
    await insertLargeGroups(150);
    for (let number = 1; number <= 75; number += 1) await byNumber(key).remove(number);
    const pages = await backUp();
    expect(pages.length).toBeGreaterThan(2);
    for (const page of pages) expect(page.length).toBeLessThan(1.5 * 1024 * 1024);
    expect(linesOf(pages.join("")).filter(({ kind }) => kind === "user_group")).toHaveLength(150);
    await wipe(ACME);
    expect((await restore(pages)).body.done).toBe(true);
  });
});

describe("a restore", () => {
  /** Pages of an environment that is wiped, more than one of them. */
  async function newPages() {
    const state = await start();
    await insertLargeGroups(170);
    const pages = await backUp();
    await wipe(ACME);
    return { ...state, pages, first: pages[0] ?? "", second: pages[1] ?? "" };
  }

  it("refuses an environment that has keys or groups, and changes nothing", async () => {
    const state = await start();
    const before = await everything(state);
    const pages = await backUp();
    expect(codeOf(await restore(pages))).toEqual(NOT_EMPTY);
    expect(codeOf(await restorePage("nonsense\n"))).toEqual(NOT_EMPTY);
    expect(await everything(state)).toEqual(before);
  });

  it("refuses all other calls until its last page", async () => {
    const { pages, first, key, token, open } = await newPages();
    await restorePage(first);
    const asOperator = (method: string, path: string, body?: object) =>
      call(method, path, { credential: operator, body });
    for (const refused of [
      await view(token),
      await view(open),
      await call("GET", "/api/user_groups", { credential: key }),
      await asOperator("GET", `/api/user_groups${OF_ACME}`),
      await asOperator("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "x" }),
      await backupPage(),
    ])
      expect(codeOf(refused)).toEqual([503, "environment_restoring"]);
    expect((await restore(pages.slice(1))).body.done).toBe(true);
    expect((await view(token)).status).toBe(200);
  });

  it("takes a page once, begins again with page 1, and refuses any other with the number to send", async () => {
    const { pages, first, second, token } = await newPages();
    const unexpected = (expected_page: number) => ({
      status: 409,
      body: { error: { code: "unexpected_page", expected_page } },
    });
    expect(await restorePage(second)).toMatchObject(unexpected(1));
    expect((await restorePage(first)).body).toEqual({ success: 1, page: 1, done: false });
    expect((await restorePage(first)).body).toEqual({ success: 1, page: 1, done: false });
    expect(await restorePage(pages[2] ?? "")).toMatchObject(unexpected(2));
    expect((await restorePage(second)).body).toEqual({ success: 1, page: 2, done: false });
    expect((await restorePage(second)).body).toEqual({ success: 1, page: 2, done: false });
    expect((await restorePage(first)).body).toEqual({ success: 1, page: 1, done: false });
    expect(await restorePage(pages[2] ?? "")).toMatchObject(unexpected(2));
    expect((await restore(pages.slice(1))).body.done).toBe(true);
    expect((await restorePage(pages.at(-1) ?? "")).body).toEqual({ success: 1, page: pages.length, done: true });
    expect((await view(token)).status).toBe(200);
  });

  it("takes its last page again only for the same call, and only while nothing has changed", async () => {
    const { pages, key, tokenOf } = await newPages();
    expect((await restore(pages)).body.done).toBe(true);
    const last = pages.at(-1) ?? "";
    expect((await restorePage(last)).body).toEqual({ success: 1, page: pages.length, done: true });
    for (const flags of ["rotate_tokens=true", "revoke_keys=true", "rotate_tokens=true&revoke_keys=true"])
      expect(codeOf(await restorePage(last, OF_ACME, flags))).toEqual(NOT_EMPTY);
    expect((await call("GET", "/api/user_groups", { credential: key })).status).toBe(200);
    await tokenOf("new since");
    expect(codeOf(await restorePage(last))).toEqual(NOT_EMPTY);
    expect(codeOf(await restore(pages))).toEqual(NOT_EMPTY);
  });

  it("of the registry is refused too once an operator was issued", async () => {
    await start();
    await issueOperator("viewer");
    const page = await onlyPage("", "registry");
    for (const _ of [1, 2]) expect((await restorePage(page, "")).body.done).toBe(true);
    expect(codeOf(await restorePage(page, "", "revoke_keys=true"))).toEqual(NOT_EMPTY);
    await issueOperator("viewer");
    expect(codeOf(await restorePage(page, ""))).toEqual(NOT_EMPTY);
  });

  it("goes on after a restart of the directory", async () => {
    const { pages, first, token } = await newPages();
    await restorePage(first);
    await evictAllDurableObjects();
    expect(codeOf(await view(token))).toEqual([503, "environment_restoring"]);
    expect((await restore(pages.slice(1))).body.done).toBe(true);
    expect((await view(token)).status).toBe(200);
  });

  it("refuses any byte that was changed, and leaves nothing", async () => {
    const { first, second, token } = await newPages();
    const bytes = new TextEncoder().encode(second);
    for (let flip = 0; flip < 25; flip += 1) {
      expect((await restorePage(first)).status).toBe(200);
      const at = Math.floor((bytes.length - 1) * (flip / 24));
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << (flip % 8));
      const answer = await restorePage(changed);
      const code = answer.body.error.code;
      // A change of the last line may make another number of the page.
      expect([422, 409]).toContain(answer.status);
      if (answer.status === 422) {
        expect(answer.body.error).toMatchObject({
          code: "invalid_backup",
          line: expect.any(Number),
          reason: expect.any(String),
        });
        expect(codeOf(await view(token))).toEqual(REVOKED);
      } else expect(code).toBe("unexpected_page");
    }
  });

  it("refuses another environment's file, a later format, the registry's file, and what is no page", async () => {
    const { pages, first } = await newPages();
    const refused = async (page: string, line: number, query = OF_ACME) => {
      const { status, body } = await restorePage(page, query, "unsigned=true");
      expect([status, body.error.code, body.error.line]).toEqual([422, "invalid_backup", line]);
      return body.error.reason;
    };
    await refused(first, 1, inEnvironment("globex"));
    expect(await refused(`\ufeff${first}`, 1)).toContain("byte order mark (BOM, U+FEFF)");
    await refused((await backUp(""))[0] ?? "", 1);
    await refused(await rehashed(first, (text) => text.replace('"format":2', '"format":3')), 1);
    await refused(await rehashed(first, (text) => text.replace('"kind":"user_group"', '"kind":"surprise"')), 2);
    expect(await refused(await rehashed(first, (text) => text.replace('"revision":1', '"revision":"1"')), 2)).toContain(
      "The field revision is not valid",
    );
    const colourful = await rehashed(first, (text) => text.replace('"revision":1', '"revision":1,"colour":1'));
    expect(await refused(colourful, 2)).toContain("This line of the kind user_group is not valid");
    await refused(first.slice(0, -10), linesOf(first).length);
    await refused(first.replace(/"next_cursor":"[^"]*"/, '"next_cursor":null'), linesOf(first).length);
    await refused("\n", 1);
    await refused("{}\n", 1);
    await restore(pages.slice(0, -1));
    const footer = await rehashed(
      pages.at(-1) ?? "",
      (text) => text.replace(/"groups":\d+/, '"groups":7'),
      pages.at(-2),
    );
    const miscounted = await restorePage(footer, OF_ACME, "unsigned=true");
    expect(miscounted.body.error.reason).toContain("The footer says 7 groups");
    expect((await restore(pages)).body.done).toBe(true);
  });

  it("refuses two groups with one id at its end", async () => {
    const { key } = await start();
    const answer = await restoreEdited(await onlyPage(), (text) =>
      text.replace('"provided_id":"suspended"', '"provided_id":"acme"'),
    );
    expect(codeOf(answer)).toEqual(INVALID);
    expect(answer.body.error.reason).toContain("This line contradicts another one");
    expect(codeOf(await call("GET", "/api/user_groups", { credential: key }))).toEqual([401, "unauthenticated"]);
  });

  it("is for admins, and takes pages of 2 MiB in NDJSON alone", async () => {
    const { first, key } = await newPages();
    expect(codeOf(await restorePage(first, OF_ACME, "", { credential: key }))).toEqual([401, "unauthenticated"]);
    const support = await issueOperator("support");
    expect(codeOf(await restorePage(first, OF_ACME, "", { credential: support }))).toEqual(FORBIDDEN);
    expect(codeOf(await restorePage(`${"x".repeat(2 * 1024 * 1024 + 1)}\n`))).toEqual([413, "body_too_large"]);
    const headers = { "Content-Type": "application/json" };
    const asJson = await call("POST", `/api/restore${OF_ACME}`, { credential: operator, body: {}, headers });
    expect(codeOf(asJson)).toEqual([415, "unsupported_media_type"]);
    expect(codeOf(await restorePage(first, OF_ACME, "rotate_tokens=yes"))).toEqual([422, "invalid_body"]);
  });
});

describe("a row of a restore", () => {
  /** A backup of one page whose line of a kind has other fields, or which has more lines. */
  async function edited(kind: string, fields: object) {
    await start();
    const page = await onlyPage();
    const line = page.split("\n").find((each) => each.startsWith(`{"kind":"${kind}"`)) ?? "";
    const changed = JSON.stringify({ ...JSON.parse(line), ...fields });
    return restoreEdited(page, (text) => text.replace(line, changed));
  }

  const LONG = "x".repeat(256);
  it.for<[kind: string, fields: object, field: string]>([
    ["user_group", { properties: { text: "x".repeat(1_500_000) } }, "properties"],
    ["user_group", { properties: JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`) }, "properties"],
    ["user_group", { mapping: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, "d"])) }, "mapping"],
    ["user_group", { mapping: { m: LONG } }, "mapping.m"],
    ["user_group", { mapping: { m: 1 } }, "mapping.m"],
    ["user_group", { provided_id: LONG }, "provided_id"],
    ["user_group", { provided_id: "" }, "provided_id"],
    ["user_group", { name: "a\nb" }, "name"],
    ["user_group", { suspended_reason: LONG }, "suspended_reason"],
    ["user_group", { team_id: Number.MAX_SAFE_INTEGER }, "team_id"],
    ["user_group", { team_id: 2 ** 52 }, "team_id"],
    ["user_group", { revision: 2 ** 52 }, "revision"],
    ["user_group", { nonce: "AAAA" }, "nonce"],
    ["api_key", { id: 2 ** 52 }, "id"],
    ["api_key", { name: LONG }, "name"],
    ["api_key", { name: "\u200b" }, "name"],
    ["api_key", { rights: "everything" }, "rights"],
    ["api_key", { nonce_hash: "" }, "nonce_hash"],
    ["event", { id: 2 ** 52 }, "id"],
    ["event", { team_id: 2 ** 52 }, "team_id"],
    ["event", { request_id: LONG }, "request_id"],
    ["event", { details: { reason: LONG } }, "details.reason"],
    ["event", { details: { api_key: { id: 2 ** 53, name: "k" } } }, "details.api_key.id"],
    ["event", { details: { text: "x" } }, "details"],
    ["ended_session", { id: 2 ** 52 }, "id"],
    ["ended_session", { name: "x".repeat(2_000) }, "name"],
  ])("is refused beyond what the API takes: %s, case %#", async ([kind, fields, field]) => {
    const answer = await edited(kind, fields);
    expect(codeOf(answer)).toEqual(INVALID);
    expect(answer.body.error.reason).toContain(`The field ${field} is not valid`);
    expect(answer.body.error.line).toBeGreaterThan(1);
  });

  it("may have the highest number, and counters go on above it", async () => {
    expect((await edited("user_group", { team_id: 2 ** 52 - 1 })).body).toMatchObject({ done: true });
    const { get } = await newIntegrator();
    const { status, body } = await get({ user_group_id: "above" });
    expect([status, body.user_group.team_id]).toEqual([200, 2 ** 52 - 1 + 1_000_000]);
  });

  it("is refused as an operator with another role or the name of the bootstrap token", async () => {
    await issueOperator("viewer", { name: "ann" });
    const page = await onlyPage("", "registry");
    for (const [from, to] of [
      ['"rights":"viewer"', '"rights":"owner"'],
      ['"name":"ann","rights"', '"name":"Bootstrap","rights"'],
    ] as const)
      expect(codeOf(await restoreEdited(page, (text) => text.replace(from, to), ""))).toEqual(INVALID);
  });

  it("is refused as a key beyond the most that an environment has", async () => {
    await start();
    const page = await onlyPage();
    const key = page.split("\n").find((line) => line.startsWith('{"kind":"api_key"')) ?? "";
    const keys = Array.from({ length: 999 }, (_, n) => `${key.replace('"id":1,', `"id":${n + 10},`)}\n`).join("");
    const { body } = await restoreEdited(page, (text) =>
      text.replace(`${key}\n`, `${key}\n${keys}`).replace('"api_keys":2', '"api_keys":1001'),
    );
    expect(body.error.reason).toBe("The backup has 1001 API keys; 1000 is the most.");
  });
});

describe("a page of a backup", () => {
  it("has at least one row, however large, so that a backup ends", async () => {
    const { tokenOf } = await newIntegrator();
    for (const id of ["a", "b", "c"]) await tokenOf(id);
    await inDirectory(({ sql }) =>
      sql.exec("UPDATE user_groups SET properties = ? WHERE team_id < 3", JSON.stringify("x".repeat(1_500_000))),
    );
    const kinds = (await backUp()).map((page) => linesOf(page).filter(({ kind }) => kind === "user_group").length);
    expect(kinds).toEqual([1, 1, 1]);
  });

  it("has the ended sessions too when the groups before them have filled a page", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    await call("POST", "/api/viewer_sessions/end", { credential: key, body: { session: await sessionOf(key) } });
    await inDirectory(({ sql }) => {
      const columns = "nonce, generation, revision, created_at, updated_at";
      // The header and 499 groups fill a page.
      for (let n = 2; n <= 499; n += 1)
        sql.exec(
          `INSERT INTO user_groups (team_id, provided_id, name, ${columns}) SELECT ${n}, 'g${n}', 'g', ${columns} FROM user_groups WHERE team_id = 1`,
        );
    });
    const [first = "", ...others] = await backUp();
    expect(linesOf(first).filter(({ kind }) => kind === "user_group")).toHaveLength(499);
    expect(linesOf(others.join("")).filter(({ kind }) => kind === "ended_session")).toHaveLength(1);
  });
});

it("a group that was purged stays purged when an older backup is restored, also the second time", async () => {
  const { by, token, tokenOf } = await start();
  const pages = await backUp();
  await by.remove(1);
  await by.purge(1);
  await tokenOf("later");
  await runAlarm(ACME);
  for (const _ of [1, 2]) {
    await wipe(ACME);
    expect((await restore(pages)).body.done).toBe(true);
    expect(codeOf(await view(token))).toEqual(REVOKED);
    expect([(await by.show(1)).status, (await by.show(4)).status]).toEqual([404, 200]);
  }
  const tombstones = linesOf((await backUp("")).join("")).filter(({ kind }) => kind === "tombstone");
  expect(tombstones).toMatchObject([{ workspace: "acme", environment: "Testing", team_id: 1 }]);
});

describe("the registry's backup", () => {
  it("brings back operators, environments, tombstones and events", async () => {
    await start();
    const admin = await issueOperator("admin");
    const seen = async () => {
      const paths = ["/api/operators", "/api/environments", "/api/events?limit=1000"];
      const answers = await Promise.all(paths.map((path) => call("GET", path, { credential: admin })));
      return answers.map(({ body }) => [body.operators, body.environments, body.events]);
    };
    const before = await seen();
    const pages = await backUp("");
    const counts = { operators: 1, environments: 1, tombstones: 0 };
    expect(linesOf(pages[0] ?? "").at(-2)).toMatchObject({ kind: "footer", ...counts });
    expect(codeOf(await restore(pages, ""))).toEqual(NOT_EMPTY);
    await wipe("registry");
    expect(codeOf(await call("GET", "/api/operators", { credential: admin }))).toEqual([401, "unauthenticated"]);
    expect((await restore(pages, "")).body.done).toBe(true);
    expect(await seen()).toEqual(before);
    await issueOperator("viewer");
    const { operators } = (await call("GET", "/api/operators", { credential: admin })).body;
    expect(operators.at(-1).id).toBe(1_000_001);
  });

  it("of a deployment without any is a header and a footer", async () => {
    const [page = ""] = await backUp("");
    expect(linesOf(page).map(({ kind }) => kind)).toEqual(["header", "footer", "page"]);
    expect((await restore([page], "")).body).toEqual({ success: 1, page: 1, done: true });
  });
});
