/** The service on plain workerd: the bundle, its bindings as Cloudflare gives them, and the folder of its state. */
import { join } from "node:path";
import { CommandError } from "../../../common/command-error.ts";
import { ssoIn } from "../../../common/settings/settings.ts";
import { explainErrors } from "../support/errors.ts";
import { causeOf } from "../support/file-causes.ts";
import { type Bundle, SCRIPT, type Settings } from "./bundle.ts";
import { writePrivateFile } from "./private-files.ts";
import { startWorkerd, type Workerd, type WorkerdOptions } from "./workerd.ts";
import { CONFIG_FILE, configOf, textOf } from "./workerd-config.ts";

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

/**
 * Starts the service. Its variables, secrets among them, reach workerd by its environment alone, and so does `SSL_CERT_FILE`: the file of
 * the certificates that workerd trusts in place of the machine's (openssl-env(7)).
 */
export function startService({
  bundle,
  state,
  address,
  variables,
  v8Flags = [],
  ...options
}: ServiceOptions): Promise<Workerd> {
  const config = join(state, CONFIG_FILE);
  const { compatibilityDate, durableObjects, rateLimits, files } = bundle.settings;
  const sso = ssoIn(variables);
  const text = configOf({
    bindings: [
      '(name = "ASSETS", service = "assets")',
      ...rateLimits.map(rateLimitOf),
      ...(sso ? ['(name = "SSO_JWKS", service = "provider-keys")'] : []),
    ],
    services: [
      `(name = "assets", worker = (modules = [(name = "assets.js", ${embedded("assets.js")})], compatibilityDate = ${textOf(compatibilityDate)}, bindings = [${json("FILES", files)}, (name = "DISK", service = "public")]))`,
      // It reads a file as the client takes it, so a client that reads nothing holds no file in memory.
      `(name = "public", disk = (path = ${textOf(join(bundle.folder, "public"))}))`,
      ...(sso ? [providerKeys(new URL(sso.jwksUrl))] : []),
    ],
    extensions: [`(modules = [(name = "${RATE_LIMIT}", internal = true, ${embedded("rate-limit.js")})])`],
    script: join(bundle.folder, SCRIPT),
    compatibilityDate,
    // The ids of all objects derive from this key, so another key would start with an empty state. `wrangler dev` uses the same one.
    durableObjects: durableObjects.map((each) => ({ ...each, uniqueKey: `user-group-service-${each.className}` })),
    state,
    fromEnvironment: Object.keys(variables),
    v8Flags: [...V8_FLAGS, ...v8Flags],
    ...(address !== undefined && { address }),
  });
  const failureOf = (code: string) => new CommandError(`${config} cannot be written: ${causeOf(code, config)}.`);
  explainErrors(() => writePrivateFile(config, text), failureOf);
  const { SSL_CERT_FILE } = process.env;
  return startWorkerd({ ...options, config, env: { ...(SSL_CERT_FILE && { SSL_CERT_FILE }), ...variables } });
}

const json = (name: string, value: unknown) => `(name = ${textOf(name)}, json = ${textOf(JSON.stringify(value))})`;

const rateLimitOf = ({ name, limit, period }: Settings["rateLimits"][number]) =>
  `(name = ${textOf(name)}, wrapped = (moduleName = "${RATE_LIMIT}", innerBindings = [${json("limit", limit)}, ${json("period", period)}]))`;

/**
 * The service that sends each request to the host of `SSO_JWKS_URL`, whatever host the request names. workerd asks for the host's
 * address at each connection, and trusts the certificates that the machine trusts (`ExternalServer` in `workerd.capnp`).
 */
function providerKeys({ protocol, hostname, port }: URL): string {
  const isEncrypted = protocol === "https:";
  const address = textOf(`${hostname}:${port || (isEncrypted ? 443 : 80)}`);
  const transport = isEncrypted ? "https = (options = (), tlsOptions = (trustBrowserCas = true))" : "http = ()";
  return `(name = "provider-keys", external = (address = ${address}, ${transport}))`;
}
