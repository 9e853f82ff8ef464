import { unstable_readConfig } from "wrangler";
import type { Bundle } from "../../cli/src/serve/bundle.ts";
import { type DirectoryPlan, databasesIn, fill } from "./fill.ts";
import type { Processes } from "./processes.ts";
import { stateOf, type WorkerOptions } from "./workerd.ts";

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

/** Creates the directories, and fills their databases with groups while workerd is stopped. Returns a function that finds one by its name. */
export async function makeDirectories(
  processes: Processes,
  options: WorkerOptions,
  plans: Record<string, DirectoryPlan>,
): Promise<(name: string) => Directory> {
  const worker = await processes.start(options);
  const directories = new Map<string, Directory>();
  for (const [workspace, { groups }] of Object.entries(plans))
    directories.set(workspace, { groups, key: await issueKey(worker.url, workspace) });
  await processes.stop(worker);

  for (const database of databasesIn(stateOf(options.folder))) {
    const name = String(database.prepare("SELECT name FROM api_keys").get()?.name);
    fill(database, plans[name] ?? { groups: 0 });
    database.close();
  }
  return (name) => {
    const directory = directories.get(name);
    if (!directory) throw new Error(`There is no directory ${name}.`);
    return directory;
  };
}
