import { addAbortSignal, type Readable } from "node:stream";
import * as z from "zod";
import { apiKeyRefused, CommandError, notTheService, stopWithNpm, systemErrorCode } from "../command.ts";
import type { HttpCall, Refusal } from "../support/http.ts";
import { differencesOf, type GroupLine, readLine, ShownGroup } from "./group-line.ts";
import { type Line, linesOf } from "./lines.ts";
import { Progress } from "./progress.ts";
import { RetryingCaller, type ServiceResponse, sentenceOf } from "./retrying-caller.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const Numbered = z.object({ team_id: z.int() });

/** The input and the options of an import. `total` is the number of bytes, or 0 if it is unknown. */
type ImportOptions = {
  input: Readable;
  total: number;
  fromLine: number;
  concurrency: number;
  /** Whether groups that exist are changed to what their lines say. */
  update: boolean;
  url: URL;
  apiKey: string;
};

/** What an import has counted. Of the groups that it found, some differ from their lines, or were updated to them. */
type Counts = Record<"created" | "found" | "differs" | "updated" | "refused", number>;

/** The refusal of a line, which is reported; the import continues with the next line. */
class LineRefusal extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

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
  readonly #counts: Counts = { created: 0, found: 0, differs: 0, updated: 0, refused: 0 };
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
    const { group, refusal } = readLine(line);
    if (refusal) return this.#refuse(line, refusal);
    if (!group) return;
    try {
      await this.#importGroup(group);
    } catch (error) {
      if (!(error instanceof LineRefusal)) throw error;
      this.#refuse(line, error.refusal);
    }
  }

  async #importGroup(group: GroupLine): Promise<void> {
    const ensure = { method: "POST", headers: { "X-HTTP-Method-Override": "GET" }, body: group.fields };
    const { status, body } = await this.#call("/api/user", ensure);
    if (body.new_user_group === undefined) throw notTheService(this.#options.url, status);
    if (body.new_user_group) {
      if (group.suspended) await this.#change(group, { suspended: true });
      this.#counts.created += 1;
    } else {
      const differences = await this.#differencesOf(group, body.user_group);
      const differs = Object.keys(differences).length > 0;
      if (differs && this.#options.update) await this.#change(group, differences);
      if (differs) this.#counts[this.#options.update ? "updated" : "differs"] += 1;
      this.#counts.found += 1;
    }
  }

  /** The fields of a PUT that makes a group that exists what its line says. */
  async #differencesOf(group: GroupLine, found: unknown): Promise<object> {
    const { data: numbered } = Numbered.safeParse(found);
    const { status, body } = await this.#call(`/api/user_groups/${numbered?.team_id}`, { method: "GET" });
    const { data: shown } = ShownGroup.safeParse(body.user_group);
    if (!shown) throw notTheService(this.#options.url, status);
    return differencesOf(group, shown);
  }

  async #change({ fields: { user_group_id } }: GroupLine, changes: object): Promise<void> {
    await this.#call("/api/user", { method: "PUT", body: { user_group_id, ...changes } });
  }

  /** Makes a call that succeeds, and throws for one that the service refuses. */
  async #call(path: string, call: Omit<HttpCall, "credential">): Promise<ServiceResponse> {
    const { url } = this.#options;
    const response = await this.#caller.call(new URL(path, url), call, this.#stopping.signal);
    const { status, body } = response;
    if (body.success === 1) return response;
    if (!body.error) throw notTheService(url, status);
    if (status === 401) throw apiKeyRefused(url, body.error.code);
    if (status === 403 || (status === 404 && call.method === "POST")) throw new CommandError(keyRefusalOf(body.error));
    throw new LineRefusal(body.error);
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
    const { created, found, differs, updated, refused } = this.#counts;
    const changed = this.#options.update ? `updated ${updated}` : `differs ${differs}`;
    return `created ${created}, found ${found}, ${changed}, refused ${refused}`;
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
    const { differs, refused } = this.#counts;
    if (differs > 0) console.error(`Groups that differ from their lines: ${differs}. To change them, add --update.`);
    if (differs > 0 || refused > 0) process.exitCode = 1;
    return this.#summary();
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
