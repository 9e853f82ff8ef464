/** The service on plain workerd: the bundle, its bindings as Cloudflare gives them, and the folder of its state. */
import { join } from "node:path";
import type { Bundle } from "./bundle.ts";
import { writePrivateFile } from "./private-files.ts";
import { CONFIG_FILE } from "./state-folder.ts";
import { startWorkerd, type Workerd, type WorkerdOptions } from "./workerd.ts";
import { configOf, textOf, type WorkerdConfig } from "./workerd-config.ts";

/** The ids of all objects derive from this key, so another key would start with an empty state. `wrangler dev` uses the same one. */
const uniqueKeyOf = (className: string) => `user-group-service-${className}`;

/**
 * Without them, 3,000 requests at the same time leave twice as much memory, because V8 does not know of what workerd holds for them: a small
 * young generation, an early first collection of the old one, and `gc` for the Worker (collect-garbage.ts).
 */
const V8_FLAGS = ["--max-semi-space-size=4", "--initial-old-space-size=4", "--expose-gc"];

const RATE_LIMIT = "user-group-service:rate-limit";
/** Beside this file, or beside `lib/ug.mjs` of a release. */
const embedded = (name: string) => `esModule = embed ${textOf(join(import.meta.dirname, "workers", name))}`;

export type ServiceOptions = Omit<WorkerdOptions, "config" | "env"> & {
  bundle: Bundle;
  /** The folder of the databases, which must exist. */
  state: string;
  /** With `socketFd` there is none. */
  address: string | undefined;
  variables: Record<string, string>;
  v8Flags?: readonly string[];
};

/** Starts the service. Its variables, secrets among them, reach workerd by its environment alone. */
export function startService({
  bundle,
  state,
  address,
  variables,
  v8Flags = [],
  ...options
}: ServiceOptions): Promise<Workerd> {
  const config = join(state, CONFIG_FILE);
  const { compatibilityDate, durableObjects } = bundle.settings;
  const text = configOf({
    ...bindingsOf(bundle),
    modules: bundle.folder,
    compatibilityDate,
    durableObjects: durableObjects.map((each) => ({ ...each, uniqueKey: uniqueKeyOf(each.className) })),
    state,
    fromEnvironment: Object.keys(variables),
    v8Flags: [...V8_FLAGS, ...v8Flags],
    ...(address !== undefined && { address }),
  });
  writePrivateFile(config, text);
  return startWorkerd({ ...options, config, env: variables });
}

/** The rate limits, and the files of `public/`. */
function bindingsOf({ folder, settings }: Bundle): Pick<WorkerdConfig, "bindings" | "services" | "extensions"> {
  const { compatibilityDate, rateLimits, files } = settings;
  const json = (name: string, value: unknown) => `(name = ${textOf(name)}, json = ${textOf(JSON.stringify(value))})`;
  return {
    bindings: [
      '(name = "ASSETS", service = "assets")',
      ...rateLimits.map(
        ({ name, limit, period }) =>
          `(name = ${textOf(name)}, wrapped = (moduleName = "${RATE_LIMIT}", innerBindings = [${json("limit", limit)}, ${json("period", period)}]))`,
      ),
    ],
    services: [
      `(name = "assets", worker = (modules = [(name = "assets.js", ${embedded("assets.js")})], compatibilityDate = ${textOf(compatibilityDate)}, bindings = [${json("FILES", files)}, (name = "DISK", service = "public")]))`,
      // It reads a file as the client takes it, so a client that reads nothing holds no file in memory.
      `(name = "public", disk = (path = ${textOf(join(folder, "public"))}))`,
    ],
    extensions: [`(modules = [(name = "${RATE_LIMIT}", internal = true, ${embedded("rate-limit.js")})])`],
  };
}
