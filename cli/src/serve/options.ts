/** The options of `ug serve`. */
import { fstatSync } from "node:fs";
import { isIP } from "node:net";
import { attempt } from "../../../common/attempt.ts";
import { UsageError } from "../../../common/command-error.ts";
import { settingOr } from "../../../common/settings/settings.ts";
import { reader, wholeNumber } from "../option-values.ts";
import { RELEASE, TRY } from "../release.ts";

const PORT_MAX = 65_535;

export const DEFAULT_PORT = 8787;
export const DEFAULT_STATE_FOLDER = ".ug/state";
export const DEFAULT_SECRETS_FILE = ".dev.vars";

/** The variables of the Worker that are secrets. */
export const SECRETS: readonly string[] = ["SIGNING_KEYS", "OPERATOR_TOKEN"];

/** A number of calls, and the seconds in which a client may make them. */
export type RateLimit = { limit: number; period: number };

export type ServeOptions = {
  port: number;
  host: string;
  persistTo: string;
  envFile: string;
  var: Record<string, string>;
  clientAddressHeader: string;
  metricsPort?: number;
  backups?: string;
  /** Rate limits in place of those of wrangler.toml, by their names. */
  limit: Record<string, RateLimit>;
  socketFd?: number;
  /** Makes what is missing for a try: secrets, an environment, its API key and an operator's key. */
  demo: boolean;
};

/** How to start the service again with other options, for messages. */
export const commandOf = ({ demo }: Pick<ServeOptions, "demo">): string =>
  demo ? (RELEASE ? TRY : `${TRY} --`) : "ug serve";

/** Each option with a valid value, for the message that explains how to write it. */
const EXAMPLES = {
  port: "9000",
  host: "127.0.0.1",
  "persist-to": "DIR",
  "env-file": "FILE",
  var: "NAME:VALUE",
  "client-address-header": "NAME",
  "metrics-port": "9788",
};

/** @throws UsageError if npm read options as its own: without `--`, it passes on their names as variables. */
export function refuseOptionsTakenByNpm(env: NodeJS.ProcessEnv): void {
  if (env.npm_lifecycle_event !== "start") return;
  const taken = Object.entries(EXAMPLES).filter(
    ([name]) => env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined,
  );
  if (taken.length === 0) return;
  const names = taken.map(([name]) => `--${name}`).join(" and ");
  const example = taken.map(([name, value]) => `--${name} ${value}`).join(" ");
  throw new UsageError(`npm took ${names} for itself. Put -- before the options: npm start -- ${example}`);
}

export const readPort = reader(
  (text) => wholeNumber(text, PORT_MAX),
  `Give the port as a whole number up to ${PORT_MAX}.`,
);

/** Reads the number of a file descriptor that systemd or a launcher may pass on. */
export const readSocketFd = reader((text) => {
  const fd = wholeNumber(text, 1023) ?? 0;
  return fd >= 3 && attempt(() => fstatSync(fd).isSocket()) ? fd : undefined;
}, "Give --socket-fd as the number of an open socket, from 3 on.");

/** Reads an IP address: a name could have several. */
export const readHost = reader(
  (text) => (isIP(text) === 0 ? undefined : text),
  "Give --host as an IP address, such as 127.0.0.1, ::1 or 0.0.0.0.",
);

export const readHeaderName = reader(
  (text) => settingOr({ CLIENT_ADDRESS_HEADER: text }, "CLIENT_ADDRESS_HEADER", undefined),
  "Give --client-address-header as the name of a header, such as X-Real-IP.",
);

const CALLS_MAX = 1_000_000_000;
const PERIOD_SECONDS_MAX = 3_600;

/** Adds one `NAME=CALLS/SECONDS` to those before it. @throws UsageError unless it has this form. */
export function readLimit(text: string, others: Record<string, RateLimit> = {}): Record<string, RateLimit> {
  const [, name, calls = "", seconds = ""] = /^([A-Z_]{1,40})=(\d+)\/(\d+)$/.exec(text) ?? [];
  const [limit, period] = [wholeNumber(calls, CALLS_MAX), wholeNumber(seconds, PERIOD_SECONDS_MAX)];
  if (name === undefined || !limit || !period)
    throw new UsageError(
      `Give --limit as NAME=CALLS/SECONDS, such as API_KEY_LIMIT=60000/60, with ${PERIOD_SECONDS_MAX} seconds at most.`,
    );
  return { ...others, [name]: { limit, period } };
}

/** Adds one `NAME:VALUE` to those before it. @throws UsageError unless it has this form, and for a secret. */
export function readVariable(text: string, others: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([A-Za-z_]\w*):(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new UsageError("Give --var as NAME:VALUE.");
  if (SECRETS.includes(name))
    throw new UsageError(
      `${name} is a secret, and other users of this machine can read arguments. Put it in the file of --env-file, or in the environment.`,
    );
  return { ...others, [name]: value };
}
