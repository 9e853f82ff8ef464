import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { build, type Plugin } from "esbuild";
import { type Bundle, bundleOf, ROOT, SCRIPT } from "../../../cli/src/serve/bundle.ts";
import { startWorkerd } from "../../../cli/src/serve/workerd.ts";
import { configOf, moduleOf, textOf } from "../../../cli/src/serve/workerd-config.ts";
import { OPERATOR_TOKEN, secrets } from "../../../tools/bench/service.ts";

/** A change of a source file, of the next release. */
export type Edit = { file: string; from: string; to: string };

/** Makes the edits of one file in its text. */
function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, { file, from, to }) => {
    const after = before.replace(from, () => to);
    if (after === before) throw new Error(`${file} has no ${from}`);
    return after;
  }, text);
}

/** Edits a copy of the project. */
export function plant(copy: string, edits: readonly Edit[]): void {
  for (const edit of edits) {
    const path = join(copy, edit.file);
    writeFileSync(path, edited(readFileSync(path, "utf8"), [edit]));
  }
}

/** Builds the Worker of these sources as if they had these edits. The bundle is in a folder of its own. */
export async function bundleWith(edits: readonly Edit[]): Promise<Bundle> {
  const missing = new Set(edits.map(({ file }) => file));
  const planted: Plugin = {
    name: "planted",
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
        const file = relative(ROOT, path);
        if (!missing.delete(file)) return undefined;
        const ofFile = edits.filter((edit) => edit.file === file);
        return { contents: edited(readFileSync(path, "utf8"), ofFile), loader: path.endsWith("x") ? "tsx" : "ts" };
      }),
  };
  const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
  await build({
    entryPoints: [join(ROOT, "src/index.ts")],
    outfile: join(folder, "index.js"),
    tsconfig: join(ROOT, "tsconfig.json"),
    external: ["cloudflare:*", "node:*"],
    plugins: [planted],
    bundle: true,
    format: "esm",
    target: "esnext",
    logLevel: "silent",
  });
  if (missing.size > 0) throw new Error(`The Worker does not have ${[...missing].join(", ")}.`);
  return { folder, settings: bundleOf({ isNew: () => undefined }).settings };
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

/**
 * Starts Workers with the Durable Objects of another bundle, as in a gradual deployment: each request goes to one of the Workers.
 * Nothing is limited.
 */
export async function startSkewed(workers: readonly Bundle[], objects: Bundle, kept?: State): Promise<SkewedService> {
  const { folder: state, secrets: fixed, jwksAddress } = kept ?? newState();
  const { compatibilityDate, durableObjects, rateLimits } = objects.settings;
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
    ...Object.keys(fixed).map((name) => `(name = ${textOf(name)}, fromEnvironment = ${textOf(name)})`),
  ];
  /** Each release is deployed with its own variables. */
  const variablesOf = ({ settings: { vars } }: Bundle) =>
    Object.entries(vars)
      .filter(([name]) => !Object.hasOwn(fixed, name))
      .map(([name, value]) => `(name = ${textOf(name)}, text = ${textOf(value)})`);
  const service = (name: string, bundle: Bundle, others = "") =>
    `(name = "${name}", worker = (modules = [${moduleOf(join(bundle.folder, SCRIPT))}], compatibilityDate = ${textOf(compatibilityDate)}, ${others}bindings = [${[...bindings, ...variablesOf(bundle)].join(", ")}]))`;
  const namespaces = durableObjects.map(
    ({ className }) => `(className = ${textOf(className)}, uniqueKey = ${textOf(className)}, enableSql = true)`,
  );
  const stored = `durableObjectNamespaces = [${namespaces.join(", ")}], durableObjectStorage = (localDisk = "state"), `;
  const router = join(mkdtempSync(join(state, "router-")), SCRIPT);
  writeFileSync(router, ROUTER);
  const text = configOf({
    script: router,
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
  const { port, stop } = await startWorkerd({ config, env: fixed, log: "ignore" });
  return {
    url: `http://127.0.0.1:${port}`,
    operatorToken: OPERATOR_TOKEN,
    stop: async () => {
      await stop();
      if (!kept) rmSync(state, { recursive: true, force: true });
    },
  };
}
