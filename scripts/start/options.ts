/** The command line of `npm start`. */
import { CommandError, isTakenByNpm, readArguments } from "../command.ts";

const DEFAULT_PORT = 8787;
const PORT_MAX = 65_535;

/** What `--help` prints. */
export const HELP = `Usage: npm start -- [options]

  --port PORT                  the port to listen on (${DEFAULT_PORT}; 0 takes any free one)
  --ip ADDRESS                 the address to listen on (localhost)
  --persist-to DIR             the folder that holds the state (.wrangler/state)
  --env-file FILE              the file that holds the secrets (.dev.vars)
  --local-protocol PROTOCOL    http, or https with a self-signed certificate (http)
  --var NAME:VALUE             sets a variable of the Worker; may be repeated
  --help                       prints this

For the other options of the local runtime, run npx wrangler dev.`;

/** Each option with a valid value, for the message that explains how to write it. */
const EXAMPLES = {
  port: "9000",
  ip: "127.0.0.1",
  "persist-to": "DIR",
  "env-file": "FILE",
  "local-protocol": "https",
  var: "NAME:VALUE",
};

export type Options = {
  port: number;
  /** `undefined` leaves the choice to wrangler.toml and wrangler, whose default is localhost. */
  ip: string | undefined;
  stateFolder: string;
  secretsFile: string;
  isSecure: boolean;
  vars: Record<string, string>;
};

export const DEFAULT_STATE_FOLDER = ".wrangler/state";
export const DEFAULT_SECRETS_FILE = ".dev.vars";

/** Reads the command line; `undefined` if it asks for help. `env` contains the options that npm took from it. */
export function readOptions(env: NodeJS.ProcessEnv): Options | undefined {
  refuseOptionsTakenByNpm(env);
  const { values, positionals } = readArguments({
    port: { type: "string" },
    ip: { type: "string" },
    "persist-to": { type: "string" },
    "env-file": { type: "string" },
    "local-protocol": { type: "string" },
    var: { type: "string", multiple: true },
    help: { type: "boolean" },
  });
  if (values.help) return undefined;
  if (positionals.length > 0 || Object.values(values).includes(""))
    throw new CommandError(
      "An argument is not an option, or an option lacks its value; npm start -- --help shows them all.",
    );
  return {
    port: readPort(values.port ?? String(DEFAULT_PORT)),
    ip: values.ip,
    stateFolder: values["persist-to"] ?? DEFAULT_STATE_FOLDER,
    secretsFile: values["env-file"] ?? DEFAULT_SECRETS_FILE,
    isSecure: readProtocol(values["local-protocol"] ?? "http"),
    vars: Object.fromEntries((values.var ?? []).map(readVariable)),
  };
}

function refuseOptionsTakenByNpm(env: NodeJS.ProcessEnv): void {
  const taken = Object.entries(EXAMPLES).filter(([name]) => isTakenByNpm(name, env));
  if (taken.length === 0) return;
  const names = taken.map(([name]) => `--${name}`).join(" and ");
  const example = taken.map(([name, value]) => `--${name} ${value}`).join(" ");
  throw new CommandError(`npm took ${names} for itself. Put -- before the options: npm start -- ${example}`);
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > PORT_MAX)
    throw new CommandError(`Give --port as a whole number up to ${PORT_MAX}.`);
  return Number(text);
}

function readProtocol(text: string): boolean {
  if (text !== "http" && text !== "https") throw new CommandError("Give --local-protocol as http or https.");
  return text === "https";
}

function readVariable(text: string): [name: string, value: string] {
  const [, name, value] = /^(\w+):(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new CommandError("Give --var as NAME:VALUE.");
  return [name, value];
}
