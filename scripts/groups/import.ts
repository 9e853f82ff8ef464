import { addAbortSignal, type Readable } from "node:stream";
import { findInexact } from "../../src/http/exact-json.ts";
import { apiKeyRefused, CommandError, notTheService, stopWithNpm, systemErrorCode } from "../command.ts";
import type { Refusal } from "../support/http.ts";
import { type Line, linesOf } from "./lines.ts";
import { Progress } from "./progress.ts";
import { RetryingCaller, sentenceOf } from "./retrying-caller.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Fields of a listed group that are not fields of a call. The service decides them; a new group is active. */
const IGNORED = ["team_id", "created_at", "updated_at", "deleted_at", "purge_at", "state", "api_environment_tag"];

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The input and the options of an import. `total` is the number of bytes, or 0 if it is unknown. */
type ImportOptions = {
  input: Readable;
  total: number;
  fromLine: number;
  concurrency: number;
  url: URL;
  apiKey: string;
};

/**
 * Gets or creates the group of each line, with several calls at a time, and returns the summary. Whatever ends the import,
 * groups that were created stay, and a second run finds them. So SIGINT, SIGTERM and SIGHUP may stop it; it then prints the
 * line to continue from.
 */
export const importGroups = (options: ImportOptions): Promise<string> => new Import(options).run();

/** One run of an import. */
class Import {
  readonly #options: ImportOptions;
  readonly #caller: RetryingCaller;
  readonly #progress: Progress;
  readonly #stopping = new AbortController();
  readonly #counts = { created: 0, found: 0, refused: 0 };
  #failure: unknown;
  #lastRead = 0;
  #firstUndone = Number.POSITIVE_INFINITY;
  #isAllRead = false;

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#caller = new RetryingCaller(options.apiKey);
    this.#progress = new Progress(options.total);
  }

  async run(): Promise<string> {
    const { input, concurrency } = this.#options;
    const stop = () => this.#stopAfterCurrentCalls();
    const stopFor = (error: unknown) => this.#stopFor(error);

    input.once("error", stopFor);
    for (const signal of SIGNALS) process.once(signal, stop);
    stopWithNpm(stop);
    const lines = linesOf(addAbortSignal(this.#stopping.signal, input));
    await Promise.all(Array.from({ length: concurrency }, () => this.#importLines(lines).catch(stopFor)));
    for (const signal of SIGNALS) process.removeListener(signal, stop);
    this.#progress.stop();
    return this.#result();
  }

  async #importLines(lines: AsyncIterable<Line>): Promise<void> {
    for await (const line of lines) {
      if (this.#stopping.signal.aborted) break;
      this.#lastRead = line.number;
      if (line.number < this.#options.fromLine) continue;
      try {
        await this.#importLine(line);
      } catch (error) {
        this.#firstUndone = Math.min(this.#firstUndone, line.number);
        // Before this loop ends: its end waits for the other loops, and they wait for input that may not come.
        this.#stopFor(error);
        throw error;
      }
      this.#progress.update(line.end, this.#summary());
    }
    this.#isAllRead ||= !this.#stopping.signal.aborted;
  }

  async #importLine(line: Line): Promise<void> {
    const { url } = this.#options;
    const read = readLine(line);
    if (read.refusal) return this.#refuse(line, read.refusal);
    if (!read.body) return;
    const call = { method: "POST", headers: { "X-HTTP-Method-Override": "GET" }, body: read.body };
    const { status, body } = await this.#caller.call(new URL("/api/user", url), call, this.#stopping.signal);
    if (body.success === 1 && body.new_user_group !== undefined)
      this.#counts[body.new_user_group ? "created" : "found"] += 1;
    else if (!body.error) throw notTheService(url, status);
    else if (status === 401) throw apiKeyRefused(url, body.error.code);
    else if (status === 404 || status === 403) throw new CommandError(keyRefusalOf(body.error));
    else this.#refuse(line, body.error);
  }

  #refuse(line: Line, refusal: Refusal): void {
    this.#counts.refused += 1;
    this.#progress.note(`line ${line.number}: ${sentenceOf(refusal)}`);
  }

  #stopAfterCurrentCalls(): void {
    this.#progress.note("Stopping when the current calls are complete.");
    this.#stopping.abort();
  }

  /** Stops because of an error. Calls of other lines that were sent are completed. */
  #stopFor(error: unknown): void {
    this.#failure ??= failureOf(error);
    this.#stopping.abort();
  }

  #summary(): string {
    const { created, found, refused } = this.#counts;
    return `created ${created}, found ${found}, refused ${refused}`;
  }

  #result(): string {
    const { fromLine } = this.#options;
    const next = Math.min(
      this.#firstUndone,
      this.#isAllRead ? Number.POSITIVE_INFINITY : Math.max(this.#lastRead + 1, fromLine),
    );
    const failure = this.#failure;
    if (failure !== undefined && !(failure instanceof CommandError)) throw failure;
    if (next !== Number.POSITIVE_INFINITY) {
      console.info(this.#summary());
      throw new CommandError(`${failure ? `${failure.message}\n` : ""}Stopped. Continue with: --from-line ${next}`);
    }
    if (fromLine > this.#lastRead + 1)
      throw new CommandError(`--from-line ${fromLine} is after the last line, ${this.#lastRead}.`);
    if (this.#counts.refused > 0) process.exitCode = 1;
    return this.#summary();
  }
}

/** The body of a line's call, or the reason why there is none; neither for an empty line. */
function readLine({ bytes }: Line): { body?: object; refusal?: Refusal } {
  if (!bytes) return { refusal: { code: "body_too_large", message: "The line is larger than 1 MiB." } };
  const text = textOf(bytes);
  if (text?.trim() === "") return {};
  const value = text === undefined ? undefined : parse(text);
  if (text === undefined || typeof value !== "object" || value === null || Array.isArray(value))
    return { refusal: { code: "malformed_json", message: "The line is not a JSON object in UTF-8." } };
  // Checked here, because the call sends the parsed value again: the service would not see what JSON.parse has changed.
  const issues = findInexact(text, value);
  if (issues.length > 0)
    return { refusal: { code: "invalid_body", message: "The line cannot be kept exactly.", issues } };
  const fields = Object.entries(value)
    .filter(([name]) => !IGNORED.includes(name))
    .map(([name, field]) => [name === "provided_id" && !("user_group_id" in value) ? "user_group_id" : name, field]);
  return { body: Object.fromEntries(fields) };
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The message for a refusal that applies to every line, so that the import ends. */
const keyRefusalOf = (error: Refusal): string =>
  error.code === "user_group_not_found"
    ? "insufficient_access: This API key may only read. Use a key with write access."
    : sentenceOf(error);

/** The reason why the import ends; `undefined` if it was stopped. */
function failureOf(error: unknown): unknown {
  if (error instanceof Error && error.name === "AbortError") return undefined;
  const code = systemErrorCode(error);
  return code ? new CommandError(`The input could not be read to its end: ${code}.`) : error;
}
