import { addAbortSignal, type Readable } from "node:stream";
import { findInexact } from "../../src/http/exact-json.ts";
import { Refusal } from "../command.ts";
import { type Line, linesOf } from "./lines.ts";
import { type Answer, askPatiently } from "./patience.ts";
import { Progress } from "./progress.ts";

const REFUSALS_SHOWN_MAX = 100;
/** What an export has besides the fields of a call. The service decides them. */
const IGNORED = ["team_id", "created_at", "updated_at", "api_environment_tag"];

const utf8 = new TextDecoder("utf-8", { fatal: true });

type LineRefusal = NonNullable<Answer["body"]["error"]>;

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
 * ends the import, and running it again finds it; so it may be stopped, by SIGINT or SIGTERM, and says where to go on.
 */
export async function importGroups({ input, total, fromLine, concurrency, url, apiKey }: Import): Promise<string> {
  const counts = { created: 0, found: 0, refused: 0 };
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  let failure: unknown;
  let lastRead = 0;
  let firstUndone = Number.POSITIVE_INFINITY;
  let isAllRead = false;

  const summary = () => `created ${counts.created}, found ${counts.found}, refused ${counts.refused}`;
  const progress = new Progress(total);
  const refuse = (line: Line, refusal: LineRefusal) => {
    counts.refused += 1;
    if (counts.refused <= REFUSALS_SHOWN_MAX) progress.note(`line ${line.number}: ${sentenceOf(refusal)}`);
  };

  const importLine = async (line: Line) => {
    const read = readLine(line);
    if (read.refusal) return refuse(line, read.refusal);
    if (!read.body) return;
    const call = { method: "POST", headers: { "X-HTTP-Method-Override": "GET" }, body: JSON.stringify(read.body) };
    const { status, body } = await askPatiently(new URL("/api/user", url), apiKey, call, stopping.signal);
    if (status === 200) counts[body.new_user_group ? "created" : "found"] += 1;
    else if (body.error && status !== 404 && status !== 401 && status !== 403) refuse(line, body.error);
    else throw new Refusal(keyRefusalOf(body.error));
  };

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
        throw error;
      }
      progress.update(line.end, summary());
    }
    isAllRead ||= !stopping.signal.aborted;
  };

  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  await Promise.all(
    Array.from({ length: concurrency }, () =>
      work().catch((error) => {
        // The other lines that are under way get their answers. An AbortError is of the stop itself.
        if (!(error instanceof Error && error.name === "AbortError")) failure ??= error;
        stop();
      }),
    ),
  );
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, stop);
  progress.stop();

  const hidden = counts.refused - REFUSALS_SHOWN_MAX;
  if (hidden > 0) console.error(`and ${hidden} refused lines more`);
  const next = Math.min(firstUndone, isAllRead ? Number.POSITIVE_INFINITY : Math.max(lastRead + 1, fromLine));
  if (failure !== undefined && !(failure instanceof Refusal)) throw failure;
  if (next !== Number.POSITIVE_INFINITY) {
    console.info(summary());
    throw new Refusal(`${failure ? `${failure.message}\n` : ""}Stopped. Go on with: --from-line ${next}`);
  }
  if (counts.refused > 0) process.exitCode = 1;
  return summary();
}

/** The body of a line's call, or what is wrong with the line; neither for an empty one. */
function readLine({ bytes }: Line): { body?: object; refusal?: LineRefusal } {
  if (!bytes) return { refusal: { code: "body_too_large", message: "The line is larger than 1 MiB." } };
  const value = parse(bytes);
  if (value === "") return {};
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { refusal: { code: "malformed_json", message: "The line is not a JSON object in UTF-8." } };
  // Judged here, since what is sent is printed anew: the service would see no more of what JSON.parse has changed.
  const issues = findInexact(utf8.decode(bytes), value);
  if (issues.length > 0)
    return { refusal: { code: "invalid_body", message: "The line cannot be kept exactly.", issues } };
  const fields = Object.entries(value)
    .filter(([name]) => !IGNORED.includes(name))
    .map(([name, field]) => [name === "provided_id" && !("user_group_id" in value) ? "user_group_id" : name, field]);
  return { body: Object.fromEntries(fields) };
}

/** The JSON value of a line; an empty string for a blank line, and `undefined` for what is no JSON. */
function parse(bytes: Buffer): unknown {
  try {
    const text = utf8.decode(bytes);
    return text.trim() === "" ? "" : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A refusal in one line. What the file says in control characters must not reach the terminal as such. */
const sentenceOf = ({ code, message, issues = [] }: LineRefusal): string =>
  [code, issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join(" ") || message]
    .join(": ")
    .replaceAll(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** What is true of every line of the import: it ends there. */
const keyRefusalOf = (error: LineRefusal | undefined): string =>
  error?.code === "user_group_not_found"
    ? "insufficient_access: This API key may only read. Use a key with write access."
    : `${error?.code}: ${error?.message}`;
