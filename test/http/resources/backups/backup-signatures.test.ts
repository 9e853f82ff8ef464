import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
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
import { call, codeOf } from "../../../support/client.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const ACME = "acme/Testing";
const INVALID = [422, "invalid_backup"];
const [FIRST = ""] = env.SIGNING_KEYS.split(",");
const [FIRST_ID = "", SECRET = ""] = FIRST.split(":");
const OTHER = `other:${btoa("another key of 32 bytes, for one")}`;

/** The pages of an environment that is wiped, more than one of them. */
async function newPages() {
  await newIntegrator();
  await insertLargeGroups(70);
  const pages = await backUp();
  expect(pages.length).toBe(2);
  await wipe(ACME);
  return { pages, first: pages[0] ?? "", second: pages[1] ?? "" };
}

const utf8 = new TextEncoder();

/** A MAC as docs/operators/backups.md describes it, without the code of the service. */
async function macAsDocumented(info: string, text: string): Promise<string> {
  const seed = await crypto.subtle.importKey("raw", Uint8Array.fromBase64(SECRET), "HKDF", false, ["deriveBits"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8.encode(info) };
  const bits = await crypto.subtle.deriveBits(hkdf, seed, 256);
  const key = await crypto.subtle.importKey("raw", bits, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(text)));
  return mac.toBase64({ alphabet: "base64url", omitPadding: true });
}

const OF_PAGES = "user-group-service backup page HMAC-SHA-256 v1";
const OF_CURSORS = "user-group-service backup cursor HMAC-SHA-256 v1";
const lastLineOf = (page: string) => linesOf(page).at(-1);
const withLastLine = (page: string, line: object) =>
  `${page.slice(0, page.lastIndexOf('{"kind":"page"'))}${JSON.stringify(line)}\n`;

/** A page as format 1 has it. */
const asFormat1 = async (page: string) => {
  const old = await rehashed(page, (text) => text.replace('"format":2', '"format":1'));
  const { signed_by: _, mac: __, ...line } = lastLineOf(old);
  return withLastLine(old, line);
};

const reasonOf = async (page: string, options = "", settings: Partial<Env> = {}) => {
  const answer = await restorePage(page, OF_ACME, options, settings);
  expect(codeOf(answer)).toEqual(INVALID);
  expect(answer.body.error.line).toBe(linesOf(page).length);
  return answer.body.error.reason;
};

describe("a page of a backup", () => {
  it("has the MAC of its hash, its number and its cursor, as documented", async () => {
    const { first, second } = await newPages();
    for (const page of [first, second]) {
      const { sha256, number, next_cursor: cursor, signed_by: signedBy, mac } = lastLineOf(page);
      expect(signedBy).toBe(FIRST_ID);
      expect(mac).toBe(await macAsDocumented(OF_PAGES, `${sha256}\n${number}\n${cursor ?? ""}`));
    }
  });

  it("is refused after an edit, although its hashes were computed again", async () => {
    await newIntegrator();
    await issueOperator("viewer");
    const [page = ""] = await backUp("");
    await wipe("registry");
    const edits: [string, string][] = [
      ['"rights":"viewer"', '"rights":"admin"'],
      ['"revoked_at":null', '"revoked_at":"2020-01-01T00:00:00.000Z"'],
      ['"taken_at":"2', '"taken_at":"3'],
      ['"environments":1', '"environments":2'],
    ];
    for (const [from, to] of edits) {
      const answer = await restorePage(await rehashed(page, (text) => text.replace(from, to)), "");
      expect([from, ...codeOf(answer)]).toEqual([from, ...INVALID]);
      expect(answer.body.error.reason).toContain("its mac is another");
    }
    expect((await restorePage(page, "")).body.done).toBe(true);
  });

  it("is refused with another number, cursor, key or MAC", async () => {
    const { first } = await newPages();
    const line = lastLineOf(first);
    const [start = "", end = ""] = [line.mac.slice(0, -2), line.mac.slice(-2)];
    const lines = [
      { ...line, next_cursor: line.next_cursor.replace(/.$/, (last: string) => (last === "A" ? "B" : "A")) },
      { ...line, mac: start + (end === "AA" ? "AE" : "AA") },
      { ...line, mac: "" },
      { ...line, mac: await macAsDocumented(OF_CURSORS, `${line.sha256}\n1\n${line.next_cursor}`) },
      { ...line, signed_by: "other" },
    ];
    const ring = { SIGNING_KEYS: `${FIRST},${OTHER}` };
    for (const changed of lines)
      expect(await reasonOf(withLastLine(first, changed), "", ring)).toContain("its mac is another");
  });

  it("does not follow from a page of another backup, environment or number", async () => {
    const one = await newPages();
    const other = await newPages();
    await restorePage(one.first);
    expect(await reasonOf(other.second)).toContain("its sha256 is another");
    expect(codeOf(await restorePage(one.first, inEnvironment("globex")))).toEqual(INVALID);
    await restorePage(one.first);
    const renumbered = withLastLine(one.second, { ...lastLineOf(one.second), number: 1 });
    expect(codeOf(await restorePage(renumbered))).toEqual(INVALID);
    expect((await restore(one.pages)).body.done).toBe(true);
  });
});

describe("a restore", () => {
  it("refuses format 1, and a key that has left the ring, and names the way out", async () => {
    const { first } = await newPages();
    expect(await reasonOf(await asFormat1(first))).toMatch(/format 1.*ug restore --unsigned, or unsigned=true/);
    const gone = await reasonOf(first, "", { SIGNING_KEYS: OTHER });
    expect(gone).toContain(`SIGNING_KEYS has no key "${FIRST_ID}"`);
    expect(gone).toContain("ug restore --unsigned");
  });

  it("takes a page signed by any key of the ring", async () => {
    const { pages } = await newPages();
    for (const page of pages)
      expect((await restorePage(page, OF_ACME, "", { SIGNING_KEYS: `${OTHER},${FIRST}` })).status).toBe(200);
  });

  it("takes what is not signed with unsigned=true, which its event says", async () => {
    await issueKey();
    const [page = ""] = await backUp();
    const newest = async () => (await call("GET", "/api/events", { credential: operator })).body.events.at(-1);
    const edited = await rehashed(page, (text) => text.replace('"name":"backend"', '"name":"edited"'));
    for (const unsigned of [await asFormat1(page), edited]) {
      await wipe(ACME);
      expect((await restorePage(unsigned, OF_ACME, "unsigned=true")).body.done).toBe(true);
      expect(await newest()).toMatchObject({ type: "environment.restored", unsigned: true });
    }
    await wipe(ACME);
    expect((await restorePage(page)).body.done).toBe(true);
    expect((await newest()).type).toBe("environment.restored");
    expect(await newest()).not.toHaveProperty("unsigned");
  });

  it("checks the hashes with unsigned=true too", async () => {
    const { first } = await newPages();
    expect(await reasonOf(first.replace("group 1", "group 2"), "unsigned=true")).toContain("its sha256 is another");
  });
});

describe("a cursor of a backup", () => {
  it("is refused unless this service has made it of this backup", async () => {
    const { first } = await newPages();
    await newIntegrator();
    await issueKey({ workspace: "globex" });
    const cursor: string = lastLineOf(first).next_cursor;
    const [text = "", signedBy = "", mac = ""] = cursor.split(".");
    const content = JSON.parse(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
    const forged = (index: number, value: unknown) =>
      btoa(JSON.stringify(content.with(index, value))).replace(/=+$/, "");
    const cursors = [
      text,
      `${text}.${signedBy}`,
      `${text}.${signedBy}.${mac}.`,
      `${text}.other.${mac}`,
      `${text}.${signedBy}.${mac.slice(0, -1)}`,
      `${text}.${signedBy}.${await macAsDocumented(OF_PAGES, text)}`,
      // The hash of a page before it, a row further on, and the number of the page.
      `${forged(4, "0".repeat(64))}.${signedBy}.${mac}`,
      `${forged(8, 60)}.${signedBy}.${mac}`,
      `${forged(3, 9)}.${signedBy}.${mac}`,
      // Of a release with another format.
      `${forged(0, 3)}.${signedBy}.${await macAsDocumented(OF_CURSORS, forged(0, 3))}`,
    ];
    for (const each of cursors)
      expect([each, ...codeOf(await backupPage(OF_ACME, each))]).toEqual([each, 422, "invalid_body"]);
    expect(codeOf(await backupPage(inEnvironment("globex"), cursor))).toEqual([422, "invalid_body"]);
    expect(await macAsDocumented(OF_CURSORS, text)).toBe(mac);
  });

  it("stays valid while its signing key verifies", async () => {
    await newIntegrator();
    await insertLargeGroups(70);
    const first = (await backupPage()).body;
    const cursor = lastLineOf(first).next_cursor;
    const rolled = { SIGNING_KEYS: `${OTHER},${FIRST}` };
    const second = await backupPage(OF_ACME, cursor, operator, rolled);
    expect(lastLineOf(second.body).signed_by).toBe("other");
    expect(codeOf(await backupPage(OF_ACME, cursor, operator, { SIGNING_KEYS: OTHER }))).toEqual([422, "invalid_body"]);
    await wipe(ACME);
    for (const page of [first, second.body]) expect((await restorePage(page, OF_ACME, "", rolled)).status).toBe(200);
  });
});
