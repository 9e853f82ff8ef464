import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bundle, Settings } from "../../../cli/src/serve/bundle.ts";
import { startWorkerd } from "../../../cli/src/serve/workerd.ts";
import { configOf, textOf } from "../../../cli/src/serve/workerd-config.ts";
import { OPERATOR_TOKEN, secrets } from "../../../tools/bench/service.ts";

/** A change of a source file, of the next release. */
export type Edit = { file: string; from: string; to: string };

/** Edits a copy of the project. */
export function plant(copy: string, edits: readonly Edit[]): void {
  for (const { file, from, to } of edits) {
    const before = readFileSync(join(copy, file), "utf8");
    const after = before.replace(from, () => to);
    if (after === before) throw new Error(`${file} has no ${from}`);
    writeFileSync(join(copy, file), after);
  }
}

/** Builds the Worker of a copy of the project, in which it makes these edits. */
export function bundleWith(copy: string, edits: readonly Edit[]): Bundle {
  plant(copy, edits);
  const folder = join(copy, "bundle");
  execFileSync(process.execPath, ["--", join(copy, "cli/src/serve/build-worker.ts"), folder], {
    cwd: copy,
    stdio: "pipe",
  });
  return { folder, settings: JSON.parse(readFileSync(join(folder, "settings.json"), "utf8")) as Settings };
}

const LIMITED = "test:no-limit";

/** A service, and its bootstrap token. */
export type SkewedService = { url: string; operatorToken: string; stop: () => Promise<void> };

/**
 * A state of services that follow one another: the folder of the databases, the secrets and other variables, and the address of the host of
 * SSO_JWKS_URL, if the Workers reach one.
 */
export type State = { folder: string; secrets: Record<string, string>; jwksAddress?: string };

export const newState = (): State => ({
  folder: mkdtempSync(join(tmpdir(), "user-group-service-")),
  secrets: secrets(),
});

/** Sends each request to the next of its Workers, as a gradual deployment divides them. */
const ROUTER = `let turn = 0;
export default {
  fetch(request, env) {
    const workers = Object.keys(env);
    turn += 1;
    return env[workers[turn % workers.length]].fetch(request);
  },
};
`;

const modulesOf = ({ folder }: Bundle): string =>
  readdirSync(folder)
    .filter((name) => /\.(js|html)$/.test(name))
    .toSorted((one, other) => Number(other.endsWith(".js")) - Number(one.endsWith(".js")))
    .map((name) => {
      const kind = name.endsWith(".js") ? "esModule" : "text";
      return `(name = ${textOf(name)}, ${kind} = embed ${textOf(join(folder, name))})`;
    })
    .join(", ");

/**
 * Starts Workers with the Durable Objects of another bundle, as in a gradual deployment: each request goes to one of the Workers.
 * Nothing is limited.
 */
export async function startSkewed(workers: readonly Bundle[], objects: Bundle, kept?: State): Promise<SkewedService> {
  const { folder: state, secrets: fixed, jwksAddress } = kept ?? newState();
  const { compatibilityDate, durableObjects, rateLimits } = objects.settings;
  const ofWorkers = workers.map(({ settings }) => settings.vars);
  const variables: Record<string, string> = Object.assign({}, objects.settings.vars, ...ofWorkers, fixed);
  const bindings = [
    ...durableObjects.map(
      ({ binding, className }) =>
        `(name = ${textOf(binding)}, durableObjectNamespace = (className = ${textOf(className)}, serviceName = "objects"))`,
    ),
    ...rateLimits.map(
      ({ name }) => `(name = ${textOf(name)}, wrapped = (moduleName = "${LIMITED}", innerBindings = []))`,
    ),
    '(name = "ASSETS", service = "internet")',
    ...(jwksAddress ? ['(name = "SSO_JWKS", service = "jwks")'] : []),
    ...Object.keys(variables).map((name) => `(name = ${textOf(name)}, fromEnvironment = ${textOf(name)})`),
  ].join(", ");
  const service = (name: string, bundle: Bundle, others = "") =>
    `(name = "${name}", worker = (modules = [${modulesOf(bundle)}], compatibilityDate = ${textOf(compatibilityDate)}, ${others}bindings = [${bindings}]))`;
  const namespaces = durableObjects.map(
    ({ className }) => `(className = ${textOf(className)}, uniqueKey = ${textOf(className)}, enableSql = true)`,
  );
  const stored = `durableObjectNamespaces = [${namespaces.join(", ")}], durableObjectStorage = (localDisk = "state"), `;
  const router = mkdtempSync(join(state, "router-"));
  writeFileSync(join(router, "router.js"), ROUTER);
  const text = configOf({
    modules: router,
    compatibilityDate,
    address: "127.0.0.1:0",
    state,
    bindings: workers.map((_, index) => `(name = "WORKER_${index}", service = "worker-${index}")`),
    services: [
      service("objects", objects, stored),
      ...workers.map((worker, index) => service(`worker-${index}`, worker)),
      ...(jwksAddress ? [`(name = "jwks", external = (address = ${textOf(jwksAddress)}, http = ()))`] : []),
    ],
    extensions: [
      `(modules = [(name = "${LIMITED}", internal = true, esModule = "export default () => ({ limit: async () => ({ success: true }) });")])`,
    ],
  });
  const config = join(state, "workerd.capnp");
  writeFileSync(config, text);
  const { port, stop } = await startWorkerd({ config, env: variables, log: "ignore" });
  return {
    url: `http://127.0.0.1:${port}`,
    operatorToken: OPERATOR_TOKEN,
    stop: async () => {
      await stop();
      if (!kept) rmSync(state, { recursive: true, force: true });
    },
  };
}
