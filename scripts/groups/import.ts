import { addAbortSignal, type Readable } from "node:stream";
import { findInexact } from "../../src/http/exact-json.ts";
import { foreign, Refusal, type Refused, stopWithNpm, systemErrorOf } from "../command.ts";
import { type Line, linesOf } from "./lines.ts";
import { PatientCaller, sentenceOf } from "./patience.ts";
import { Progress } from "./progress.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** What an export has besides the fields of a call. The service decides them. */
const IGNORED = ["team_id", "created_at", "updated_at", "api_environment_tag"];

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What to import, how, and `total`, its bytes if they are known. */
export type Import = {
  input: Readable;
  total: number;
  fromLine: number;
  concurrency: number;
  url: URL;
  apiKey: string;
};

/**
 * Gets or creates the group of each line, some at a time, and answers with the summary. What was created stays, whatever
 * ends the import, and running it again finds it; so it may be stopped, by SIGINT, SIGTERM or SIGHUP, and says where to go on.
 */
export async function importGroups({ input, total, fromLine, concurrency, url, apiKey }: Import): Promise<string> {
  const caller = new PatientCaller(apiKey);
  const counts = { created: 0, found: 0, refused: 0 };
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  let failure: unknown;
  let lastRead = 0;
  let firstUndone = Number.POSITIVE_INFINITY;
  let isAllRead = false;

  const summary = () => `created ${counts.created}, found ${counts.found}, refused ${counts.refused}`;
  const progress = new Progress(total);
  const refuse = (line: Line, refusal: Refused) => {
    counts.refused += 1;
    progress.note(`line ${line.number}: ${sentenceOf(refusal)}`);
  };

  const importLine = async (line: Line) => {
    const read = readLine(line);
    if (read.refusal) return refuse(line, read.refusal);
    if (!read.body) return;
    const call = { method: "POST", headers: { "X-HTTP-Method-Override": "GET" }, body: JSON.stringify(read.body) };
    const { status, body } = await caller.ask(new URL("/api/user", url), call, stopping.signal);
    if (body.success === 1 && body.new_user_group !== undefined) counts[body.new_user_group ? "created" : "found"] += 1;
    else if (!body.error) throw foreign(url, status);
    else if (status !== 404 && status !== 401 && status !== 403) refuse(line, body.error);
    else throw new Refusal(keyRefusalOf(body.error));
  };

  /** Stops for this reason. The other lines that are under way get their answers. */
  const endWith = (error: unknown) => {
    failure ??= failureOf(error);
    stop();
  };

  input.once("error", endWith);
  const lines = linesOf(addAbortSignal(stopping.signal, input));
  const work = async () => {
    for await (const line of lines) {
      if (stopping.signal.aborted) break;
      lastRead = line.number;
      if (line.number < fromLine) continue;
      try {
        await importLine(line);
      } catch (error) {
        firstUndone = Math.min(firstUndone, line.number);
        // Before this loop ends: it waits for the others that read lines, and so for input that may not come.
        endWith(error);
        throw error;
      }
      progress.update(line.end, summary());
    }
    isAllRead ||= !stopping.signal.aborted;
  };

  const stopGently = () => {
    progress.note("Stopping when the calls under way are answered.");
    stop();
  };
  for (const signal of SIGNALS) process.once(signal, stopGently);
  stopWithNpm(stopGently);
  await Promise.all(Array.from({ length: concurrency }, () => work().catch(endWith)));
  for (const signal of SIGNALS) process.removeListener(signal, stopGently);
  progress.stop();

  const next = Math.min(firstUndone, isAllRead ? Number.POSITIVE_INFINITY : Math.max(lastRead + 1, fromLine));
  if (failure !== undefined && !(failure instanceof Refusal)) throw failure;
  if (next !== Number.POSITIVE_INFINITY) {
    console.info(summary());
    throw new Refusal(`${failure ? `${failure.message}\n` : ""}Stopped. Go on with: --from-line ${next}`);
  }
  if (fromLine > lastRead + 1) throw new Refusal(`--from-line ${fromLine} is behind the last line, ${lastRead}.`);
  if (counts.refused > 0) process.exitCode = 1;
  return summary();
}

/** The body of a line's call, or what is wrong with the line; neither for an empty one. */
function readLine({ bytes }: Line): { body?: object; refusal?: Refused } {
  if (!bytes) return { refusal: { code: "body_too_large", message: "The line is larger than 1 MiB." } };
  const text = textOf(bytes);
  if (text?.trim() === "") return {};
  const value = text === undefined ? undefined : parse(text);
  if (text === undefined || typeof value !== "object" || value === null || Array.isArray(value))
    return { refusal: { code: "malformed_json", message: "The line is not a JSON object in UTF-8." } };
  // Judged here, since what is sent is printed anew: the service would see no more of what JSON.parse has changed.
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

/** What is true of every line of the import: it ends there. */
const keyRefusalOf = (error: Refused): string =>
  error.code === "user_group_not_found"
    ? "insufficient_access: This API key may only read. Use a key with write access."
    : sentenceOf(error);

/** What ends the import, if it is not that it is being stopped. */
function failureOf(error: unknown): unknown {
  if (error instanceof Error && error.name === "AbortError") return undefined;
  const code = systemErrorOf(error);
  return code ? new Refusal(`The input could not be read to its end: ${code}.`) : error;
}
