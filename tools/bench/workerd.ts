import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SCRIPT } from "../../cli/src/serve/bundle.ts";
import { makePrivateFolder, writePrivateFile } from "../../cli/src/serve/private-files.ts";
import { startWorkerd } from "../../cli/src/serve/workerd.ts";
import { configOf, textOf } from "../../cli/src/serve/workerd-config.ts";

const RATE_LIMIT = "bench:rate-limit";
const embedded = (name: string) => `esModule = embed ${textOf(join(import.meta.dirname, "workers", name))}`;

/** One Worker as plain workerd runs it: its modules, its Durable Object classes, and its other bindings. */
export type WorkerOptions = {
  /** A folder of its own, for the configuration and the data. */
  folder: string;
  /** The folder of the built Worker. */
  bundle: string;
  compatibilityDate: string;
  durableObjects?: { binding: string; className: string }[];
  variables?: Record<string, string>;
  kv?: string[];
  rateLimits?: string[];
};

type RunningWorker = { url: string; stop: () => Promise<void> };

/** Where a Worker of this folder has its databases. */
export const stateOf = (folder: string): string => join(folder, "data");

/** The processes of workerd that the bench runs, and the temporary folder in which they keep everything. */
export class Processes {
  readonly #folder = mkdtempSync(join(tmpdir(), "user-group-bench-"));
  readonly #running = new Set<RunningWorker>();

  /** Creates the folder of one Worker. */
  createFolder(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    return folder;
  }

  /** Runs a Worker, with stand-ins for KV and the rate limits, until it is stopped. Returns after its first answer. */
  async start(options: WorkerOptions): Promise<RunningWorker> {
    const {
      folder,
      bundle,
      compatibilityDate,
      durableObjects = [],
      variables = {},
      kv = [],
      rateLimits = [],
    } = options;
    const config = join(folder, "config.capnp");
    makePrivateFolder(stateOf(folder));
    writePrivateFile(
      config,
      configOf({
        script: join(bundle, SCRIPT),
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
    const { port, stop } = await startWorkerd({ config, env: variables, log: "errors" });
    const worker = { url: `http://127.0.0.1:${port}`, stop };
    this.#running.add(worker);
    // Connections are taken before the Worker's modules have run.
    await (await fetch(`${worker.url}/health`)).arrayBuffer();
    return worker;
  }

  async stopAll(): Promise<void> {
    const running = [...this.#running];
    this.#running.clear();
    await Promise.all(running.map(({ stop }) => stop()));
  }

  /** Stops all processes and deletes the folder. */
  async close(): Promise<void> {
    await this.stopAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
