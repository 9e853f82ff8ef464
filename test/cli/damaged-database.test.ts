import { randomFillSync } from "node:crypto";
import {
  closeSync,
  cpSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { nameAt } from "../../cli/src/backup/newest-backup.ts";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { commandsOf } from "../support/node/backups.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";
import { waitUntil } from "../support/node/service.ts";

const WORKSPACES = ["first", "middle", "last"] as const;
const PAGE_BYTES = 4096;

/** A service with an environment for each workspace, each with one group whose id is the name of the workspace; it has ended. */
const original = {
  state: mkdtempSync(join(tmpdir(), "user-group-service-")),
  backups: mkdtempSync(join(tmpdir(), "user-group-service-")),
  secrets: {},
  keys: {} as Record<string, string>,
};

const clientOf = (service: PlainService, workspace: string) =>
  new UserGroupClient({ url: service.url, apiKey: original.keys[workspace] ?? "", retries: 1 });

beforeAll(async () => {
  const service = await startPlainService({ state: original.state, isBare: true });
  original.secrets = service.secrets;
  const operator = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
  for (const workspace of WORKSPACES) {
    const { key } = await operator.issueKey({ workspace, environment: "Customer", name: "backend" });
    original.keys[workspace] = key;
    await clientOf(service, workspace).ensure({ userGroupId: `id-of-${workspace}` });
  }
  await commandsOf(service)("backup", "--all", original.backups);
  await service.stop();
});

afterAll(() => {
  for (const folder of [original.state, original.backups]) rmSync(folder, { recursive: true });
});

/** The file of the database that has a text, below the state. */
const databaseWith = (state: string, text: string): string =>
  readdirSync(state, { recursive: true, withFileTypes: true })
    .filter(({ name }) => /^\w{64}\.sqlite$/.test(name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !text.startsWith("id-of") || file.includes("GroupDirectory"))
    .find((file) => readFileSync(file).includes(text)) ?? "";

function overwrite(file: string, start: number, length: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, randomFillSync(Buffer.alloc(length)), 0, length, start);
  closeSync(descriptor);
}

function truncate(file: string, length: number): void {
  const descriptor = openSync(file, "r+");
  ftruncateSync(descriptor, length);
  closeSync(descriptor);
}

const DAMAGES: Record<string, (file: string) => void> = {
  "a bad header": (file) => overwrite(file, 0, 100),
  "bad pages": (file) => overwrite(file, PAGE_BYTES, statSync(file).size - PAGE_BYTES),
  "a truncated file": (file) => truncate(file, statSync(file).size / 2),
};

/** A copy of the service, with the database that has `text` damaged, and without the one that has `missing`. */
async function startDamaged(text: string, damage: (file: string) => void = rmSync, missing?: string) {
  const state = newFolder();
  cpSync(original.state, state, { recursive: true });
  const file = databaseWith(state, text);
  damage(file);
  if (missing !== undefined) rmSync(databaseWith(state, missing));
  const service = await startPlainService({ state, isBare: true, secrets: original.secrets });
  onTestFinished(service.stop);
  return { service, state, file, run: commandsOf(service) };
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    ({ code }) => code,
  );

describe("a damaged database", () => {
  it.for(Object.entries(DAMAGES))("with %s is 503 environment_damaged, which the log explains", async ([, damage]) => {
    const { service, file } = await startDamaged("id-of-middle", damage);
    const codes = await Promise.all(
      WORKSPACES.map((workspace) => codeOf(clientOf(service, workspace).ensure({ userGroupId: `id-of-${workspace}` }))),
    );
    expect(codes).toEqual(["ok", "environment_damaged", "ok"]);
    // A program that honours it would call the damaged database again and again.
    const failure = await clientOf(service, "middle").listPage().catch(Object);
    expect([failure.code, failure.retryAfterMs]).toEqual(["environment_damaged", undefined]);
    const [line = ""] = service.log().match(/^\{.*"failure":"environment_damaged".*$/m) ?? [];
    expect(JSON.parse(line)).toMatchObject({
      level: "error",
      status: 503,
      workspace: "middle",
      environment: "Customer",
    });
    expect(JSON.parse(line).problem).toContain(`middle/Customer (${file.split("/").at(-1)})`);
  });

  it("is found by a write too, whose error names no reason", async () => {
    const { service } = await startDamaged("id-of-last", (file) => overwrite(file, 8 * PAGE_BYTES, 3 * PAGE_BYTES));
    const renamed = clientOf(service, "last").update({ userGroupId: "id-of-last", name: "New" });
    expect(await codeOf(renamed)).toBe("environment_damaged");
  });

  it.for(Object.entries(DAMAGES))("of the registry, with %s, leaves API keys at work", async ([, damage]) => {
    const { service } = await startDamaged("environment.created", damage);
    const operator = new OperatorClient({ url: service.url, operatorKey: service.operatorToken, retries: 1 });
    expect(await codeOf(Array.fromAsync(operator.environments()))).toBe("environment_damaged");
    for (const workspace of WORKSPACES)
      expect(await codeOf(clientOf(service, workspace).update({ userGroupId: `id-of-${workspace}`, name: "N" }))).toBe(
        "ok",
      );
    expect((await fetch(`${service.url}/ready`)).status).toBe(503);
    expect(service.log()).toContain("The database of the registry (");
  });
});

describe("ug backup --all", () => {
  /** Takes a backup of the undamaged service, then another one of the damaged service after a change of each environment. */
  async function backUp(text: string, damage: (file: string) => void = rmSync) {
    const folder = newFolder();
    cpSync(original.backups, folder, { recursive: true });
    const [name = ""] = readdirSync(folder);
    const older = join(folder, name);
    const { run, service } = await startDamaged(text, damage);
    for (const workspace of WORKSPACES)
      await clientOf(service, workspace)
        .update({ userGroupId: `id-of-${workspace}`, name: `New ${workspace}` })
        .catch(() => undefined);
    await waitUntil(() => nameAt(new Date()) > basename(older), "a second has passed");
    return { older, run, service, folder, outcome: await run("backup", "--all", folder, "--keep", "1") };
  }

  const cases = [
    ["first", "a bad header", DAMAGES["a bad header"]],
    ["middle", "bad pages", DAMAGES["bad pages"]],
    ["last", "a truncated file", DAMAGES["a truncated file"]],
    ["middle", "no file", rmSync],
  ] as const;

  it.for(cases)(
    "goes on past the environment of %s with %s, and keeps its last backup",
    async ([workspace, , damage]) => {
      const { older, run, folder, outcome } = await backUp(`id-of-${workspace}`, damage);
      expect(outcome.status).toBe(1);
      const last = join(older, `${workspace}.Customer.ndjson`);
      expect(outcome.stderr).toMatch(
        new RegExp(`^${workspace}/Customer is left out: .* Its newest backup is ${last}\\.$`, "m"),
      );
      expect(existsSync(last)).toBe(true);
      const newest = join(folder, readdirSync(folder).toSorted().at(-1) ?? "");
      const others = WORKSPACES.filter((each) => each !== workspace);
      expect(readdirSync(newest).toSorted()).toEqual(
        [...others.map((each) => `${each}.Customer.ndjson`), "registry.ndjson"].toSorted(),
      );
      for (const each of others)
        expect(readFileSync(join(newest, `${each}.Customer.ndjson`), "utf8")).toContain(`"name":"New ${each}"`);
      expect((await run("backup", "verify", newest)).status).toBe(0);
    },
  );

  it("says that the registry is damaged, and keeps all backups", async () => {
    const { older, outcome, folder } = await backUp("environment.created", DAMAGES["a bad header"]);
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toContain("The list of environments is left out: environment_damaged");
    for (const workspace of WORKSPACES)
      expect(outcome.stderr).toContain(`${workspace}/Customer is left out: environment_damaged`);
    expect(outcome.stderr).toContain("Nothing could be backed up. No older backup was deleted.");
    expect(readdirSync(folder)).toEqual([basename(older)]);
  });
});

it("comes back from its backup as the drill says, and the others have each acknowledged change", async () => {
  const { service, state, file } = await startDamaged("id-of-middle", DAMAGES["a bad header"]);
  const others = ["first", "last"];
  for (const each of others)
    await clientOf(service, each).update({ userGroupId: `id-of-${each}`, name: "Acknowledged" });
  await service.stop();
  renameSync(file, join(newFolder(), basename(file)));
  const again = await startPlainService({ state, isBare: true, secrets: original.secrets });
  onTestFinished(again.stop);
  const [name = ""] = readdirSync(original.backups);
  const { status } = await commandsOf(again)("restore", join(original.backups, name, "middle.Customer.ndjson"));
  expect(status).toBe(0);
  const names = WORKSPACES.map(async (each) => {
    const { group, created } = await clientOf(again, each).ensure({ userGroupId: `id-of-${each}` });
    return [group.name, created];
  });
  expect(await Promise.all(names)).toEqual([
    ["Acknowledged", false],
    ["id-of-middle", false],
    ["Acknowledged", false],
  ]);
});

describe("ug doctor", () => {
  it("and lists of all environments name each one whose database is damaged", async () => {
    const { run } = await startDamaged("id-of-middle", DAMAGES["bad pages"], "id-of-last");
    for (const command of [
      ["keys", "list", "--all"],
      ["events", "--all"],
    ]) {
      const { status, stdout, stderr } = await run(...command);
      expect([status, stdout]).toEqual([1, expect.stringContaining("first")]);
      expect(stderr).toContain("The database of middle/Customer is damaged");
    }
    const { status, stdout } = await run("doctor", "--json");
    const found = JSON.parse(stdout).checks.filter(({ check }: { check: string }) => check === "databases");
    expect(status).toBe(1);
    expect(found).toMatchObject([
      { level: "failed", message: expect.stringContaining("middle/Customer is damaged") },
      { level: "failed", message: expect.stringContaining("last/Customer has no keys: its database may be missing") },
    ]);
  });
});

it("is named on the console's page of the environment, and marked in the list of environments", async () => {
  const { service } = await startDamaged("id-of-middle", DAMAGES["a bad header"]);
  const origin = service.url.replace("127.0.0.1", "localhost");
  const signIn = await request(`${origin}/console/sign-in`, {
    method: "POST",
    headers: { Origin: origin, "Content-Type": "application/x-www-form-urlencoded" },
    body: String(new URLSearchParams({ operator_key: service.operatorToken })),
  });
  const [Cookie = ""] = String(signIn.headers["set-cookie"]).split(";");
  const page = async (path: string) => {
    const { body } = await request(`${origin}/console/environments${path}`, { headers: { Cookie } });
    return body.text();
  };
  expect(await page("")).not.toContain("damaged");
  expect(await page("/middle/Customer")).toContain("A database is damaged");
  expect(await page("/last/Customer")).not.toContain("is damaged");
  expect(await page("")).toMatch(/aria-label="middle\/Customer">.*?<\/a> <span data-state="suspended">damaged/);
});
