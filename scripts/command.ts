/** What the commands share that call the service: where it is, how a credential gets there, how a refusal is told. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import * as z from "zod";

export const LOCAL_URL = "http://localhost:8787";

/** The service answers or gives up in less. */
export const ANSWER_MS_MAX = 30_000;

/** What whoever typed the command can mend. Its message is the sentence that is printed. */
export class Refusal extends Error {}

/** The arguments, as `options` says. What was typed is never repeated: perhaps it was a secret. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(options: Options) {
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch {
    throw new Refusal("An option is unknown, or lacks its value; --help shows them all.");
  }
}

/** The service that `text` names: one to which a credential may be sent. */
export function serviceUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (!url || (url.protocol !== "https:" && !isLocal))
    throw new Refusal("Give --url as https://…; without TLS a credential goes to this machine alone.");
  if (url.href !== `${url.origin}/`)
    throw new Refusal("Give --url as the service's host alone, such as https://groups.example.com.");
  return url;
}

/** The API key of the environment. */
export function apiKeyOf(env: NodeJS.ProcessEnv): string {
  if (!env.API_KEY) throw new Refusal("Set API_KEY in the environment.");
  // Anything else could not stand in a header, and the error of that would quote it.
  if (!/^[\w-]+$/.test(env.API_KEY)) throw new Refusal("API_KEY is not an API key: it holds other characters.");
  return env.API_KEY;
}

/** A call with a credential, which follows no redirect: that would take the credential elsewhere. */
export async function send(
  url: URL,
  credential: string,
  { headers = {}, ...init }: { method: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal },
): Promise<Response> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    ...init,
    redirect: "manual",
    headers: { Authorization: `Token ${credential}`, "Content-Type": "application/json", ...headers },
  });
  if (isRedirect(response.status)) throw redirecting(url);
  return response;
}

const Issue = z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() });

/** What the service says of a call that it refuses. */
export type Refused = z.infer<typeof Refused>;
const Refused = z.object({ code: z.string(), message: z.string(), issues: z.optional(z.array(Issue)) });
const Body = z.object({ success: z.number(), error: z.optional(Refused) });

/** The answer, if it is one of the service. What refuses a call may repeat its credential, which must not be printed. */
export function bodyOf<Fields>(credential: string, text: string): (Fields & z.infer<typeof Body>) | undefined {
  try {
    const body = JSON.parse(text);
    const { error } = Body.parse(body);
    const masked = (_: string, value: unknown) =>
      typeof value === "string" ? value.replaceAll(credential, "<credential>") : value;
    return error ? { ...body, error: JSON.parse(JSON.stringify(error), masked) } : body;
  } catch {
    return undefined;
  }
}

export const isRedirect = (status: number): boolean => status >= 300 && status < 400;

export const redirecting = (url: URL): Refusal =>
  new Refusal(`What answers at ${url.origin} redirects elsewhere; give the service itself as --url.`);

export const unreachable = (url: URL): Refusal =>
  new Refusal(`The service at ${url.origin} cannot be reached; start it, or name another with --url.`);

export const foreign = (url: URL, status: number): Refusal =>
  new Refusal(`What answers at ${url.origin} (status ${status}) is not the user group service.`);

/** The code of an error of a file, a pipe or a socket, such as ENOSPC; `undefined` for any other. */
export const systemErrorOf = (error: unknown): string | undefined =>
  error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : undefined;

/** Writes a text and a line feed to standard output. What cannot be written is a refusal: a key may be shown only once. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null) =>
      error ? reject(new Refusal(`Standard output could not be written: ${systemErrorOf(error)}.`)) : resolve();
    process.stdout.once("error", settle);
    process.stdout.write(`${text}\n`, settle);
  });
}

/** Calls `stop` once npm, which passes signals to its shell and not to what that runs, has ended before this process. */
export function stopWithNpm(stop: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const startedBy = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === startedBy) return;
    clearInterval(watch);
    stop();
  }, 500).unref();
}

/** Runs a command to its end, and tells of a refusal in its sentence and in the status. */
export async function runCommand(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
