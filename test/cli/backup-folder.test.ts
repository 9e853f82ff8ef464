import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { nameAt, newestBackupAt } from "../../cli/src/backup/newest-backup.ts";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { commandsOf } from "../support/node/backups.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";
import { printedOn } from "../support/node/printed.ts";
import { endGroup, runNode, waitUntil } from "../support/node/service.ts";

const OLD = "2020-01-01T03-00-00Z";
const LATER = "2999-01-01T03-00-00Z";

/** A service with a group and its key, and a folder with a backup of all of it. */
async function start() {
  const service = await startPlainService();
  onTestFinished(() => service.stop());
  const client = new UserGroupClient({ url: service.url, apiKey: service.key });
  const admin = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
  await client.ensure({ userGroupId: "initech" });
  const run = commandsOf(service);
  const all = newFolder();
  const { folder }: { folder: string } = JSON.parse((await run("backup", "--all", all, "--json")).stdout);
  return { service, client, admin, run, all, folder };
}

describe("a folder of backups", () => {
  /** Sends the first page of a restore, without a signature. Returns the status. */
  async function restore(service: PlainService, workspace: string, rows: object[], nextCursor: string | null) {
    const place = { workspace, environment: "Testing" };
    const header = { kind: "header", format: 1, ...place, taken_at: "", release: "", schema: 1 };
    const lines = [header, ...rows].map((line) => `${JSON.stringify(line)}\n`).join("");
    const sha256 = createHash("sha256").update(lines).digest("hex");
    const { status } = await fetch(
      `${service.url}/api/restore?${new URLSearchParams({ ...place, unsigned: "true" })}`,
      {
        method: "POST",
        headers: { Authorization: `Bearer ${service.operatorToken}`, "Content-Type": "application/x-ndjson" },
        body: `${lines}${JSON.stringify({ kind: "page", number: 1, next_cursor: nextCursor, sha256 })}\n`,
      },
    );
    return status;
  }

  it("has every other environment although one is empty after a restore that was refused", async () => {
    const { service, run, all } = await start();
    const footer = { kind: "footer", groups: 1, api_keys: 0, events: 0, ended_sessions: 0 };
    expect(await restore(service, "empty", [footer], null)).toBe(422);
    // Two folders may not have the same second.
    await waitUntil(() => !existsSync(join(all, nameAt(new Date()))), "the next second had begun");
    const { stdout, stderr } = await run("backup", "--all", all, "--json");
    expect(stderr).toContain("empty/Testing is left out");
    expect(readdirSync(JSON.parse(stdout).folder).sort()).toEqual(["acme.Testing.ndjson", "registry.ndjson"]);
  });

  it("has every other environment while one is being restored, and fails and deletes nothing", async () => {
    const { service, run, all, folder } = await start();
    const [, group = ""] = readFileSync(join(folder, "acme.Testing.ndjson"), "utf8").split("\n");
    expect(await restore(service, "unfinished", [JSON.parse(group)], "more")).toBe(200);
    await waitUntil(() => !existsSync(join(all, nameAt(new Date()))), "the next second had begun");
    const { status, stdout, stderr } = await run("backup", "--all", all, "--keep", "1", "--json");
    expect(status).toBe(1);
    expect(stderr).toContain("unfinished/Testing is left out: a backup is being restored there.");
    const made = JSON.parse(stdout);
    expect(made).toMatchObject({ success: 0, deleted: 0 });
    expect(readdirSync(made.folder).sort()).toEqual(["acme.Testing.ndjson", "registry.ndjson"]);
    expect(existsSync(folder)).toBe(true);
  });

  it("stands for its newest one, which verify proves file by file", async () => {
    const { run, all, folder } = await start();
    mkdirSync(join(all, OLD));
    writeFileSync(join(all, OLD, "registry.ndjson"), "broken\n");
    mkdirSync(join(all, LATER));
    writeFileSync(join(all, LATER, "registry.ndjson"), "broken\n");

    const proven = await run("backup", "verify", all);
    expect(proven.status).toBe(0);
    expect(proven.stdout.match(/^.*: Proven: /gm)).toEqual(
      ["registry.ndjson", "acme.Testing.ndjson"].map((name) => `${join(folder, name)}: Proven: `),
    );
    expect(proven.stderr).toContain(`The newest backup is ${folder}.`);
    expect(proven.stderr).toContain(`Later than now, so left out: ${LATER}. The clock is wrong`);

    const file = join(folder, "acme.Testing.ndjson");
    writeFileSync(file, readFileSync(file, "utf8").replace("initech", "initecx"));
    const broken = await run("backup", "verify", folder, "--json");
    const body = JSON.parse(broken.stdout);
    expect([broken.status, body.success, body.state]).toEqual([1, 0, "broken"]);
    expect(body.backups.map(({ state }: { state: string }) => state)).toEqual(["proven", "broken"]);
  });

  it("without a backup is could not tell, and never proven", async () => {
    const { run } = await start();
    expect(await run("backup", "verify", newFolder())).toMatchObject({
      status: 3,
      stdout: expect.stringMatching(/^Could not tell: .*/),
    });
    for (const command of [["backup", "compare"], ["restore"]])
      expect(await run(...command, newFolder())).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/^The folder .* has no backup\./m),
      });
  });

  it("is compared with all of the service, of which an environment may be gone", async () => {
    const { run, client, admin, all } = await start();
    const { apiKey } = await admin.issueKey({ workspace: "acme", environment: "Testing", name: "spare" });
    await admin.issueKey({ workspace: "umbrella", environment: null, name: "backend" });
    await new Promise((second) => setTimeout(second, 1_000));
    await run("backup", "--all", all);
    await admin.revokeKey({ workspace: "acme", environment: "Testing", id: apiKey.id });
    await client.suspend({ userGroupId: "initech" });
    await run("erase", "--workspace", "umbrella", "--environment", "untagged", "--confirm", "umbrella/untagged");

    const { stdout } = await run("backup", "compare", all, "--json");
    const found = JSON.parse(stdout).backups.flatMap(
      ({ of, revived }: { of: string; revived: { name: string; now: string }[] }) =>
        revived.map(({ name, now }) => [of, name, now]),
    );
    expect(found).toContainEqual(["acme/Testing", "spare", "revoked"]);
    expect(found).toContainEqual(["acme/Testing", "initech", "suspended"]);
    expect(found).toContainEqual(["umbrella/untagged", "umbrella/untagged", "gone"]);
    expect((await run("backup", "compare", all)).stdout).toMatch(/^of +kind +id +name +now$/m);
  });

  it("is restored whole by one command, encrypted or not", async () => {
    const { service, run, all, client } = await start();
    const identity = join(newFolder(), "backup.key");
    const recipient = (await run("backup", "keygen", identity)).stdout;
    expect(recipient).toMatch(/^age1[0-9a-z]{58}$/);
    expect(statSync(identity).mode & 0o777).toBe(0o600);
    expect((await run("backup", "keygen", identity)).stderr).toContain("cannot be written: EEXIST");
    for (const name of readdirSync(all)) renameSync(join(all, name), join(all, OLD));
    await run("backup", "--all", all, "--recipient", recipient);

    const box = await startPlainService({ isBare: true, secrets: service.secrets });
    onTestFinished(() => box.stop());
    const restored = await commandsOf(box)("restore", all, "--identity-file", identity);
    expect(restored).toMatchObject({ status: 0, stdout: "Restored the registry, acme/Testing." });
    const again = new UserGroupClient({ url: box.url, apiKey: service.key });
    expect(await Array.fromAsync(again.list())).toEqual(await Array.fromAsync(client.list()));
  });
});

describe("ug serve --backups", () => {
  /** Starts a service that watches this folder. `metric` reads one of its metrics. */
  async function serve(backups: string) {
    const options = ["--port", "0", "--metrics-port", "0", "--persist-to", "state", "--backups", backups];
    const child = runNode(newFolder(), ["--", join(process.cwd(), "cli/src/main.ts"), "serve", ...options]);
    onTestFinished(() => endGroup(child, "SIGKILL"));
    const output = printedOn(child.stdout, child.stderr);
    await waitUntil(() => output.text.includes("Ctrl-C"), "the service was ready");
    const [, url = ""] = /Metrics: (\S+)/.exec(output.text) ?? [];
    const metrics = async () => (await fetch(url)).text();
    const metric = async (name: string) =>
      new RegExp(`^ug_${name}(?:\\{.*\\})? (\\S+)$`, "m").exec(await metrics())?.[1];
    return { metric, metrics, output };
  }

  it("has the age of the newest backup, and warns of one on the disk of the state", async () => {
    const backups = newFolder();
    const { metric, output } = await serve(backups);
    expect(await metric("newest_backup_age_seconds")).toBe("+Inf");
    for (const name of [OLD, LATER, "notes"]) mkdirSync(join(backups, name));
    const age = (Date.now() - Date.parse("2020-01-01T03:00:00Z")) / 1000;
    expect(Math.abs(Number(await metric("newest_backup_age_seconds")) - age)).toBeLessThan(60);
    expect(await metric("backups_share_disk")).toBe("1");
    expect(output.text).toContain(`The backups in ${backups} are on the disk of the state, and are lost with it.`);
  });

  it("measures the machine and the service", async () => {
    const { metric, metrics } = await serve(join(newFolder(), "later"));
    expect(await metric("ready")).toBe("1");
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(await metrics()).toContain(`ug_build_info{version="${version}"} 1\n`);
    expect(Number(await metric("disk_free_bytes"))).toBeGreaterThan(1e6);
    expect(await metrics()).toMatch(/^ug_memory_bytes\{process="workerd"\} \d{8,}$/m);
    expect(await metrics()).toMatch(/^ug_memory_bytes\{process="ug"\} \d{8,}$/m);
    expect(await metrics()).toMatch(/^ug_databases\{class="Registry"\} 1$/m);
    expect(await metrics()).toMatch(/^ug_largest_database_bytes\{class="Registry"\} \d{4,}$/m);
  });
});

it("the newest backup is by its name, and nothing else is read", () => {
  const folder = newFolder();
  expect(newestBackupAt(folder, new Date())).toBeUndefined();
  expect(newestBackupAt(join(folder, "missing"), new Date())).toBeUndefined();
  for (const name of [OLD, LATER]) writeFileSync(join(folder, name), "");
  expect(newestBackupAt(folder, new Date())).toEqual(new Date("2020-01-01T03:00:00Z"));
});
