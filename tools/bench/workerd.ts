import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { unstable_readConfig } from "wrangler";
import { ROOT } from "../../cli/src/serve/bundle.ts";
import { makePrivateFolder, writePrivateFile } from "../../cli/src/serve/private-files.ts";
import { startWorkerd, type WorkerdOptions } from "../../cli/src/serve/workerd.ts";
import { configOf, textOf } from "../../cli/src/serve/workerd-config.ts";

const { compatibility_date: compatibilityDate } = unstable_readConfig({ config: join(ROOT, "wrangler.toml") }) as {
  compatibility_date: string;
};

const RATE_LIMIT = "bench:rate-limit";
const embedded = (name: string) => `esModule = embed ${textOf(join(import.meta.dirname, "workers", name))}`;

/** One Worker as plain workerd runs it: its modules, its Durable Object classes, and its other bindings. */
export type WorkerOptions = {
  /** A folder of its own, for the configuration and the data. */
  folder: string;
  /** The folder of the built Worker. */
  bundle: string;
  durableObjects?: { binding: string; className: string }[];
  variables?: Record<string, string>;
  kv?: string[];
  rateLimits?: string[];
};

export type RunningWorker = { url: string; pid: number; stop: () => Promise<void> };

/**
 * Builds the Worker of a wrangler configuration as `wrangler deploy` uploads it, into `outdir`. Without a date of its own, the Worker gets
 * that of the service.
 */
export function buildWorker(config: string, outdir: string): void {
  const date = ["--compatibility-date", compatibilityDate];
  execFileSync(
    process.execPath,
    [
      join(ROOT, "node_modules/wrangler/bin/wrangler.js"),
      ...["deploy", "--dry-run", "--env=", "--config", join(ROOT, config), "--outdir", outdir, ...date],
    ],
    {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_WRITE_LOGS: "false" },
    },
  );
}

/** Where a Worker of this folder has its databases. */
export const stateOf = (folder: string): string => join(folder, "data");

/** Runs a Worker, with stand-ins for KV and the rate limits, until it is stopped. Returns after its first answer. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { folder, bundle, durableObjects = [], variables = {}, kv = [], rateLimits = [] } = options;
  const config = join(folder, "config.capnp");
  makePrivateFolder(stateOf(folder));
  writePrivateFile(
    config,
    configOf({
      modules: bundle,
      compatibilityDate,
      address: "127.0.0.1:0",
      durableObjects: durableObjects.map((each) => ({ ...each, uniqueKey: `bench-${each.className}` })),
      state: stateOf(folder),
      fromEnvironment: Object.keys(variables),
      bindings: [
        ...kv.map((name) => `(name = ${textOf(name)}, kvNamespace = "kv")`),
        ...rateLimits.map((name) => `(name = ${textOf(name)}, wrapped = (moduleName = "${RATE_LIMIT}"))`),
      ],
      services: [
        `(name = "kv", worker = (modules = [(name = "kv.js", ${embedded("stand-in-kv.js")})], compatibilityDate = ${textOf(compatibilityDate)}))`,
      ],
      extensions: [`(modules = [(name = "${RATE_LIMIT}", internal = true, ${embedded("stand-in-rate-limit.js")})])`],
    }),
  );
  return answering({ config, env: variables, log: "errors" });
}

/** Connections are taken before the Worker's modules have run, so this waits for an answer. */
async function answering(options: WorkerdOptions): Promise<RunningWorker> {
  const { port, process, stop } = await startWorkerd(options);
  const url = `http://127.0.0.1:${port}`;
  await (await fetch(`${url}/health`)).arrayBuffer();
  return { url, pid: process.pid ?? 0, stop };
}
