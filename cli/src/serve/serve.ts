/** `ug serve`: from its options to the end of its processes. */
import { execFile } from "node:child_process";
import { createServer, Socket } from "node:net";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { isLoopback } from "../../../common/origin.ts";
import { hasConsole } from "../../../common/settings/settings.ts";
import project from "../../../package.json" with { type: "json" };
import { RELEASE } from "../release.ts";
import { systemErrorCode } from "../support/errors.ts";
import { type Bundle, bundleOf } from "./bundle.ts";
import { demoFiles, demoKeys, NoDemoKeys } from "./demo.ts";
import { ServiceEnded, signalled } from "./failed-start.ts";
import { warningsAbout } from "./metrics/box-metrics.ts";
import { Metrics } from "./metrics/metrics.ts";
import { commandOf, type ServeOptions } from "./options.ts";
import { type Variables, variablesOf } from "./secrets.ts";
import { startService } from "./service.ts";
import { openStateFolder } from "./state-folder.ts";

/**
 * Runs the service until SIGINT, SIGTERM or SIGHUP, then exits with 0. If workerd ends by itself, it exits with 1, so that
 * a supervisor such as systemd starts it again.
 *
 * @throws CommandError if the service cannot start.
 */
export async function serve(options: ServeOptions): Promise<void> {
  // New files of the state are readable by their owner only.
  process.umask(0o077);
  const ending = signalled();
  const state = openStateFolder(options);
  const bundle = withLimits(
    bundleOf({ isNew: () => console.info("Built the Worker; the next start finds it.") }),
    options.limit,
  );
  const variables: Variables = variablesOf(options, state, bundle.settings.vars);
  requirePublicUrl(options, variables);
  if (variables.JURISDICTION)
    throw new UsageError("JURISDICTION is for Cloudflare. On one box, all data is where the box is: leave it empty.");
  variables.PUBLIC_URL ||= "loopback";
  if (RELEASE === undefined) variables.IS_CLONE = "yes";
  const listener = listenerOf(options);
  if (isLoopback(new URL(`http://${addressOf(listener.address, 0)}`))) variables.LISTENS_ON_LOOPBACK = "yes";
  if (options.socketFd === undefined) await requireFreePort(options);
  const metrics = await metricsOn(options.metricsPort);
  const { host, port, socketFd } = options;
  const workerd = await startService({
    bundle,
    state: resolve(options.persistTo),
    address: socketFd === undefined ? addressOf(host, port) : undefined,
    variables,
    socketFd,
    log: metrics ? "pipe" : "inherit",
  });
  if (metrics) {
    metrics.read(workerd.process.stdout as Readable, process.stdout);
    metrics.read(workerd.process.stderr as Readable, process.stderr);
  }
  const url = urlOf({ ...listener, port: workerd.port ?? listener.port });
  const folders = { state: resolve(options.persistTo), backups: options.backups };
  metrics?.measure({
    url,
    version: project.version,
    ...folders,
    processes: { workerd: workerd.process.pid, ug: process.pid },
  });
  for (const warning of options.backups ? warningsAbout(options.backups, folders.state) : []) console.warn(warning);
  try {
    const ended = Promise.race([ending, workerd.failed]);
    const isReady = greet(url, options, variables).then(() => "ready" as const);
    const early = await Promise.race([ended, isReady]);
    const failure = await ended;
    if (failure) throw early === "ready" ? new ServiceEnded(failure) : new CommandError(failure);
  } finally {
    await workerd.stop();
  }
  process.exit(0);
}

/** Metrics that are served on this port; `undefined` without a port, and with a warning if the port cannot be used. */
async function metricsOn(port: number | undefined): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const metrics = new Metrics();
  try {
    const { url } = await metrics.listen(port);
    console.info(`Metrics: ${url}`);
    return metrics;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.warn(`The service runs without metrics. ${error.message}`);
    return undefined;
  }
}

/** The bundle with other rate limits. @throws UsageError for a limit that the Worker does not have. */
function withLimits({ folder, settings }: Bundle, limits: ServeOptions["limit"]): Bundle {
  const names = settings.rateLimits.map(({ name }) => name);
  const unknown = Object.keys(limits).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`There is no rate limit ${unknown}. Give --limit for one of ${names.join(", ")}.`);
  const rateLimits = settings.rateLimits.map((limit) => ({ ...limit, ...limits[limit.name] }));
  return { folder, settings: { ...settings, rateLimits } };
}

/** Behind a proxy, nothing in a request can be trusted to name the service. */
function requirePublicUrl({ clientAddressHeader }: ServeOptions, { PUBLIC_URL = "" }: Variables): void {
  if (clientAddressHeader !== "" && PUBLIC_URL === "")
    throw new CommandError(
      "Behind a proxy the service must know its address. Set PUBLIC_URL in the file of secrets, or give --var PUBLIC_URL:https://groups.example.com",
    );
}

const addressOf = (host: string, port: number) => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);

/** workerd would share a busy port with the other process. */
async function requireFreePort({ host, port, demo }: ServeOptions): Promise<void> {
  const error = await new Promise<NodeJS.ErrnoException | undefined>((settle) => {
    const probe = createServer()
      .once("error", settle)
      .listen({ host, port }, () => probe.close(() => settle(undefined)));
  });
  if (error?.code === "EADDRINUSE")
    throw new CommandError(
      `Port ${port} is busy. Stop what listens there, or choose another port: ${commandOf({ demo })} --port ${port + 1}`,
    );
  if (error) throw new CommandError(`The service cannot listen on ${addressOf(host, port)}: ${error.code}.`);
}

/** The address on which the service listens. `port` is 0 if workerd chooses one. */
function listenerOf({ host, port, socketFd }: ServeOptions): { address: string; port: number } {
  // Nothing is read from the socket, and it is never closed: it takes no connection from workerd.
  const socket = socketFd === undefined ? undefined : new Socket({ fd: socketFd, readable: false, writable: false });
  return { address: host, port, ...socket?.address() };
}

/** The address at which this machine reaches the service. */
function urlOf({ address, port }: { address: string; port: number }): string {
  const reachable = address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
  return `http://${addressOf(reachable, port)}`;
}

async function greet(url: string, options: ServeOptions, variables: Variables): Promise<void> {
  // The first request runs the Worker's modules.
  await (await fetch(`${url}/health`)).arrayBuffer();
  await reportToSystemd(url);
  if (options.socketFd !== undefined)
    return console.info(
      `The user group service is ready on file descriptor ${options.socketFd}. What follows is its log.`,
    );
  // The issuer of a session is the host that its mint has called, and the documents call localhost.
  const shown = options.demo ? url.replace("//127.0.0.1:", "//localhost:") : url;
  const introduction = options.demo ? await introductionTo(url, shown, options, variables) : "";
  console.info(`\nThe user group service is ready at ${shown}`);
  console.info(introduction || `State: ${resolve(options.persistTo)}`);
  console.info("Ctrl-C stops the service. What follows is its log.\n");
}

/** The credentials of the demo, and calls to copy; or why there are none. */
async function introductionTo(url: string, shown: string, options: ServeOptions, variables: Variables) {
  const { OPERATOR_TOKEN: operatorToken = "" } = variables;
  const keys = await demoKeys({ url, options, operatorToken }).catch((error: unknown) => {
    if (error instanceof NoDemoKeys) return error;
    throw error;
  });
  if (keys instanceof NoDemoKeys)
    return (
      `No API key could be issued: ${keys.message}\n` +
      `If ${options.envFile} lacks a secret, add it, and start again. If you delete the file, the next start makes\n` +
      "new secrets, and the service refuses all tokens and keys that it issued before.\n"
    );
  const files = demoFiles(options);
  const headers = `-H 'Authorization: Token ${keys.key}' -H 'Content-Type: application/json'`;
  return [
    `API key of workspace demo, environment Testing (kept in ${files.key}):\n`,
    `  ${keys.key}\n`,
    `Operator key${hasConsole(variables) ? `, with which to sign in at ${shown}/console` : ""} (kept in ${files.operatorKey}):\n`,
    `  ${keys.operatorKey}\n`,
    "Get or create a user group:\n",
    `  curl -X GET ${shown}/api/user ${headers} -d '{"user_group_id":"first"}'\n`,
    "Then mint a viewer session for a page that shows its data:\n",
    `  curl ${shown}/api/viewer_sessions ${headers} -d '{"user_group_id":"first"}'\n`,
    `Documents, with every call: ${shown}/docs`,
  ].join("\n");
}

/** Node has no datagram sockets of UNIX, which sd_notify(3) needs. */
const NOTIFY = "systemd-notify";
/** How many reports are sent in the time after which systemd restarts a service that does not report. */
const REPORTS = 3;

/**
 * If systemd runs this process as `Type=notify`, reports that the service is ready. From then on it reports at intervals that the service
 * works, while `/health` of `url` answers. It does not ask `/ready`, because a full disk is no reason for a restart.
 *
 * @throws CommandError if `systemd-notify` cannot be run.
 */
async function reportToSystemd(url: string): Promise<void> {
  const { NOTIFY_SOCKET, WATCHDOG_USEC = 0 } = process.env;
  if (!NOTIFY_SOCKET) return;
  await notify("--ready");
  const watchdogMs = Number(WATCHDOG_USEC) / 1000;
  if (watchdogMs > 0) setInterval(() => void reportHealth(url, watchdogMs / REPORTS), watchdogMs / REPORTS).unref();
}

async function reportHealth(url: string, timeoutMs: number): Promise<void> {
  try {
    await (await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) })).arrayBuffer();
    await notify("WATCHDOG=1");
  } catch {
    // systemd restarts a service that does not report.
  }
}

const notify = (message: string) =>
  promisify(execFile)(NOTIFY, [message]).catch((error: unknown) => {
    throw new CommandError(
      `${NOTIFY} failed (${systemErrorCode(error) ?? error}). Install systemd's programs, or start the service without Type=notify.`,
    );
  });
