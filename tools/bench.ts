/**
 * `npm run bench [-- --quick] [--json]`: what calls cost in time and in money. It runs the Worker as it is deployed on plain
 * workerd, and for comparison the floor: a Worker that does only what any service of this kind must do.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Command } from "commander";
import { bundleOf } from "../cli/src/serve/bundle.ts";
import { print } from "../cli/src/support/output.ts";
import { heaviestPage, measureBesideLists } from "./bench/beside-lists.ts";
import { CallMeasurement } from "./bench/calls.ts";
import { type Effort, FULL, GROUPS, QUICK } from "./bench/effort.ts";
import { makeFloor } from "./bench/floor.ts";
import { connect } from "./bench/load.ts";
import { Processes } from "./bench/processes.ts";
import { type Results, textOf } from "./bench/report.ts";
import { type BesideSearch, measureBesideSearch } from "./bench/searches.ts";
import { makeDirectories, serviceOptions } from "./bench/service.ts";
import { measureStartup } from "./bench/startup.ts";
import { runTool } from "./command.ts";

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
  const floorOptions = await makeFloor(processes);
  report("Filling the directories with groups ...");
  const find = await makeDirectories(processes, options, {
    calls: { groups: GROUPS },
    heaviest: heaviestPage(),
    ...Object.fromEntries(effort.besideSearches.map((groups) => [searchedName(groups), { groups }])),
  });
  const calls = new CallMeasurement(find("calls").key, effort);

  report(`Measuring calls in ${effort.generations} generations of processes ...`);
  for (let generation = 0; generation < effort.generations; generation += 1) {
    const pools = {
      service: connect((await processes.start(options)).url),
      floor: connect((await processes.start(floorOptions)).url),
    };
    await calls.measure(pools, generation);
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
    bundleGzipKib: gzippedBytes(bundle.folder) / 1024,
    startupMs,
  };
}

const searchedName = (groups: number): string => `searched-${groups}`;

function gzippedBytes(bundle: string): number {
  const modules = readdirSync(bundle).filter((name) => /\.(js|html)$/.test(name));
  return gzipSync(Buffer.concat(modules.map((name) => readFileSync(join(bundle, name))))).length;
}

await runTool(
  new Command("npm run --silent bench --")
    .option("--quick", "fewer rounds, in under a minute")
    .option("--json", "one JSON object on standard output, and nothing else there")
    .action(bench),
);
