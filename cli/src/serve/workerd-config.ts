/** The configuration of workerd, in the text form of Cap'n Proto (`workerd.capnp` of the package documents it). */

export const CONFIG_FILE = "workerd.capnp";

/** The name of the socket, which the command line of workerd refers to. */
export const SOCKET = "http";

/** One Worker, and what workerd gives to it. Texts are never secrets: those come by `fromEnvironment`. */
export type WorkerdConfig = {
  /** The path of its only module. */
  script: string;
  compatibilityDate: string;
  /** Without one, the socket comes by `--socket-fd`. */
  address?: string;
  /** `uniqueKey` decides the ids of a class's objects, and the name of their folder. */
  durableObjects?: { binding: string; className: string; uniqueKey: string }[];
  state?: string;
  /** Names of variables that workerd reads from its environment; one that is not there is `null`. */
  fromEnvironment?: readonly string[];
  /** Other bindings, services and extensions, each in the text form. */
  bindings?: readonly string[];
  services?: readonly string[];
  extensions?: readonly string[];
  /** Options of V8, which is the JavaScript engine. */
  v8Flags?: readonly string[];
};

/** A text as Cap'n Proto writes it. JSON escapes control characters as `\u…`, which it lacks, so they are written in octal. */
export function textOf(text: string): string {
  return JSON.stringify(text).replaceAll(/\\u00([0-9a-f]{2})/g, (_, hex: string) => `\\x${hex}`);
}

/** The configuration, for `workerd serve FILE`. Files are embedded when workerd starts, and paths must be absolute. */
export function configOf(config: WorkerdConfig): string {
  const { compatibilityDate, address, durableObjects = [], state, fromEnvironment = [] } = config;
  // An object that workerd has closed, after 10 s without a call, could not be opened again on a full disk: SQLite makes a file
  // for its index of the log. One that stays open takes 0.3 MB.
  const namespaces = durableObjects.map(
    ({ className, uniqueKey }) =>
      `(className = ${textOf(className)}, uniqueKey = ${textOf(uniqueKey)}, enableSql = true, preventEviction = true)`,
  );
  const bindings = [
    ...(config.bindings ?? []),
    ...fromEnvironment.map((name) => `(name = ${textOf(name)}, fromEnvironment = ${textOf(name)})`),
    ...durableObjects.map(
      ({ binding, className }) => `(name = ${textOf(binding)}, durableObjectNamespace = ${textOf(className)})`,
    ),
  ];
  const services = [
    '(name = "main", worker = .main)',
    // The Worker's global `fetch` reaches no host.
    '(name = "internet", network = (allow = []))',
    ...(state ? [`(name = "state", disk = (path = ${textOf(state)}, writable = true))`] : []),
    ...(config.services ?? []),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.join(",\n    ")}
  ],
  sockets = [(name = "${SOCKET}", ${address === undefined ? "" : `address = ${textOf(address)}, `}http = (), service = "main")],
  extensions = [${(config.extensions ?? []).join(", ")}],
  v8Flags = [${(config.v8Flags ?? []).map(textOf).join(", ")}],
);
const main :Workerd.Worker = (
  modules = [${moduleOf(config.script)}],
  compatibilityDate = ${textOf(compatibilityDate)},
  durableObjectNamespaces = [${namespaces.join(", ")}],
  ${state ? 'durableObjectStorage = (localDisk = "state"),' : ""}
  bindings = [
    ${bindings.join(",\n    ")}
  ],
);
`;
}

/** A Worker of one module. */
export const moduleOf = (script: string): string => `(name = "index.js", esModule = embed ${textOf(script)})`;
