import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { outcomeOf, startCommand } from "../support/node/commands.ts";
import { checkKit, checkOrigins } from "../support/node/kit-checks.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";
import { printedOn } from "../support/node/printed.ts";
import { waitUntil } from "../support/node/service.ts";

/** The backup in a folder of backups. */
const onlyIn = (folder: string) => join(folder, readdirSync(folder)[0] ?? "");

/** Starts wrangler's local runtime with an empty state and these secrets. Returns its address. */
async function startWrangler(secrets: Record<string, string>): Promise<string> {
  const folder = newFolder();
  const envFile = join(folder, "env");
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(envFile, lines.join(""), { mode: 0o600 });
  const ports = ["--port", "0", "--inspector-port", "0"];
  const args = ["dev", ...ports, "--persist-to", join(folder, "state"), "--env-file", envFile];
  const child = spawn("node_modules/.bin/wrangler", args, {
    detached: true,
    env: { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false", WRANGLER_LOG_PATH: folder },
  });
  onTestFinished(() => void process.kill(-(child.pid ?? 0), "SIGKILL"));
  const output = printedOn(child.stdout, child.stderr);
  await waitUntil(() => /Ready on http:\/\/\S+:\d+/.test(output.text), "wrangler was ready");
  return /Ready on (http:\/\/\S+:\d+)/.exec(output.text)?.[1] ?? "";
}

it("moves a deployment to wrangler's local runtime and back with every key, token and session", async () => {
  const box = await startPlainService();
  const { secrets, key: apiKey, operatorToken } = box;
  const bootstrap = new OperatorClient({ url: box.url, operatorKey: operatorToken });
  const { key: adminKey } = await bootstrap.issueOperator({ name: "anna", role: "admin" });
  const groups = new UserGroupClient({ url: box.url, apiKey });
  const { group } = await groups.ensure({ userGroupId: "acme", properties: { plan: "pro" } });
  await groups.ensure({ userGroupId: "other" });
  await groups.suspend({ userGroupId: "other" });
  const { token: session } = await groups.mintSession({ userGroupId: "acme", viewerId: "ann" });

  /** What the credentials of the box are answered at this address. */
  const seenAt = async (url: string) => {
    const view = async (authorization: string) => {
      const response = await fetch(`${url}/api/viewer`, { headers: { Authorization: authorization } });
      return ((await response.json()) as { variables?: object }).variables;
    };
    return {
      listed: await Array.fromAsync(new UserGroupClient({ url, apiKey }).list()),
      operators: (await Array.fromAsync(new OperatorClient({ url, operatorKey: adminKey }).listOperators())).map(
        ({ name, role }) => ({ name, role }),
      ),
      token: await view(`Token ${group.token}`),
      session: await view(`Bearer ${session}`),
    };
  };
  const run = async (name: string, args: readonly string[], url: string) => {
    const env = { SERVICE_URL: url, OPERATOR_KEY: "", OPERATOR_TOKEN: operatorToken, API_KEY: "" };
    const outcome = await outcomeOf(startCommand(name, args, env));
    expect(outcome.status, outcome.stderr).toBe(0);
  };

  const before = await seenAt(box.url);
  const there = newFolder();
  await run("backup", ["--all", there], box.url);
  await box.stop();
  const wrangler = await startWrangler(secrets);
  await checkKit(expect, wrangler, { isClone: false });
  await checkOrigins(expect, wrangler);
  await run("restore", [onlyIn(there)], wrangler);
  expect(await seenAt(wrangler)).toEqual(before);
  await new UserGroupClient({ url: wrangler, apiKey }).update({ userGroupId: "acme", properties: { plan: "max" } });

  const back = newFolder();
  const changed = await seenAt(wrangler);
  await run("backup", ["--all", back], wrangler);
  const box2 = await startPlainService({ secrets, isBare: true });
  onTestFinished(box2.stop);
  await run("restore", [onlyIn(back)], box2.url);
  expect(await seenAt(box2.url)).toEqual(changed);
  expect(changed.session).toMatchObject({ "user_group.plan": "max" });
});
