import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { commandsOf, envOf } from "../support/node/backups.ts";
import { runCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";
import { RELEASES, recorded } from "../support/node/releases.ts";
import { standIn } from "../support/node/stand-in.ts";

const WHERE = ["--workspace", "acme", "--environment", "Testing"];
const MKFIFO = "/usr/bin/mkfifo";

const adminOf = (service: PlainService) => ({
  admin: new OperatorClient({ url: service.url, operatorKey: service.operatorToken }),
  run: commandsOf(service),
});

/** The service of which all tests take backups, and the command that calls it as its first admin. */
const service = await startPlainService();
afterAll(service.stop);
const { admin, run } = adminOf(service);

/** A service in which nothing is yet, with these secrets of another one. */
async function startBox(secrets: Record<string, string>) {
  const service = await startPlainService({ isBare: true, secrets });
  onTestFinished(() => service.stop());
  return { service, ...adminOf(service) };
}

/** Characters at which some readers end a line. The API refuses the first of them in names, and takes all in properties. */
const CONTROLS = ["\u0085", "\r", "\v", "\f", "\u001c", "\u001e"];
/** What other readers take for the end of a line, or for a mark at its start. */
const SEPARATORS = ["\u2028", "\u2029", "\ufeff"];
const name = fc
  .array(fc.constantFrom("a", "é", " ", "𝒳", ...SEPARATORS), { minLength: 1, maxLength: 12 })
  .map((units) => units.join(""));
const text = fc
  .array(fc.constantFrom("a", "\n", '"', "\\", ...SEPARATORS, ...CONTROLS), { maxLength: 12 })
  .map((units) => units.join(""));
const properties = fc.dictionary(
  text.filter((key) => key !== ""),
  fc.oneof(text, fc.array(text, { maxLength: 3 })),
  { maxKeys: 4 },
);

describe("line separators and control characters in texts", () => {
  it("come back from a backup, its proof and a restore, and from an export and its import", async () => {
    const where = { workspace: "texts", environment: "Testing" } as const;
    const { key: apiKey } = await admin.issueKey({ ...where, name: "backend" });
    const client = new UserGroupClient({ url: service.url, apiKey });
    const { seed } = inject("effort");
    const groups = fc.sample(fc.record({ name, reason: name, properties }), { seed, numRuns: 60 });
    for (const [index, group] of groups.entries()) {
      const userGroupId = `${index}${group.name}`;
      await client.ensure({ userGroupId, name: group.name, properties: group.properties });
      const suspended = await admin.inEnvironment(where).suspendByNumber({ teamId: index + 1, reason: group.reason });
      expect(suspended.suspendedReason).toBe(group.reason);
    }
    const contents = (from: UserGroupClient) => Array.fromAsync(from.list());
    const before = await contents(client);

    const folder = newFolder();
    expect((await run("backup", "--all", folder)).status).toBe(0);
    const backup = join(folder, readdirSync(folder)[0] ?? "");
    const file = join(backup, "texts.Testing.ndjson");
    expect(readFileSync(file, "utf8")).toMatch(/[\u2028\u2029]/);
    expect((await run("backup", "verify", file)).stdout).toMatch(/^Proven: .*60 user_group/);
    await client.resumeByNumber({ teamId: 1 });
    await client.suspendByNumber({ teamId: 1, reason: "\u2028" });
    await client.rotateTokenByNumber({ teamId: 2 });
    const { revived } = JSON.parse((await run("backup", "compare", file, "--json")).stdout);
    expect(revived).toMatchObject([{ kind: "user_group", id: 2, now: "has another token" }]);

    const box = await startBox(service.secrets);
    expect(await box.run("restore", backup)).toMatchObject({ status: 0 });
    const restored = new UserGroupClient({ url: box.service.url, apiKey });
    expect(await contents(restored)).toEqual(before);

    const { stdout: exported } = await runCommand("groups", ["export"], {
      SERVICE_URL: box.service.url,
      API_KEY: apiKey,
    });
    // Once as `ug` writes it, and once as a program that escapes no separator.
    const raw = exported.split("\n").map((line) => JSON.stringify(JSON.parse(line)));
    for (const [index, ndjson] of [exported, raw.join("\n")].entries()) {
      const environment = { workspace: `copy-${index}`, environment: "Testing" } as const;
      const { key } = await admin.issueKey({ ...environment, name: "import" });
      const lines = join(folder, `${index}.ndjson`);
      writeFileSync(lines, `${ndjson}\n`);
      const imported = await runCommand("groups", ["import", lines], { SERVICE_URL: service.url, API_KEY: key });
      expect(imported.stdout).toContain("created 60");
      const copies = await contents(new UserGroupClient({ url: service.url, apiKey: key }));
      // An import makes several calls at a time, so the numbers may be others.
      const fields = (all: typeof before) =>
        new Map(all.map((group) => [group.userGroupId, [group.name, group.properties]]));
      expect(fields(copies)).toEqual(fields(before));
    }
  });
});

describe("ug backup FILE", () => {
  it("replaces the file that a symbolic link leads to, and keeps the link", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "disk"));
    writeFileSync(join(folder, "disk", "old.ndjson"), "old");
    symlinkSync(join("disk", "old.ndjson"), join(folder, "link"));
    symlinkSync(join("disk", "new.ndjson"), join(folder, "dangling"));
    for (const [link, target] of [
      ["link", "old.ndjson"],
      ["dangling", "new.ndjson"],
    ] as const) {
      expect((await run("backup", join(folder, link), ...WHERE)).status).toBe(0);
      expect(readlinkSync(join(folder, link))).toBe(join("disk", target));
      expect(readFileSync(join(folder, "disk", target), "utf8")).toMatch(/^\{"kind":"header"/);
      expect(statSync(join(folder, "disk", target)).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(join(folder, "disk")).toSorted()).toEqual(["new.ndjson", "old.ndjson"]);
  });

  it.runIf(existsSync(MKFIFO))("writes into a FIFO, as into a device, and it stays", async () => {
    const fifo = join(newFolder(), "fifo");
    execFileSync(MKFIFO, [fifo]);
    const received = readFile(fifo, "utf8");
    expect((await run("backup", fifo, ...WHERE)).status).toBe(0);
    expect(await received).toMatch(/^\{"kind":"header"[\s\S]*"next_cursor":null.*\}\n$/);
    expect(lstatSync(fifo).isFIFO()).toBe(true);
  });

  it("with - is on standard output, and its sentence on standard error", async () => {
    const { status, stdout, stderr } = await run("backup", "-", ...WHERE);
    expect([status, stderr]).toEqual([0, "Backed up acme/Testing to standard output."]);
    const file = join(newFolder(), "acme.ndjson");
    writeFileSync(file, `${stdout}\n`);
    expect((await run("backup", "verify", file)).status).toBe(0);
    expect((await run("backup", "-", ...WHERE, "--json")).status).toBe(2);
    expect(existsSync("-")).toBe(false);
  });

  it("refuses a folder with a sentence, and does not follow a link at its partial file", async () => {
    const folder = newFolder();
    const refused = await run("backup", folder, ...WHERE);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining("is a folder")]);
    symlinkSync(join(folder, "elsewhere"), join(folder, "acme.ndjson.partial"));
    expect((await run("backup", join(folder, "acme.ndjson"), ...WHERE)).status).toBe(0);
    expect(readdirSync(folder)).toEqual(["acme.ndjson"]);
  });
});

describe("ug backup --all --keep", () => {
  /** A folder of backups with these subfolders, each of which has a file of this name. */
  function withFolders(folder: string, names: string[], file: string): void {
    for (const name of names) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, file), "");
    }
  }

  it("keeps what it has made, and warns of a backup from the future", async () => {
    const folder = newFolder();
    withFolders(folder, ["2020-01-01T00-00-00Z", "2999-01-01T00-00-00Z"], "registry.ndjson");
    const { status, stdout, stderr } = await run("backup", "--all", folder, "--keep", "1", "--json");
    const { folder: made, deleted } = JSON.parse(stdout);
    expect([status, deleted, existsSync(join(made, "registry.ndjson"))]).toEqual([0, 1, true]);
    expect(stderr).toMatch(/Later than this backup: 2999-01-01T00-00-00Z. The clock is wrong now, or was wrong then/);
    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([made, join(folder, "2999-01-01T00-00-00Z")]);
  });

  it("neither counts nor deletes folders without a backup, files and links", async () => {
    const folder = newFolder();
    const elsewhere = newFolder();
    withFolders(folder, ["2021-01-01T00-00-00Z", "2022-01-01T00-00-00Z"], "notes.txt");
    withFolders(folder, ["2020-01-01T00-00-00Z"], "registry.ndjson.age");
    writeFileSync(join(elsewhere, "registry.ndjson"), "");
    symlinkSync(elsewhere, join(folder, "2019-01-01T00-00-00Z"));
    writeFileSync(join(folder, "2018-01-01T00-00-00Z"), "");
    const { stdout } = await run("backup", "--all", folder, "--keep", "2", "--json");
    expect(JSON.parse(stdout).deleted).toBe(0);
    expect(readdirSync(folder)).toHaveLength(6);
  });
});

describe("a hostile service", () => {
  const page = (cursor: string | null, line = "{}") =>
    `${line}\n${JSON.stringify({ kind: "page", number: 1, next_cursor: cursor, sha256: "0".repeat(64) })}\n`;

  it.for([
    ["../../x", "Testing"],
    ["acme/../../x", "Testing"],
    ["acme", "../../x"],
    ["a.b", null],
    ["ACME", null],
    ["", null],
    ["acme\u001b[2J", null],
  ] as const)("writes no file by the name of an environment: %j", async ([workspace, environment]) => {
    const folder = newFolder();
    const inner = join(folder, "a", "b");
    mkdirSync(inner, { recursive: true });
    const { url } = await standIn(({ path }) =>
      path.startsWith("/api/environments")
        ? { status: 200, body: { success: 1, environments: [{ workspace, environment }], next_cursor: null } }
        : { status: 200, body: page(null) },
    );
    const { status, stderr } = await runCommand("backup", ["--all", inner], {
      SERVICE_URL: url,
      OPERATOR_KEY: "ugo_x",
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining("which is no name of an environment")]);
    expect(stderr).not.toContain("\u001b");
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files).toEqual([]);
  });

  it.for([
    ["a page", [page("one")]],
    ["two pages by turns", [page("one"), page("two")]],
  ] as const)("that repeats %s ends a backup with an error", async ([, pages]) => {
    const { url, received } = await standIn((_, count) => ({ status: 200, body: pages[count % pages.length] ?? "" }));
    const file = join(newFolder(), "acme.ndjson");
    const { status, stderr } = await runCommand("backup", [file, ...WHERE], {
      SERVICE_URL: url,
      OPERATOR_KEY: "ugo_x",
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining("repeats a page of /api/backup")]);
    expect(received.length).toBeLessThan(5);
    expect(existsSync(file)).toBe(false);
  });

  it("that repeats a page of environments ends a backup with an error", async () => {
    const { url } = await standIn(() => ({ status: 200, body: { success: 1, environments: [], next_cursor: "one" } }));
    const env = { SERVICE_URL: url, OPERATOR_KEY: "ugo_x" };
    const { status, stderr } = await runCommand("backup", ["--all", newFolder()], env);
    expect([status, stderr]).toEqual([1, expect.stringContaining("repeats a page of /api/environments")]);
  });

  it("is not called by the name in a file", async () => {
    const file = join(newFolder(), "acme.ndjson");
    const header = JSON.stringify({ kind: "header", format: 2, workspace: "\u001b[2J", environment: null });
    writeFileSync(file, page(null, header));
    const { url, received } = await standIn(() => ({ status: 200, body: {} }));
    const { status, stderr } = await runCommand("restore", [file], { SERVICE_URL: url, OPERATOR_KEY: "ugo_x" });
    expect([status, stderr]).toEqual([1, expect.stringContaining("its header names no environment")]);
    expect(received).toEqual([]);
  });
});

describe("the signature of a backup", () => {
  /** A backup, one that was edited by somebody without the signing keys, and the files of two services' secrets. */
  async function newBackup() {
    await new UserGroupClient({ url: service.url, apiKey: service.key }).ensure({ userGroupId: "acme" });
    const folder = newFolder();
    const file = join(folder, "acme.ndjson");
    await run("backup", file, ...WHERE);
    const lines = readFileSync(file, "utf8").replace('"rights":"write"', '"rights":"read"').split("\n").slice(0, -2);
    const body = lines.map((line) => `${line}\n`).join("");
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(body))).toString("hex");
    const end = JSON.parse(readFileSync(file, "utf8").trimEnd().split("\n").at(-1) ?? "");
    const edited = join(folder, "edited.ndjson");
    writeFileSync(edited, `${body}${JSON.stringify({ ...end, sha256: digest })}\n`);
    const secrets = (text: string) => {
      const path = join(folder, `${readdirSync(folder).length}.vars`);
      writeFileSync(path, text);
      return path;
    };
    return { file, edited, secrets };
  }

  it("is checked by verify with the keys of --env-file, and without them verify says so", async () => {
    const { file, edited, secrets } = await newBackup();
    const verdict = async (...args: string[]) => {
      const { status, stdout } = await run("backup", "verify", ...args, "--json");
      const { state, signature } = JSON.parse(stdout);
      return [status, state, signature];
    };
    const own = secrets(`SIGNING_KEYS=${service.secrets.SIGNING_KEYS}\n`);
    const other = secrets(`SIGNING_KEYS=other:${Buffer.alloc(32, 1).toString("base64")}\n`);
    const sameId = secrets(
      `SIGNING_KEYS=${service.secrets.SIGNING_KEYS?.split(":")[0]}:${Buffer.alloc(32, 1).toString("base64")}\n`,
    );
    expect((await run("backup", "verify", file)).stdout).toMatch(/^Proven: .*; signature not checked/);
    expect((await run("backup", "verify", file, "--env-file", own)).stdout).toMatch(
      /^Proven: .*; signature checked\.$/,
    );
    expect(await verdict(edited)).toEqual([0, "proven", "not_checked"]);
    expect(await verdict(edited, "--env-file", own)).toEqual([1, "broken", "checked"]);
    expect(await verdict(file, "--env-file", sameId)).toEqual([1, "broken", "checked"]);
    expect(await verdict(file, "--env-file", other)).toEqual([3, "unknown", "checked"]);
    expect(await verdict(file, "--env-file", secrets("PUBLIC_URL=x\n"))).toEqual([3, "unknown", "checked"]);
    const stripped = join(newFolder(), "stripped.ndjson");
    writeFileSync(stripped, readFileSync(edited, "utf8").replace(/,"signed_by":"[^"]*","mac":"[^"]*"/, ""));
    expect(await verdict(stripped, "--env-file", own)).toEqual([1, "broken", "checked"]);
    const { folder, secrets: ofRelease } = recorded(RELEASES[0] ?? "");
    const old = join(process.cwd(), folder, "backup", "acme-Testing.ndjson");
    const keys = secrets(`SIGNING_KEYS=${ofRelease.SIGNING_KEYS}\n`);
    expect(await verdict(old)).toEqual([0, "proven", "not_checked"]);
    expect(await verdict(old, "--env-file", keys)).toEqual([3, "unknown", "checked"]);
  });

  it("refuses the edited file at a restore, which --unsigned takes", async () => {
    const { edited } = await newBackup();
    const box = await startBox(service.secrets);
    const refused = await box.run("restore", edited);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining("its mac is another")]);
    expect((await box.run("restore", edited, "--unsigned")).status).toBe(0);
    const events = await Array.fromAsync(box.admin.events());
    expect(events.at(-1)).toMatchObject({ type: "environment.restored", unsigned: true });
    expect((await box.run("events", "--deployment")).stdout).toContain("environment acme/Testing (unsigned)");
  });

  it("names --unsigned when the signing key is gone", async () => {
    const { file } = await newBackup();
    const keys = `other:${Buffer.alloc(32, 1).toString("base64")}`;
    const box = await startBox({ ...service.secrets, SIGNING_KEYS: keys });
    expect((await box.run("restore", file)).stderr).toContain("ug restore --unsigned");
    expect((await box.run("restore", file, "--unsigned")).status).toBe(0);
  });
});

describe("ug restore of the registry", () => {
  it("with an operator's key of before names the bootstrap token", async () => {
    const { key } = await admin.issueOperator({ name: "ada", role: "admin" });
    const file = join(newFolder(), "registry.ndjson");
    await run("backup", file, "--registry");
    const box = await startBox(service.secrets);
    const env = { ...envOf(box.service), OPERATOR_KEY: key };
    const refused = await runCommand("restore", [file], env);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining("unset OPERATOR_KEY")]);
    expect(refused.stderr).toContain("knows only its bootstrap token");
    expect((await runCommand("restore", [file], { ...env, OPERATOR_KEY: "" })).status).toBe(0);
    // Once it is restored, the key works again.
    expect((await runCommand("restore", [file], env)).status).toBe(0);
  });
});
