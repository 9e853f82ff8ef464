import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildWorker, type RunningWorker, startWorker, type WorkerOptions } from "./workerd.ts";

/** The processes of workerd that the bench runs, and the temporary folder in which they keep everything. */
export class Processes {
  readonly #folder = mkdtempSync(join(tmpdir(), "user-group-bench-"));
  readonly #running = new Set<RunningWorker>();

  /** Builds the Worker of a wrangler configuration. Returns the folder of the bundle. */
  build(config: string, name: string): string {
    const outdir = join(this.#folder, `bundle-${name}`);
    buildWorker(config, outdir);
    return outdir;
  }

  /** Creates the folder of one Worker. */
  createFolder(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    return folder;
  }

  async start(options: WorkerOptions): Promise<RunningWorker> {
    const worker = await startWorker(options);
    this.#running.add(worker);
    return worker;
  }

  async stop(worker: RunningWorker): Promise<void> {
    this.#running.delete(worker);
    await worker.stop();
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((worker) => this.stop(worker)));
  }

  /** Stops all processes and deletes the folder. */
  async close(): Promise<void> {
    await this.stopAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
