import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { describe, expect, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { commandsOf, envOf } from "../support/node/backups.ts";
import { outcomeOf, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";
import { waitUntil } from "../support/node/service.ts";

const WHERE = ["--workspace", "acme", "--environment", "Testing"];

/** A service of the test's own, the command that calls it as its first admin, and a file for a backup. */
async function start({ groups = 0 } = {}) {
  const service = await startPlainService();
  onTestFinished(() => service.stop());
  const client = new UserGroupClient({ url: service.url, apiKey: service.key });
  const properties = { filler: "x".repeat(8_000) };
  // One after the other, so that their numbers are in the order of their ids.
  for (let n = 0; n < groups; n += 1) await client.ensure({ userGroupId: `g${n}`, properties });
  return { service, client, run: commandsOf(service), file: join(newFolder(), "acme.ndjson") };
}

const verdictOf = async (run: ReturnType<typeof commandsOf>, file: string, ...options: string[]) => {
  const { status, stdout } = await run("backup", "verify", file, "--json", ...options);
  return [status, JSON.parse(stdout).state];
};

describe("ug backup", () => {
  it("takes a backup under load, which is proven, and in which no byte can be changed", async () => {
    const { client, run, file } = await start({ groups: 300 });
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; isWriting; n += 1) await client.update({ userGroupId: `g${n % 300}`, name: `Name ${n}` });
    })();
    expect(await run("backup", file, ...WHERE)).toMatchObject({
      status: 0,
      stdout: `Backed up acme/Testing to ${file}.`,
    });
    isWriting = false;
    await writing;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await verdictOf(run, file)).toEqual([0, "proven"]);

    const bytes = readFileSync(file);
    expect(bytes.toString()).not.toMatch(CREDENTIAL_PATTERN);
    const broken = join(newFolder(), "broken.ndjson");
    const changed = Buffer.from(bytes);
    const at = Math.floor(bytes.length * 0.6);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const variants = [changed, bytes.subarray(0, -2), bytes.subarray(0, at), Buffer.from("{}\n"), Buffer.alloc(0)];
    for (const variant of variants) {
      writeFileSync(broken, variant);
      expect(await verdictOf(run, broken)).toEqual([1, "broken"]);
    }
    expect(await verdictOf(run, join(newFolder(), "missing"))).toEqual([3, "unknown"]);
    const nowhere = await outcomeOf(startCommand("backup", ["verify", file], { TMPDIR: join(newFolder(), "missing") }));
    expect(nowhere.status).toBe(3);
  });

  it("encrypts for a recipient, whose identity alone reads it", async () => {
    const { run, file } = await start({ groups: 3 });
    const identity = await generateX25519Identity();
    const other = join(newFolder(), "other");
    const own = join(newFolder(), "own");
    writeFileSync(own, `# a comment\n${identity}\n`);
    writeFileSync(other, `${await generateX25519Identity()}\n`);
    const recipient = await identityToRecipient(identity);
    expect((await run("backup", file, ...WHERE, "--recipient", recipient)).status).toBe(0);
    expect(readFileSync(file, "latin1")).toMatch(/^age-encryption\.org/);
    expect(readFileSync(file, "latin1")).not.toContain("user_group");
    expect(await verdictOf(run, file, "--identity-file", own)).toEqual([0, "proven"]);
    expect(await verdictOf(run, file)).toEqual([3, "unknown"]);
    expect((await verdictOf(run, file, "--identity-file", other))[0]).not.toBe(0);
    expect((await run("backup", file, ...WHERE, "--recipient", "age1nonsense")).status).toBe(2);
  });

  it("leaves no file when it cannot be complete", async () => {
    const { run, file } = await start();
    const { status, stderr } = await run("backup", file, "--workspace", "nobody", "--environment", "Testing");
    expect([status, stderr]).toEqual([1, expect.stringContaining("environment_not_found")]);
    expect(existsSync(file)).toBe(false);
    expect(readdirSync(join(file, ".."))).toEqual([]);
    expect((await run("backup", join(file, "no", "folder"), ...WHERE)).status).toBe(1);
    for (const wrong of [["backup"], ["backup", file, "--all", file], ["backup", file, "--keep", "3", ...WHERE]])
      expect((await run(...wrong)).status).toBe(2);
  });

  it("names what a restore would bring back", async () => {
    const { service, client, run, file } = await start({ groups: 5 });
    const operator = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
    const environment = { workspace: "acme", environment: "Testing" } as const;
    const { apiKey } = await operator.issueKey({ ...environment, name: "leaked" });
    await run("backup", file, ...WHERE);
    expect((await run("backup", "compare", file)).stdout).toContain("nothing that has ended since");
    await operator.revokeKey({ ...environment, id: apiKey.id });
    await client.removeByNumber({ teamId: 1 });
    await client.rotateTokenByNumber({ teamId: 2 });
    await client.suspendByNumber({ teamId: 3 });
    await client.removeByNumber({ teamId: 4 });
    await client.purge({ teamId: 4 });
    const { revived } = JSON.parse((await run("backup", "compare", file, "--json")).stdout);
    expect(revived.map(({ kind, id, now }: Record<string, unknown>) => [kind, id, now])).toEqual([
      ["api_key", apiKey.id, "revoked"],
      ["user_group", 1, "deleted"],
      ["user_group", 2, "has another token"],
      ["user_group", 3, "suspended"],
      ["user_group", 4, "purged; it stays so"],
    ]);
  });
});

describe("ug restore", () => {
  it("brings a lost box back from one folder, with every key, token and session", async () => {
    const { service, client, run } = await start({ groups: 20 });
    const folder = newFolder();
    const admin = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
    const { key: operatorKey } = await admin.issueOperator({ name: "ada", role: "admin" });
    const { group } = await client.ensure({ userGroupId: "g1" });
    const session = await client.mintSession({ userGroupId: "g1", viewerId: "ann" });
    await client.removeByNumber({ teamId: 3 });
    await client.purge({ teamId: 3 });
    for (let count = 0; count < 3; count += 1) {
      const { status, stdout } = await run("backup", "--all", folder, "--keep", "2", "--json");
      expect([status, JSON.parse(stdout).backups.length]).toEqual([0, 2]);
      // The names of the folders have seconds.
      const { folder: newest } = JSON.parse(stdout);
      await waitUntil(
        () => new Date().toISOString().slice(0, 19).replaceAll(":", "-") > newest.slice(-20, -1),
        "a second has passed",
      );
    }
    const names = readdirSync(folder).toSorted();
    expect(names).toHaveLength(2);
    const exported = await Array.fromAsync(client.list());

    const box = await startPlainService({ isBare: true, secrets: service.secrets });
    onTestFinished(() => box.stop());
    const restored = await commandsOf(box)("restore", join(folder, names[1] ?? ""));
    expect(restored).toMatchObject({ status: 0, stdout: "Restored the registry, acme/Testing." });
    const again = new UserGroupClient({ url: box.url, apiKey: service.key });
    expect(await Array.fromAsync(again.list())).toEqual(exported);
    expect((await new ViewerClient({ url: box.url, token: group.token }).view()).group.userGroupId).toBe("g1");
    expect((await new ViewerClient({ url: box.url, session: async () => session }).view()).group.userGroupId).toBe(
      "g1",
    );
    expect((await new OperatorClient({ url: box.url, operatorKey }).whoami()).name).toBe("ada");
    // The same command says again that all is there.
    expect((await commandsOf(box)("restore", join(folder, names[1] ?? "", "acme.Testing.ndjson"))).status).toBe(0);
  });

  it("goes on by the same command after it was killed", async () => {
    const { client, service, run, file } = await start({ groups: 600 });
    await run("backup", file, ...WHERE);
    const exported = await Array.fromAsync(client.list({ pageSize: 1_000 }));
    const box = await startPlainService({ isBare: true, secrets: service.secrets });
    onTestFinished(() => box.stop());
    const again = new UserGroupClient({ url: box.url, apiKey: service.key, retries: 0 });
    const isRestoring = () =>
      again.listPage({ pageSize: 1 }).then(
        () => false,
        ({ code }) => code === "environment_restoring",
      );
    const child = startCommand("restore", [file], envOf(box));
    const exited = once(child, "exit");
    await waitUntil(isRestoring, "the restore had begun");
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await exited;
    expect((await commandsOf(box)("restore", file)).status).toBe(0);
    expect(await Array.fromAsync(again.list({ pageSize: 1_000 }))).toEqual(exported);
  });

  it("after a leak ends the tokens and keys of the backup", async () => {
    const { client, service, run, file } = await start({ groups: 2 });
    const { group } = await client.ensure({ userGroupId: "g1" });
    await run("backup", file, ...WHERE);
    const box = await startPlainService({ isBare: true, secrets: service.secrets });
    onTestFinished(() => box.stop());
    expect((await commandsOf(box)("restore", file, "--rotate-tokens", "--revoke-keys")).status).toBe(0);
    const second = await commandsOf(box)("restore", file);
    expect([second.status, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain("acme/Testing has keys or groups. Erase it first");
    const viewer = new ViewerClient({ url: box.url, token: group.token });
    await expect(viewer.view()).rejects.toMatchObject({ code: "credential_revoked" });
    const again = new UserGroupClient({ url: box.url, apiKey: service.key });
    await expect(again.whoami()).rejects.toMatchObject({ code: "credential_revoked" });
  });
});
