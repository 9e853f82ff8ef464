import { performance } from "node:perf_hooks";
import type { Bundle } from "../../cli/src/serve/bundle.ts";
import { quantile } from "./load.ts";
import type { Processes } from "./processes.ts";
import { serviceOptions } from "./service.ts";
import type { WorkerOptions } from "./workerd.ts";

/** The median, in milliseconds, of the time from the start of the process to its first answer, less that of an empty Worker. */
export async function measureStartup(processes: Processes, bundle: Bundle, starts: number): Promise<number> {
  const service = serviceOptions(processes.createFolder("startup-service"), bundle);
  const empty = {
    folder: processes.createFolder("startup-empty"),
    bundle: processes.build("tools/bench/workers/empty.toml", "empty"),
  };
  const timeOf = async (options: WorkerOptions) => {
    const startedAt = performance.now();
    const worker = await processes.start(options);
    const time = performance.now() - startedAt;
    await processes.stop(worker);
    return time;
  };
  const differences: number[] = [];
  for (let round = 0; round < starts; round += 1) differences.push((await timeOf(service)) - (await timeOf(empty)));
  return Math.max(0, quantile(differences, 0.5));
}
