import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bundleOf } from "../../../cli/src/serve/bundle.ts";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";
import { outcomeOf, startCommand } from "../../support/node/commands.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { startPlainService } from "../../support/node/plain-workerd.ts";
import { RELEASES, recorded } from "../../support/node/releases.ts";
import { freshCopy, removeCopy } from "../../support/node/service.ts";
import { newState, startSkewed } from "../../support/node/skewed-workerd.ts";
import { linesOf, stable, stepsAsIn, type WalkCredentials, walk } from "../../support/node/walk.ts";

/** What the credentials of a walk are answered at this address: their groups, keys, operators, events and views. */
async function seenAt(url: string, { key, admin, token, supersededToken }: WalkCredentials) {
  const view = async (credential: string) =>
    (await fetch(`${url}/api/viewer`, { headers: { Authorization: `Token ${credential}` } })).status;
  const groups = new UserGroupClient({ url, apiKey: key });
  const operator = new OperatorClient({ url, operatorKey: admin });
  const acme = { workspace: "acme", environment: "Testing" } as const;
  return stable({
    groups: await Array.fromAsync(groups.list()),
    keys: (await Array.fromAsync(operator.listKeys(acme))).map(({ id, name, revokedAt }) => [id, name, revokedAt]),
    operators: (await Array.fromAsync(operator.listOperators())).map(({ id, name, role }) => [id, name, role]),
    events: (await Array.fromAsync(groups.events())).map(({ id, type }) => [id, type]),
    views: [await view(token), await view(supersededToken)],
  });
}

it.for(RELEASES)("release %s is not recorded again, also when its folder is gone", (version) => {
  const copy = freshCopy();
  onTestFinished(() => removeCopy(copy));
  const file = join(copy, "package.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }));
  rmSync(join(copy, "test/releases", version), { recursive: true });
  const { status, stderr } = spawnSync(process.execPath, ["tools/record.ts"], { cwd: copy, encoding: "utf8" });
  expect([status, stderr]).toEqual([1, expect.stringContaining("A release is recorded once")]);
  expect(readdirSync(join(copy, "test/releases"))).not.toContain(version);
});

describe.for(RELEASES)("release %s", (release) => {
  it("has its databases taken, with every credential, group and event", async () => {
    const { folder, secrets, credentials } = recorded(release);
    const state = join(newFolder(), "state");
    cpSync(join(folder, "state"), state, { recursive: true });
    const service = await startPlainService({ state, secrets, isBare: true });
    onTestFinished(service.stop);
    const seen = await seenAt(service.url, credentials);
    expect(seen).toMatchObject({ views: [200, 401], groups: [{ userGroupId: "acme" }, { userGroupId: "other" }] });

    const other = await startPlainService({ secrets, isBare: true });
    onTestFinished(other.stop);
    const env = { SERVICE_URL: other.url, OPERATOR_KEY: "", OPERATOR_TOKEN: other.operatorToken };
    // Release 1.0.0 signed no backup.
    const options = release === "1.0.0" ? ["--unsigned"] : [];
    for (const file of ["registry.ndjson", "acme-Testing.ndjson"]) {
      const { status, stderr } = await outcomeOf(
        startCommand("restore", [join(process.cwd(), folder, "backup", file), ...options], env),
      );
      expect(status, stderr).toBe(0);
    }
    expect(await seenAt(other.url, credentials)).toEqual(seen);
  });

  it("lets an operator with the role backup change nothing, also after a rollback", async () => {
    const { worker } = recorded(release);
    const now = bundleOf({ isNew: () => undefined });
    const state = newState();
    onTestFinished(() => rmSync(state.folder, { recursive: true, force: true }));
    let key = "";
    for (const [ofWorker, ofObjects] of [
      [now, now],
      [now, worker],
      [worker, now],
      [worker, worker],
    ] as const) {
      const service = await startSkewed([ofWorker], ofObjects, state);
      const admin = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
      key ||= (await admin.issueOperator({ name: "nightly", role: "backup" })).key;
      await admin.issueKey({ workspace: "acme", environment: "Testing", name: "backend" });
      const headers = { Authorization: `Token ${key}`, "Content-Type": "application/json" };
      const statusOf = async (method: string, path: string, body?: object) =>
        (await fetch(service.url + path, { method, headers, body: body ? JSON.stringify(body) : null })).status;
      const where = "?workspace=acme&environment=Testing";
      const statuses = [
        await statusOf("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "x" }),
        await statusOf("POST", "/api/operators", { name: "x", role: "viewer" }),
        await statusOf("DELETE", `/api/keys/1${where}`),
        await statusOf("PUT", `/api/user_groups/1${where}`, { suspended: true }),
        await statusOf("POST", `/api/user_groups/1/rotate${where}`),
        await statusOf("DELETE", `/api/environments${where}&confirm=acme/Testing`),
      ];
      await service.stop();
      expect(statuses).toEqual(statuses.map(() => 403));
    }
  });

  it("works beside this one in a gradual deployment", async () => {
    const { worker, steps } = recorded(release);
    const now = bundleOf({ isNew: () => undefined });
    for (const [ofWorker, ofObjects] of [
      [worker, now],
      [now, worker],
    ] as const) {
      const service = await startSkewed([ofWorker], ofObjects);
      onTestFinished(service.stop);
      expect(linesOf(stepsAsIn(steps, (await walk(service, { erase: false })).steps))).toEqual(linesOf(steps));
    }
  });
});
