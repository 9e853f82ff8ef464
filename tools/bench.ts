/**
 * `npm run bench [-- --quick] [--json]`: what calls cost in time and in money. It runs the Worker as it is deployed on plain
 * workerd, and for comparison the floor: a Worker that does only what any service of this kind must do.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { gzipSync } from "node:zlib";
import { Command } from "commander";
import { type Bundle, bundleOf, SCRIPT } from "../cli/src/serve/bundle.ts";
import { print } from "../cli/src/support/output.ts";
import { type BesideSearch, heaviestPage, measureBesideLists, measureBesideSearch } from "./bench/beside.ts";
import { CallMeasurement, GROUPS } from "./bench/calls.ts";
import { connect, quantile } from "./bench/load.ts";
import { type Results, textOf } from "./bench/report.ts";
import { makeDirectories, makeFloor, serviceOptions } from "./bench/service.ts";
import { Processes, type WorkerOptions } from "./bench/workerd.ts";
import { runTool } from "./command.ts";

/** How much the bench does. */
const FULL = {
  /** How often both Workers are started again: two processes of one program differ by some percent for as long as they live. */
  generations: 12,
  cycles: 4,
  warmUpCycles: 2,
  starts: 25,
  /** How often, and for how long each time, viewers are measured beside lists and searches. */
  turns: 5,
  seconds: 3,
  /** The sizes of directories, in groups, in which viewers are measured beside searches. */
  besideSearches: [100_000, 1_000_000],
};
type Effort = typeof FULL;

const QUICK: Effort = {
  generations: 1,
  cycles: 5,
  warmUpCycles: 1,
  starts: 7,
  turns: 2,
  seconds: 1,
  besideSearches: [10_000, 100_000],
};

const report = (sentence: string): void => void process.stderr.write(`${sentence}\n`);

async function bench({ quick, json }: { quick?: true; json?: true }): Promise<void> {
  const processes = new Processes();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void processes.close().finally(() => process.exit(1)));
  try {
    const results = await measureAll(processes, quick ? QUICK : FULL);
    await print(json ? JSON.stringify(results) : textOf(results));
  } finally {
    await processes.close();
  }
}

async function measureAll(processes: Processes, effort: Effort): Promise<Results> {
  report("Building the Worker as it is deployed, and the floor ...");
  const bundle = bundleOf({ isNew: () => undefined });

  report("Starting it ...");
  const startupMs = await measureStartup(processes, bundle, effort.starts);

  const options = serviceOptions(processes.createFolder("service"), bundle);
  const floorOptions = await makeFloor(processes, bundle.settings.compatibilityDate, GROUPS);
  report("Filling the directories with groups ...");
  const find = await makeDirectories(processes, options, {
    calls: { groups: GROUPS },
    heaviest: heaviestPage(),
    ...Object.fromEntries(effort.besideSearches.map((groups) => [searchedName(groups), { groups }])),
  });
  const calls = new CallMeasurement(find("calls").key);

  report(`Measuring calls in ${effort.generations} generations of processes ...`);
  for (let generation = 0; generation < effort.generations; generation += 1) {
    const pools = {
      service: connect((await processes.start(options)).url),
      floor: connect((await processes.start(floorOptions)).url),
    };
    await calls.measure(pools, generation, effort);
    await Promise.all([pools.service.close(), pools.floor.close()]);
    await processes.stopAll();
  }

  report("Measuring viewers beside lists ...");
  const { url } = await processes.start(options);
  const besideLists = await measureBesideLists(url, find("heaviest"), effort);
  report("Measuring searches, and viewers beside them ...");
  const besideSearches: BesideSearch[] = [];
  for (const groups of effort.besideSearches)
    besideSearches.push(await measureBesideSearch(url, find(searchedName(groups)), effort));
  await processes.stopAll();
  return {
    calls: calls.results(),
    besideLists,
    besideSearches,
    bundleGzipKib: gzipSync(readFileSync(join(bundle.folder, SCRIPT))).length / 1024,
    startupMs,
  };
}

const searchedName = (groups: number): string => `searched-${groups}`;

/** The median, in milliseconds, of the time from the start of the process to its first answer, less that of an empty Worker. */
async function measureStartup(processes: Processes, bundle: Bundle, starts: number): Promise<number> {
  const service = serviceOptions(processes.createFolder("startup-service"), bundle);
  const empty = {
    folder: processes.createFolder("startup-empty"),
    bundle: processes.createFolder("startup-empty-bundle"),
    compatibilityDate: service.compatibilityDate,
  };
  writeFileSync(join(empty.bundle, SCRIPT), "export default { fetch: () => new Response() };");
  const timeOf = async (options: WorkerOptions) => {
    const startedAt = performance.now();
    await processes.start(options);
    const time = performance.now() - startedAt;
    await processes.stopAll();
    return time;
  };
  const differences: number[] = [];
  for (let round = 0; round < starts; round += 1) differences.push((await timeOf(service)) - (await timeOf(empty)));
  return Math.max(0, quantile(differences, 0.5));
}

await runTool(
  new Command("npm run --silent bench --")
    .option("--quick", "fewer rounds, in under a minute")
    .option("--json", "one JSON object on standard output, and nothing else there")
    .action(bench),
);
