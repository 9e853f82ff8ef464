import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { unstable_readConfig } from "wrangler";

const READY_SECONDS_MAX = 30;

const { compatibility_date: compatibilityDate } = unstable_readConfig({ config: "wrangler.toml" });

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** One Worker as plain workerd runs it: its modules, its Durable Object classes, and its other bindings. */
export type WorkerdOptions = {
  /** A folder of its own, for modules, configuration and data. */
  folder: string;
  /** Where `wrangler deploy --dry-run` has left the bundle. */
  bundle: string;
  durableObjects?: { binding: string; className: string }[];
  texts?: Record<string, string>;
  kv?: string[];
  rateLimits?: string[];
  /** Where the Worker's log goes: nowhere in tests, which expect refusals. */
  log?: "inherit" | "ignore";
};

export type RunningWorker = { url: string; pid: number; stop: () => Promise<void> };

/** Builds the Worker of a wrangler configuration exactly as it is deployed, minified, into `outdir`. */
export function buildWorker(config: string, outdir: string): void {
  execFileSync(
    process.execPath,
    [
      here("../../node_modules/wrangler/bin/wrangler.js"),
      "deploy",
      "--config",
      config,
      "--compatibility-date",
      compatibilityDate,
      "--dry-run",
      "--outdir",
      outdir,
    ],
    {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_WRITE_LOGS: "false" },
    },
  );
}

/** Runs the workerd binary of node_modules, with data on disk under the folder, until it is stopped. */
export async function startWorker(options: WorkerdOptions): Promise<RunningWorker> {
  const port = await freePort();
  const config = join(options.folder, "config.capnp");
  writeConfig(options, config, port);
  const binary = createRequire(import.meta.url).resolve("workerd/bin/workerd");
  const child = spawn(binary, ["serve", config], { stdio: ["ignore", "ignore", options.log ?? "inherit"] });
  const url = `http://127.0.0.1:${port}`;
  // If the bench ends before it has stopped this process.
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  await answering(child, url);
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      process.removeListener("exit", kill);
      child.kill("SIGTERM");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}

/** Waits for a first answer: connections are taken before the Worker's modules have run. */
async function answering(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + READY_SECONDS_MAX * 1000;
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer) return void (await answer.arrayBuffer());
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error("workerd did not start; its output above explains why.");
    await delay(1);
  }
}

/** A configuration in Cap'n Proto's text form (workerd.capnp documents it). JSON strings are strings of it too. */
function writeConfig(
  { folder, bundle, durableObjects = [], texts, kv, rateLimits }: WorkerdOptions,
  file: string,
  port: number,
) {
  const data = join(folder, "data");
  mkdirSync(data, { recursive: true });
  const text = JSON.stringify;

  const modules = readdirSync(bundle)
    .filter((name) => /\.(js|html)$/.test(name))
    // The first module is the main one, and a bundle has one script.
    .toSorted((a, b) => Number(b.endsWith(".js")) - Number(a.endsWith(".js")));
  for (const name of modules) copyFileSync(join(bundle, name), join(folder, name));
  for (const name of ["stand-in-kv.js", "stand-in-rate-limit.js"])
    copyFileSync(here(`workers/${name}`), join(folder, name));

  const bindings = [
    ...Object.entries(texts ?? {}).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
    ...(kv ?? []).map((name) => `(name = ${text(name)}, kvNamespace = "kv")`),
    ...(rateLimits ?? []).map((name) => `(name = ${text(name)}, wrapped = (moduleName = "bench:rate-limit"))`),
    ...durableObjects.map(
      ({ binding, className }) => `(name = ${text(binding)}, durableObjectNamespace = ${text(className)})`,
    ),
  ];
  const namespaces = durableObjects.map(
    ({ className }) => `(className = ${text(className)}, uniqueKey = ${text(`bench-${className}`)}, enableSql = true)`,
  );
  const moduleOf = (name: string) =>
    `(name = ${text(name)}, ${name.endsWith(".js") ? "esModule" : "text"} = embed ${text(name)})`;

  writeFileSync(
    file,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "kv", worker = (modules = [${moduleOf("stand-in-kv.js")}], compatibilityDate = ${text(compatibilityDate)})),
    (name = "data", disk = (path = ${text(data)}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
  extensions = [(modules = [(name = "bench:rate-limit", internal = true, esModule = embed "stand-in-rate-limit.js")])],
);
const main :Workerd.Worker = (
  modules = [${modules.map(moduleOf).join(", ")}],
  compatibilityDate = ${text(compatibilityDate)},
  ${
    namespaces.length > 0
      ? `durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "data"),`
      : ""
  }
  bindings = [${bindings.join(", ")}],
);
`,
    { mode: 0o600 },
  );
}
