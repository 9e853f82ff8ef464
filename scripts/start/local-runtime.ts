/** Runs the Worker on the local runtime, as `wrangler dev` does, but without its inspector and its explorer. */
import type { unstable_startWorker } from "wrangler";
import { CommandError } from "../command.ts";
import { DEFAULT_SECRETS_FILE, type Options } from "./options.ts";

/** A running service. `fetch` reaches it whatever its address and certificate are. */
export type Service = {
  url: string;
  fetch: (
    url: string,
    init?: { method: string; headers: Record<string, string>; body?: string },
  ) => Promise<{ status: number; json: () => Promise<unknown> }>;
};

/** Settings that wrangler takes only from the environment. */
const WRANGLER_SETTINGS = {
  // With the explorer, anybody who reaches the port could read and change the database.
  X_LOCAL_EXPLORER: "false",
  // The service needs none of these, and each would call other hosts or write elsewhere.
  X_LOCAL_OBSERVABILITY: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_WRITE_LOGS: "false",
};

/** Starts the service, and returns once it answers. Its processes end with this one. */
export async function startService(options: Options): Promise<Service> {
  Object.assign(process.env, WRANGLER_SETTINGS);
  // Imported only now, so that wrangler sees these settings.
  const { unstable_DevEnv: Environment } = await import("wrangler");
  const environment = new Environment();
  const isLoaded = new Promise<void>((resolve, reject) => {
    environment.once("reloadComplete", () => resolve());
    environment.once("buildFailed", () =>
      reject(new Error("The Worker could not be built; the lines above explain why.")),
    );
    environment.once("error", (event) => reject(new Error(reasonOf(event))));
  });
  const starting = Promise.all([environment.startWorker(workerSettings(options)), isLoaded]);
  const [worker] = await starting.catch((error: Error) => {
    throw new CommandError(
      `The service could not start. ${error.cause instanceof Error ? error.cause.message : error.message}`,
    );
  });
  const url = await worker.url;
  environment.on("reloadComplete", () => console.info("The service was reloaded after a change."));
  environment.on("error", (event) => console.error(`The local runtime failed. ${reasonOf(event)}`));
  return { url: url.origin, fetch: worker.fetch };
}

const workerSettings = ({ port, ip, isSecure, ...options }: Options): Parameters<typeof unstable_startWorker>[0] => ({
  config: "wrangler.toml",
  // Wrangler reads the default file by itself, and does not expand $NAME in it, as it does in other files.
  ...(options.secretsFile !== DEFAULT_SECRETS_FILE && { envFiles: [options.secretsFile] }),
  bindings: Object.fromEntries(
    Object.entries({ DEMO_PAGE: "on", ...options.vars }).map(([name, value]) => [name, { type: "plain_text", value }]),
  ),
  dev: {
    remote: false,
    // It would show the secrets to every program and web page on this machine.
    inspector: false,
    server: { ...(ip !== undefined && { hostname: ip }), port, secure: isSecure },
    persist: options.stateFolder,
    // Below this level are wrangler's lines about requests. They hold whole paths, into which someone may have put a credential.
    logLevel: "warn",
    structuredLogsHandler: ({ level, message }: { level: string; message: string }) =>
      level === "error" || level === "warn" ? console.error(message) : console.info(message),
  },
});

/** Wrangler's "error" event is an error, or wraps one as its cause. */
function reasonOf(event: Error | { reason: string; cause: { message: string } }): string {
  return event instanceof Error ? event.message : `${event.reason}: ${event.cause.message}`;
}
