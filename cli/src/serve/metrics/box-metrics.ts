/** Metrics of the machine on which the service runs. They are measured when somebody reads them. */
import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Gauge, type Registry } from "prom-client";
import { attempt } from "../../../../common/attempt.ts";
import { newestBackupAt } from "../../backup/newest-backup.ts";
import { systemErrorCode } from "../../support/errors.ts";

/** The running service: its address, the folders of its databases and backups, and the ids of its processes, by name. */
export type Box = {
  url: string;
  version: string;
  state: string;
  backups?: string | undefined;
  processes: Record<string, number | undefined>;
};

const READY_MS_MAX = 5_000;

/** Adds them to a registry. */
export function measureBox(registry: Registry, box: Box): void {
  const gauge = (name: string, help: string, measure: () => Promise<number> | number) =>
    new Gauge({
      ...{ name: `ug_${name}`, help, registers: [registry] },
      async collect() {
        this.set(await measure());
      },
    });
  const gaugeOfEach = (name: string, help: string, label: string, measure: () => Iterable<[string, number]>) =>
    new Gauge({
      ...{ name: `ug_${name}`, help, labelNames: [label], registers: [registry] },
      collect() {
        for (const [each, value] of measure()) this.set({ [label]: each }, value);
      },
    });
  const gaugeOfDatabases = (name: string, help: string, measure: (sizes: number[]) => number) =>
    gaugeOfEach(name, help, "class", () =>
      databasesIn(box.state).map(({ className, sizes }) => [className, measure(sizes)]),
    );

  gaugeOfEach("build_info", "The version that runs.", "version", () => [[box.version, 1]]);
  gauge("ready", "Whether /ready is 200: 1, or 0.", async () => Number(await isReady(box.url).catch(() => false)));
  gaugeOfDatabases("databases", "Databases of each class.", (sizes) => sizes.length);
  gaugeOfDatabases("largest_database_bytes", "The largest database of each class.", (sizes) => Math.max(0, ...sizes));
  gaugeOfDatabases("database_bytes", "Bytes of all databases of each class.", (sizes) =>
    sizes.reduce((sum, size) => sum + size, 0),
  );
  gauge("disk_free_bytes", "Free bytes on the disk of the databases.", () => {
    const { bavail, bsize } = statfsSync(box.state);
    return bavail * bsize;
  });
  gaugeOfEach("memory_bytes", "Resident memory of each process.", "process", () =>
    Object.entries(box.processes).map(([name, id]) => [name, residentBytes(id)]),
  );
  const { backups } = box;
  if (backups === undefined) return;
  gauge("newest_backup_age_seconds", "Time since the newest backup began; +Inf without one.", () => {
    const at = newestBackupAt(backups, new Date());
    return at === undefined ? Number.POSITIVE_INFINITY : (Date.now() - at.getTime()) / 1000;
  });
  gauge("backups_share_disk", "Whether backups are on the disk of the databases: 1, or 0.", () =>
    Number(sharesDisk(backups, box.state)),
  );
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(READY_MS_MAX) });
  await response.arrayBuffer();
  return response.ok;
}

/** The databases of each class, each with what SQLite keeps beside it. */
function databasesIn(state: string): { className: string; sizes: number[] }[] {
  const folders = readdirSync(state, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => {
    const sizes = new Map<string, number>();
    for (const file of readdirSync(join(state, name))) {
      const [, database] = /^(.+\.sqlite)(?:-wal|-shm)?$/.exec(file) ?? [];
      if (database === undefined || database === "metadata.sqlite") continue;
      const bytes = statSync(join(state, name, file), { throwIfNoEntry: false })?.size ?? 0;
      sizes.set(database, (sizes.get(database) ?? 0) + bytes);
    }
    return { className: name.replace("user-group-service-", ""), sizes: [...sizes.values()] };
  });
}

/** By Linux's proc(5); 0 for a process that has ended. */
function residentBytes(id: number | undefined): number {
  const status = attempt(() => readFileSync(`/proc/${id}/status`, "utf8")) ?? "";
  const [, kibibytes = "0"] = /^VmRSS:\s*(\d+) kB$/m.exec(status) ?? [];
  return Number(kibibytes) * 1024;
}

/** Whether two folders are on one disk. One that does not exist yet will be on that of the folder above. */
const sharesDisk = (one: string, other: string): boolean => deviceOf(resolve(one)) === deviceOf(resolve(other));

const deviceOf = (folder: string): number => (existsSync(folder) ? statSync(folder).dev : deviceOf(dirname(folder)));

/** What is wrong with the folder, in sentences. */
export function warningsAbout(backups: string, state: string): string[] {
  const code = listingError(backups);
  const unlisted = `The backups in ${backups} cannot be listed (${code}), so their age is not known. Let the service's user list the folder.`;
  const lost = `The backups in ${backups} are on the disk of the state, and are lost with it. Copy them to another machine.`;
  return [
    ...(code === undefined || code === "ENOENT" ? [] : [unlisted]),
    ...(sharesDisk(backups, state) ? [lost] : []),
  ];
}

function listingError(folder: string): string | undefined {
  try {
    readdirSync(folder);
    return undefined;
  } catch (error) {
    return systemErrorCode(error);
  }
}
