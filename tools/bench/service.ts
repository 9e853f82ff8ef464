import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { parse } from "smol-toml";
import { type Bundle, ROOT } from "../../cli/src/serve/bundle.ts";
import { type DirectoryPlan, databasesIn, fill } from "./fill.ts";
import { type Processes, stateOf, type WorkerOptions } from "./workerd.ts";

/** A directory of the service, and the API key for it. */
export type Directory = { groups: number; key: string };

export const OPERATOR_TOKEN = "operator-token-of-the-bench-0123456789";

/** The service as it is deployed, with stand-ins for KV and the rate limits. */
export function serviceOptions(folder: string, { folder: bundle, settings }: Bundle): WorkerOptions {
  const config = parse(readFileSync(join(ROOT, "wrangler.toml"), "utf8")) as { kv_namespaces: { binding: string }[] };
  return {
    folder,
    bundle,
    ...settings,
    variables: { ...settings.vars, ...secrets() },
    kv: config.kv_namespaces.map(({ binding }) => binding),
    rateLimits: settings.rateLimits.map(({ name }) => name),
  };
}

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
  const { url } = await processes.start(options);
  const directories = new Map<string, Directory>();
  for (const [workspace, { groups }] of Object.entries(plans))
    directories.set(workspace, { groups, key: await issueKey(url, workspace) });
  await processes.stopAll();

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

/** Builds the floor as a Worker is deployed, creates its directory, and fills that with groups. */
export async function makeFloor(
  processes: Processes,
  compatibilityDate: string,
  groups: number,
): Promise<WorkerOptions> {
  const folder = processes.createFolder("floor");
  const bundle = processes.createFolder("floor-bundle");
  buildSync({
    entryPoints: [join(import.meta.dirname, "workers/floor.ts")],
    outfile: join(bundle, "index.js"),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
  });
  const durableObjects = [{ binding: "FLOOR_DIRECTORY", className: "FloorDirectory" }];
  const options = { folder, bundle, compatibilityDate, durableObjects };
  const { url } = await processes.start(options);
  await (await fetch(`${url}/api/viewer`)).arrayBuffer();
  await processes.stopAll();
  for (const database of databasesIn(stateOf(folder))) {
    fill(database, { groups });
    database.close();
  }
  return options;
}
