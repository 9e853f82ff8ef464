import { GROUPS } from "./effort.ts";
import { databasesIn, fill } from "./fill.ts";
import type { Processes } from "./processes.ts";
import { stateOf, type WorkerOptions } from "./workerd.ts";

/** Creates the floor's directory and fills it with groups. */
export async function makeFloor(processes: Processes): Promise<WorkerOptions> {
  const options = {
    folder: processes.createFolder("floor"),
    bundle: processes.build("tools/bench/workers/floor.toml", "floor"),
    durableObjects: [{ binding: "FLOOR_DIRECTORY", className: "FloorDirectory" }],
  };
  const worker = await processes.start(options);
  await (await fetch(`${worker.url}/api/viewer`)).arrayBuffer();
  await processes.stop(worker);
  for (const database of databasesIn(stateOf(options.folder))) {
    fill(database, { groups: GROUPS });
    database.close();
  }
  return options;
}
