/**
 * `npm run bench [-- --quick] [--json]`: what calls cost in time and in money. It runs the Worker as it is deployed on plain
 * workerd, and beside it a floor, which does only what the platform itself cannot do without.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { SingleBar } from "cli-progress";
import type { Pool } from "undici";
import { chartOf } from "./bench/chart.ts";
import {
  type CallName,
  COUNTS,
  type Counts,
  dollarsPerMillion,
  dollarsPerMillionIndexWrites,
  PRICES_DATE,
} from "./bench/costs.ts";
import { databasesIn, fill } from "./bench/fill.ts";
import { connect, load, loadByTurns, quantile, type Request } from "./bench/load.ts";
import { buildWorker, type RunningWorker, startWorker, type WorkerdOptions } from "./bench/workerd.ts";

const USAGE = `Usage: npm run --silent bench -- [--quick] [--json]

  --quick   fewer rounds and at most 100,000 groups, in under a minute
  --json    one JSON object on standard output, and nothing else there`;

type CallResult = {
  rps: number;
  p50_ms: number;
  p99_ms: number;
  floor_ratio: number;
  dollars_per_million: number;
  counts: Counts;
};

type Results = {
  calls: Record<CallName, CallResult>;
  growth: { groups: number; p50_ms: number }[];
  directories: { directories: number; rps: number }[];
  bundle_gzip_kib: number;
  startup_ms: number;
};

/** A directory of the service, and the API key for it. */
type Directory = { groups: number; key: string };

const GROUPS = 1000;
const OPERATOR_TOKEN = "operator";
const FILE = fileURLToPath(new URL("bench/latency.svg", import.meta.url));

function readArguments() {
  try {
    return parseArgs({ options: { quick: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean" } } })
      .values;
  } catch {
    return undefined;
  }
}

const values = readArguments();
if (!values || values.help) {
  console.error(USAGE);
  process.exit(values ? 0 : 1);
}

const isQuick = values.quick ?? false;
const CYCLES = isQuick ? 5 : 4;
const WARM_UP_CYCLES = isQuick ? 1 : 2;
/** Of each call in each cycle through all calls; `loadByTurns` makes rounds of them. */
const REQUESTS_PER_CYCLE = 250;
/** How often both are started anew: two processes of one program differ by some percent for as long as they live. */
const GENERATIONS = isQuick ? 1 : 12;
const STARTS = isQuick ? 7 : 25;
const GROWTH = isQuick ? [1000, 10_000, 100_000] : [1000, 100_000, 1_000_000];
const DIRECTORIES = 8;

const folder = mkdtempSync(join(tmpdir(), "user-group-bench-"));
const running = new Set<RunningWorker>();
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stopAll().finally(() => process.exit(1)));

async function stopAll(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.stop()));
  running.clear();
}

async function start(options: WorkerdOptions): Promise<RunningWorker> {
  const worker = await startWorker(options);
  running.add(worker);
  return worker;
}

const say = (sentence: string): void => void process.stderr.write(`${sentence}\n`);

function built(config: string, name: string): string {
  const outdir = join(folder, `bundle-${name}`);
  buildWorker(config, outdir);
  return outdir;
}

function ownFolder(name: string): string {
  const own = join(folder, name);
  mkdirSync(own);
  return own;
}

const service = (bundle: string, name: string): WorkerdOptions => ({
  folder: ownFolder(name),
  bundle,
  durableObject: { binding: "GROUP_DIRECTORY", className: "GroupDirectory" },
  texts: {
    SIGNING_KEYS: `bench:${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}`,
    OPERATOR_TOKEN,
    DEMO_PAGE: "off",
  },
  kv: ["TOKEN_INDEX"],
  rateLimits: ["API_KEY_LIMIT", "TOKEN_LIMIT", "REFUSED_CREDENTIAL_LIMIT"],
});

/** From the start of the process to its first answer, less what a Worker that does nothing takes right after: the median. */
async function measureStartup(bundle: string): Promise<number> {
  const candidates = {
    service: service(bundle, "startup-service"),
    empty: { folder: ownFolder("startup-empty"), bundle: built("scripts/bench/workers/empty.toml", "empty") },
  };
  const timeOf = async (options: WorkerdOptions) => {
    const startedAt = performance.now();
    const worker = await start(options);
    const time = performance.now() - startedAt;
    await worker.stop();
    running.delete(worker);
    return time;
  };
  const differences: number[] = [];
  for (let round = 0; round < STARTS; round += 1)
    differences.push((await timeOf(candidates.service)) - (await timeOf(candidates.empty)));
  return Math.max(0, quantile(differences, 0.5));
}

/** Makes the directories by issuing a key in each, and fills their databases with groups while workerd is stopped. */
async function makeDirectories(
  options: WorkerdOptions,
  sizes: Record<string, number>,
): Promise<Map<string, Directory>> {
  const worker = await start(options);
  const directories = new Map<string, Directory>();
  for (const [workspace, groups] of Object.entries(sizes)) {
    const response = await fetch(`${worker.url}/api/keys`, {
      method: "POST",
      headers: { Authorization: `Token ${OPERATOR_TOKEN}`, "Content-Type": "application/json" },
      body: JSON.stringify({ workspace, environment: "Testing", name: workspace }),
    });
    const { key } = (await response.json()) as { key: string };
    directories.set(workspace, { groups, key });
  }
  await worker.stop();
  running.delete(worker);

  const bar = new SingleBar({ stream: process.stderr, format: "Groups {bar} {value}/{total}", hideCursor: true });
  bar.start(
    Object.values(sizes).reduce((sum, groups) => sum + groups, 0),
    0,
  );
  for (const database of databasesIn(join(options.folder, "data"))) {
    const name = String(database.prepare("SELECT name FROM api_keys").get()?.name);
    fill(database, sizes[name] ?? 0, (count) => bar.increment(count));
    database.close();
  }
  bar.stop();
  return directories;
}

async function makeFloor(bundle: string): Promise<WorkerdOptions> {
  const options = {
    folder: ownFolder("floor"),
    bundle,
    durableObject: { binding: "FLOOR_DIRECTORY", className: "FloorDirectory" },
  };
  const worker = await start(options);
  await (await fetch(`${worker.url}/api/viewer`)).arrayBuffer();
  await worker.stop();
  running.delete(worker);
  for (const database of databasesIn(join(options.folder, "data"))) {
    fill(database, GROUPS, () => undefined);
    database.close();
  }
  return options;
}

const shows = (credential: string) => ({ Authorization: `Token ${credential}` });
const groupBody = (id: string) => ({
  user_group_id: id,
  name: "Acme Inc.",
  mapping: { sales: "warehouse-7" },
  properties: { region: "eu", plans: ["pro"] },
});
const tokenIn = (body: string): string => JSON.parse(body).user_group.token;

/** Numbers below `below`, all over the range and in no order that a page of the database has. */
const spread = (count: number, below: number): number[] => Array.from({ length: count }, (_, n) => (n * 7919) % below);

type Rounds = Map<CallName, { rps: number[]; ratios: number[]; latenciesMs: number[] }>;

/** Measures each call against its floor and adds the rounds to `results`. */
async function measureRounds(pool: Pool, floor: Pool, key: string, generation: number, results: Rounds): Promise<void> {
  const numbers = spread(REQUESTS_PER_CYCLE, GROUPS / 2);
  const all = Array.from({ length: GROUPS }, (_, n) => n);
  const get = (id: string): Request => ({ method: "GET", path: "/api/user", headers: shows(key), body: groupBody(id) });
  const view = (token: string, headers = {}, query = ""): Request => ({
    method: "GET",
    path: `/api/viewer${query}`,
    headers: { ...shows(token), ...headers },
  });
  const write = (method: "PUT" | "POST" | "DELETE", body: object): Request => ({
    method,
    path: "/api/user",
    headers: shows(key),
    body,
  });

  const tokens = (
    await load(
      pool,
      all.map((n) => get(`group-${n}`)),
    )
  ).bodies.map(tokenIn);
  const tokenOf = (n: number) => tokens[n] ?? "";
  // Groups of the second half are those of the stale viewers, so that changes of the first half tell no index.
  const stale = { "Cache-Control": "max-age=60" };
  const indexed = all.slice(GROUPS / 2);
  await load(
    pool,
    indexed.map((n) => view(tokenOf(n), stale)),
  );
  // The stand-in for KV has forgotten all at its start: a change lets the directory tell it again.
  await load(
    pool,
    indexed.map((n) => write("PUT", { user_group_id: `group-${n}`, name: `Generation ${generation}` })),
  );
  while (
    !(await isIndexed(
      pool,
      indexed.map((n) => view(tokenOf(n), stale)),
    ))
  );

  let made: string[] = [];
  for (let cycle = 0; cycle < WARM_UP_CYCLES + CYCLES; cycle += 1) {
    const ids = numbers.map((_, index) => `new-${generation}-${cycle}-${index}`);
    const puts = () =>
      numbers.map((n, index) => write("PUT", { ...groupBody(`group-${n}`), name: `${generation} ${cycle} ${index}` }));
    const calls: Record<CallName, { requests: () => Request[]; floor: () => Request[] }> = {
      create: {
        requests: () => ids.map(get),
        // With the same method: HTTP clients close the connection behind a GET with a body, and keep it behind a PUT.
        floor: () => numbers.map((n) => ({ ...get(`group-${n}`), path: "/create" })),
      },
      get_hit: {
        requests: () => numbers.map((n) => get(`group-${n}`)),
        floor: () => numbers.map((n) => get(`group-${n}`)),
      },
      put: {
        requests: puts,
        floor: puts,
      },
      post: {
        requests: () => made.map((token) => write("POST", { current_token: token })),
        floor: () => numbers.map((n) => write("POST", { current_token: tokenOf(n), user_group_id: `group-${n}` })),
      },
      viewer_strong: {
        requests: () => numbers.map((n) => view(tokenOf(n))),
        floor: () => numbers.map((n) => view(tokenOf(n), {}, `?id=group-${n}`)),
      },
      viewer_stale: {
        requests: () => numbers.map((n) => view(tokenOf(GROUPS / 2 + n), stale)),
        floor: () => numbers.map((n) => view(tokenOf(n), stale, `?id=group-${n}`)),
      },
      delete: {
        requests: () =>
          made.map((token, index) => write("DELETE", { current_token: token, user_group_id: ids[index] })),
        floor: () => numbers.map((n) => write("DELETE", { current_token: tokenOf(n), user_group_id: `group-${n}` })),
      },
    };
    for (const [name, { requests, floor: floorRequests }] of Object.entries(calls)) {
      const result = results.get(name as CallName) ?? { rps: [], ratios: [], latenciesMs: [] };
      const bodies: string[] = [];
      for await (const [ours, least] of loadByTurns(
        { pool, requests: requests() },
        { pool: floor, requests: floorRequests() },
      )) {
        bodies.push(...ours.bodies);
        if (cycle < WARM_UP_CYCLES) continue;
        result.rps.push(ours.bodies.length / ours.seconds);
        result.ratios.push(least.seconds / ours.seconds);
        result.latenciesMs.push(...ours.latenciesMs);
      }
      if (name === "create" || name === "post") made = bodies.map(tokenIn);
      results.set(name as CallName, result);
    }
  }
}

/** What the rounds come to: medians, of the ratios to the floor too. */
function callsOf(results: Rounds): Results["calls"] {
  const told = (Object.keys(COUNTS) as CallName[]).map((name): [CallName, CallResult] => {
    const { rps, ratios, latenciesMs } = results.get(name) ?? { rps: [], ratios: [], latenciesMs: [] };
    return [
      name,
      {
        rps: round(quantile(rps, 0.5), 0),
        p50_ms: round(quantile(latenciesMs, 0.5), 3),
        p99_ms: round(quantile(latenciesMs, 0.99), 3),
        floor_ratio: round(quantile(ratios, 0.5), 3),
        dollars_per_million: round(dollarsPerMillion(COUNTS[name]), 3),
        counts: COUNTS[name],
      },
    ];
  });
  return Object.fromEntries(told) as Results["calls"];
}

/** Whether the index, and not the directory, has answered all of these viewers. */
async function isIndexed(pool: Pool, requests: Request[]): Promise<boolean> {
  for (const { method, path, headers } of requests) {
    const answer = await pool.request({ method, path, headers: headers ?? {} });
    await answer.body.dump();
    if (answer.headers["x-answered-by"] !== "index") return false;
  }
  return true;
}

/**
 * GET of groups that exist, by turns in directories of different sizes, and one at a time: where requests queue, their
 * latency only tells the throughput again. Adds the median of each cycle to `p50s`.
 */
async function measureGrowth(
  pool: Pool,
  directories: Directory[],
  generation: number,
  p50s: Map<Directory, number[]>,
): Promise<void> {
  for (let cycle = 0; cycle < 1 + CYCLES; cycle += 1) {
    // Other groups in each cycle: with a million of them hardly one is asked for twice.
    const shift = (generation * (1 + CYCLES) + cycle) * 104_729;
    const numbers = spread(REQUESTS_PER_CYCLE, Math.max(...directories.map(({ groups }) => groups)));
    const requests = numbers.flatMap((n) =>
      directories.map(({ key, groups }): Request => {
        const id = `group-${(n + shift) % groups}`;
        return { method: "GET", path: "/api/user", headers: shows(key), body: groupBody(id) };
      }),
    );
    const { latenciesMs } = await load(pool, requests, 1);
    if (cycle === 0) continue;
    for (const [at, directory] of directories.entries()) {
      const own = latenciesMs.filter((_, index) => index % directories.length === at);
      p50s.set(directory, [...(p50s.get(directory) ?? []), quantile(own, 0.5)]);
    }
  }
}

/**
 * The mean of the cycles' medians. In one cycle the machine goes at one speed, in all of them at a fast and a slow one: the
 * median of all latencies lies between these, where hardly any are, and moves further than that of any cycle.
 */
const growthOf = (p50s: Map<Directory, number[]>): Results["growth"] =>
  [...p50s].map(([{ groups }, ofCycles]) => ({ groups, p50_ms: round(mean(ofCycles), 3) }));

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The same load on one directory, and spread over eight. */
async function measureDirectories(pool: Pool, directories: Directory[]): Promise<Results["directories"]> {
  const sets = [directories.slice(0, 1), directories] as const;
  const loadOf = (set: Directory[]) => ({
    pool,
    requests: spread(REQUESTS_PER_CYCLE, GROUPS).map((n, at): Request => {
      const key = set[at % set.length]?.key ?? "";
      return { method: "GET", path: "/api/user", headers: shows(key), body: groupBody(`group-${n}`) };
    }),
  });
  const rps = sets.map((): number[] => []);
  for (let cycle = 0; cycle < CYCLES; cycle += 1)
    for await (const measured of loadByTurns(loadOf(sets[0]), loadOf(sets[1])))
      for (const [index, { bodies, seconds }] of measured.entries()) rps[index]?.push(bodies.length / seconds);
  return sets.map((set, index) => ({ directories: set.length, rps: round(quantile(rps[index] ?? [], 0.5), 0) }));
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits));

function tell({ calls, growth, directories, bundle_gzip_kib, startup_ms }: Results): void {
  const table = (rows: string[][]) => {
    const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const row of rows)
      console.info(
        row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
      );
    console.info("");
  };
  table([
    [
      "call",
      "requests/s",
      "p50 ms",
      "p99 ms",
      "of the floor",
      "$ per million",
      "RPC",
      "KV reads",
      "rows read",
      "written",
    ],
    ...Object.entries(calls).map(([name, call]) => [
      name,
      String(call.rps),
      call.p50_ms.toFixed(2),
      call.p99_ms.toFixed(2),
      call.floor_ratio.toFixed(2),
      call.dollars_per_million.toFixed(3),
      ...[call.counts.rpc, call.counts.kv_reads, call.counts.rows_read, call.counts.rows_written].map(String),
    ]),
  ]);
  console.info(
    `Telling the index costs $${dollarsPerMillionIndexWrites().toFixed(2)} per million on top, once a viewer has allowed stale answers. Prices of ${PRICES_DATE}.\n`,
  );
  table([
    ["groups", "GET p50 ms"],
    ...growth.map(({ groups, p50_ms }) => [groups.toLocaleString("en"), p50_ms.toFixed(2)]),
  ]);
  table([["directories", "GET requests/s"], ...directories.map((row) => [String(row.directories), String(row.rps)])]);
  console.info(`Bundle: ${bundle_gzip_kib} KiB gzipped. Start-up: ${startup_ms} ms more than an empty Worker.`);
}

say("Building the Worker as it is deployed, and the floor ...");
const bundle = built("wrangler.toml", "service");
const floorBundle = built("scripts/bench/workers/floor.toml", "floor");
const modules = readdirSync(bundle).filter((name) => /\.(js|html)$/.test(name));
const bundleBytes = gzipSync(Buffer.concat(modules.map((name) => readFileSync(join(bundle, name))))).length;

say("Starting it ...");
const startupMs = await measureStartup(bundle);

const options = service(bundle, "service");
const growthName = (groups: number) => `growth-${groups}`;
const eightNames = Array.from({ length: DIRECTORIES }, (_, n) => `eight-${n}`);
const directories = await makeDirectories(options, {
  calls: GROUPS,
  ...Object.fromEntries(GROWTH.map((groups) => [growthName(groups), groups])),
  ...Object.fromEntries(eightNames.map((name) => [name, GROUPS])),
});
const find = (names: string[]) => names.flatMap((name) => directories.get(name) ?? []);
const floorOptions = await makeFloor(floorBundle);

say(`Measuring ${Object.keys(COUNTS).length} calls and growth in ${GENERATIONS} generations of processes ...`);
const rounds: Rounds = new Map();
const growthP50s = new Map<Directory, number[]>();
for (let generation = 0; generation < GENERATIONS; generation += 1) {
  const pools = [connect((await start(options)).url), connect((await start(floorOptions)).url)] as const;
  await measureRounds(...pools, directories.get("calls")?.key ?? "", generation, rounds);
  await measureGrowth(pools[0], find(GROWTH.map(growthName)), generation, growthP50s);
  await Promise.all(pools.map((each) => each.close()));
  await stopAll();
}
const growth = growthOf(growthP50s);
const pool = connect((await start(options)).url);
const results: Results = {
  calls: callsOf(rounds),
  growth,
  directories: await measureDirectories(pool, find(eightNames)),
  bundle_gzip_kib: round(bundleBytes / 1024, 1),
  startup_ms: round(startupMs, 1),
};
await pool.close();
await stopAll();

if (!isQuick) {
  const points = growth.map(({ groups, p50_ms }) => ({ x: groups, y: p50_ms }));
  writeFileSync(
    FILE,
    chartOf("GET of a user group: latency over the number of groups", "groups in the directory", "ms", [
      { name: "p50", color: "#36c", points },
    ]),
  );
}
if (values.json) process.stdout.write(`${JSON.stringify(results)}\n`);
else tell(results);
