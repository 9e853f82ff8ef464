/** What the commands that call the service share: arguments, the service's address, credentials, output and failures. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

const LOCAL_URL = "http://localhost:8787";

/** The line of a command's usage for the option that each command has. */
export const URL_USAGE = `  --url URL   the service; by default the environment variable SERVICE_URL, or else ${LOCAL_URL}`;

const SHARED_OPTIONS = { url: { type: "string" }, help: { type: "boolean", default: false } } as const;

/** These may be set whatever was typed: npm sets prefix in each of its scripts, and many set yes in their .npmrc. */
const SET_WITHOUT_TYPING = ["prefix", "yes"];

/** A failure that the user of a command can fix. The command prints the message, and no stack trace. */
export class CommandError extends Error {}

/** The values of these options and of those that each command has. */
export type ValuesOf<Options extends ParseArgsOptionsConfig> = ReturnType<typeof readArguments<Options>>["values"];

/** Parses the arguments. The error names the option, and repeats nothing else that was typed: it may be a secret. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(options: Options) {
  const all = { ...SHARED_OPTIONS, ...options };
  refuseOptionsTakenByNpm(Object.keys(all), process.argv.slice(2), process.env);
  try {
    return parseArgs({ allowPositionals: true, options: all });
  } catch {
    throw new CommandError(optionFault(all));
  }
}

type OptionToken = { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined };

/** What is wrong with the first option that cannot be parsed. */
function optionFault(options: ParseArgsOptionsConfig): string {
  const { tokens } = parseArgs({ allowPositionals: true, options, strict: false, tokens: true });
  const faults = tokens
    .filter((token) => token.kind === "option")
    .map((token) => faultOf(token, Object.hasOwn(options, token.name) ? options[token.name]?.type : undefined));
  return `${faults.find((fault) => fault !== undefined) ?? "The options cannot be read"}; --help shows them all.`;
}

function faultOf({ rawName, value, inlineValue }: OptionToken, type: "string" | "boolean" | undefined) {
  // Letters alone: a secret that was typed as an option has digits, too.
  if (!type) return /^-+[a-z-]+$/i.test(rawName) ? `There is no option ${rawName}` : "An option is unknown";
  if (type === "boolean") return value === undefined ? undefined : `${rawName} takes no value`;
  if (value === undefined) return `${rawName} lacks its value`;
  return value.startsWith("-") && !inlineValue
    ? `${rawName} lacks its value, or write one that begins with - as ${rawName}=VALUE`
    : undefined;
}

/** Without `--`, npm reads the options of a script as its own, and passes on what remains. */
function refuseOptionsTakenByNpm(names: readonly string[], args: readonly string[], env: NodeJS.ProcessEnv): void {
  const script = env.npm_lifecycle_event;
  if (script === undefined || args.some((arg) => arg.startsWith("--"))) return;
  const taken = names
    .filter((name) => !SET_WITHOUT_TYPING.includes(name))
    .find((name) => env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined);
  if (taken)
    throw new CommandError(
      `npm read --${taken} as an option of its own. Put -- before the arguments: npm run ${script} -- …`,
    );
}

/** Refuses an option that another command takes, and this one does not. */
export function refuseForeign(command: string, given: object, foreign: (option: string) => boolean): void {
  const option = Object.entries(given).find(([name, value]) => value !== undefined && foreign(name))?.[0];
  if (option) throw new CommandError(`${command} does not take --${option}; --help shows which options it takes.`);
}

/** Whether only this machine can receive what is sent to the URL (RFC 6890; `URL` writes addresses in their usual form). */
export const isLoopback = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);

/** The service that the option `--url` names, or else the variable SERVICE_URL. It is safe to send a credential there. */
export function serviceUrl(option: string | undefined, env: NodeJS.ProcessEnv): URL {
  const source = option === undefined && env.SERVICE_URL ? "SERVICE_URL" : "--url";
  const text = option ?? (env.SERVICE_URL || LOCAL_URL);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url?.protocol === "http:" && isLoopback(url);
  if (!url || (url.protocol !== "https:" && !isLocal))
    throw new CommandError(`Give ${source} as https://…; without TLS a credential goes to this machine alone.`);
  if (url.href !== `${url.origin}/`)
    throw new CommandError(`Give ${source} as the service's origin alone, such as https://groups.example.com.`);
  return url;
}

/** The API key in the environment. */
export function apiKeyFrom(env: NodeJS.ProcessEnv): string {
  if (!env.API_KEY) throw new CommandError("Set API_KEY in the environment.");
  // Other characters cannot be in a header, and the error of the HTTP client would quote them.
  if (!/^[\w-]+$/.test(env.API_KEY))
    throw new CommandError("API_KEY is not an API key: it holds characters other than letters, digits, _ and -.");
  return env.API_KEY;
}

export const isRedirect = (status: number): boolean => status >= 300 && status < 400;

export const redirected = (url: URL): CommandError =>
  new CommandError(
    `The server at ${url.origin} redirects elsewhere. Give the address of the service itself as --url or SERVICE_URL.`,
  );

export const unreachable = (url: URL): CommandError =>
  new CommandError(
    `The service at ${url.origin} cannot be reached. Start it, or give another as --url or SERVICE_URL.`,
  );

export const notTheService = (url: URL, status: number | undefined): CommandError =>
  new CommandError(`The server at ${url.origin} (status ${status}) is not the user group service.`);

/** For a 401: names the credential that the command takes, since the service answers any other in the same way. */
export const apiKeyRefused = (url: URL, code: string): CommandError =>
  new CommandError(
    `The service at ${url.origin} refused API_KEY (${code}). This command takes an API key, which begins with ugk_. The operator of the service issues one.`,
  );

/** The code of an error of a file, a pipe or a socket, such as ENOSPC; `undefined` for any other error. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : undefined;

/** Writes a text and a line feed to standard output, or fails: what it prints may be a key that is shown only once. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null) => {
      // After a failure the stream emits the error once more, which this listener then takes.
      if (error) return reject(new CommandError(`Standard output could not be written: ${systemErrorCode(error)}.`));
      process.stdout.off("error", settle);
      resolve();
    };
    process.stdout.once("error", settle);
    process.stdout.write(`${text}\n`, settle);
  });
}

/**
 * Calls `stop` when npm has ended before this process: npm passes a signal on to the shell that it started, and the shell
 * does not pass it on.
 */
export function stopWithNpm(stop: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const startedBy = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === startedBy) return;
    clearInterval(watch);
    stop();
  }, 500).unref();
}

/** A command: its usage, its own options, and what it does. */
export type Command<Options extends ParseArgsOptionsConfig> = {
  usage: string;
  options: Options;
  run: (values: ValuesOf<Options>, positionals: string[]) => Promise<void>;
};

/** Runs a command to its end, or prints its usage. A `CommandError` becomes its message and the status 1. */
export async function runCommand<const Options extends ParseArgsOptionsConfig>(
  command: Command<Options>,
): Promise<void> {
  try {
    const { values, positionals } = readArguments(command.options);
    await ("help" in values && values.help ? print(command.usage) : command.run(values, positionals));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
