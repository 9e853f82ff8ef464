import { SingleBar } from "cli-progress";
import { unstable_readConfig } from "wrangler";
import type { Bundle } from "../../cli/src/serve/bundle.ts";
import { databasesIn, fill, type GroupJson } from "./fill.ts";
import type { Processes } from "./processes.ts";
import { stateOf, type WorkerOptions } from "./workerd.ts";

/** What to make of a directory: how many groups, and the JSON that each of them has. */
export type DirectoryPlan = { groups: number; json?: GroupJson };

/** A directory of the service, and the API key for it. */
export type Directory = { groups: number; key: string };

export const OPERATOR_TOKEN = "operator-token-of-the-bench-0123456789";

/** What is read of wrangler.toml besides the settings of a bundle. */
type Config = { kv_namespaces: { binding: string }[] };

const { kv_namespaces: kv } = unstable_readConfig({ config: "wrangler.toml" }) as Config;

/** The service as it is deployed, with stand-ins for KV and the rate limits. */
export const serviceOptions = (folder: string, { folder: bundle, settings }: Bundle): WorkerOptions => ({
  folder,
  bundle,
  durableObjects: settings.durableObjects,
  variables: { ...settings.vars, ...secrets() },
  kv: kv.map(({ binding }) => binding),
  rateLimits: settings.rateLimits.map(({ name }) => name),
});

/** Fresh secrets, with the operator's token of the bench. */
export const secrets = (): Record<string, string> => ({
  SIGNING_KEYS: `bench:${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}`,
  OPERATOR_TOKEN,
});

/** Issues a key in the directory of a workspace, which creates its tables. */
export async function issueKey(url: string, workspace: string): Promise<string> {
  const response = await fetch(`${url}/api/keys`, {
    method: "POST",
    headers: { Authorization: `Token ${OPERATOR_TOKEN}`, "Content-Type": "application/json" },
    body: JSON.stringify({ workspace, environment: "Testing", name: workspace }),
  });
  if (response.status !== 201) throw new Error(`No key was issued: ${await response.text()}`);
  const { key } = (await response.json()) as { key: string };
  return key;
}

/** Creates the directories, and fills their databases with groups while workerd is stopped. */
export async function makeDirectories(
  processes: Processes,
  options: WorkerOptions,
  plans: Record<string, DirectoryPlan>,
): Promise<Map<string, Directory>> {
  const worker = await processes.start(options);
  const directories = new Map<string, Directory>();
  for (const [workspace, { groups }] of Object.entries(plans))
    directories.set(workspace, { groups, key: await issueKey(worker.url, workspace) });
  await processes.stop(worker);

  const bar = new SingleBar({ stream: process.stderr, format: "Groups {bar} {value}/{total}", hideCursor: true });
  const total = Object.values(plans).reduce((sum, { groups }) => sum + groups, 0);
  bar.start(total, 0);
  for (const database of databasesIn(stateOf(options.folder))) {
    const name = String(database.prepare("SELECT name FROM api_keys").get()?.name);
    const { groups = 0, json } = plans[name] ?? {};
    fill(database, { groups, json, onGroups: (count) => bar.increment(count) });
    database.close();
  }
  bar.stop();
  return directories;
}
