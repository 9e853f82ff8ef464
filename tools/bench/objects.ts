import type { Effort } from "./effort.ts";
import { quantile } from "./load.ts";
import type { Processes } from "./processes.ts";
import type { WorkerOptions } from "./workerd.ts";

/** For how long calls of one kind keep the thread of a directory that holds much. */
export type ObjectTimes = { name: string; calls: number; p50Ms: number; longestMs: number };

const ROUNDS = 5;

/** The longest time that one call may keep the thread. */
export const CALL_MS_MAX = 10;

/** The calls by the path of the bench's Worker, and how much the directory holds. */
const namesOf = ({ objects }: Effort): Record<string, [string, number]> => ({
  purge: [`${objects.responses.toLocaleString("en")} stored responses`, objects.responses],
  keys: ["1,000 keys", 1000],
  list: [`${objects.groups.toLocaleString("en")} groups`, objects.groups],
  append: ["a full environment", 100_000],
});

/** Measures each kind of call in a directory of its own. */
export async function measureObjects(processes: Processes, effort: Effort): Promise<ObjectTimes[]> {
  const worker = await processes.start(objectsOptions(processes, "objects"));
  const results: ObjectTimes[] = [];
  for (const [path, [name, size]] of Object.entries(namesOf(effort))) {
    const response = await fetch(`${worker.url}/${path}?size=${size}`);
    if (!response.ok) throw new Error(`${name} could not be measured: ${await response.text()}`);
    for (const [call, times] of Object.entries((await response.json()) as Record<string, number[]>))
      results.push(objectTimes(`${call}: ${name}`, times));
  }
  await processes.stop(worker);
  return results;
}

/** The Worker that measures its own calls, with the databases in a folder of this name. */
export const objectsOptions = (processes: Processes, name: string): WorkerOptions => ({
  folder: processes.createFolder(name),
  bundle: processes.build("tools/bench/workers/objects.toml", name),
  durableObjects: [
    { binding: "GROUP_DIRECTORY", className: "MeasuredDirectory" },
    { binding: "REGISTRY", className: "Registry" },
  ],
});

export const objectTimes = (name: string, times: number[]): ObjectTimes => ({
  name,
  calls: times.length,
  p50Ms: quantile(times, 0.5),
  longestMs: longest(times),
});

/** The longest call of the quietest round: other work on the machine can only make calls longer. */
function longest(times: number[]): number {
  const count = Math.ceil(times.length / ROUNDS);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => times.slice(round * count, (round + 1) * count));
  return Math.min(...rounds.filter((round) => round.length > 0).map((round) => Math.max(...round)));
}
