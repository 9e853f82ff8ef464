import { pipeline } from "node:stream/promises";
import { foreign, Refusal, stopWithNpm, systemErrorOf } from "../command.ts";
import { jsonLineOf } from "../support/printable.ts";
import { PatientCaller, sentenceOf } from "./patience.ts";
import { Progress } from "./progress.ts";

const GROUPS_PER_PAGE = 1000;

/** Writes each group as one line of JSON to standard output, page by page and no faster than it is read there. */
export async function exportGroups(url: URL, apiKey: string, filters: Record<string, string>): Promise<void> {
  // Where the lines themselves are seen, a count between them would only be in their way.
  const progress = new Progress(0, process.stderr.isTTY && !process.stdout.isTTY);
  stopWithNpm(() => process.exit(1));
  try {
    await pipeline(pages(url, apiKey, filters, progress), process.stdout, { end: false });
  } catch (error) {
    const code = systemErrorOf(error);
    if (code === "EPIPE") throw new Refusal("Standard output was closed before the export was complete.");
    throw code ? new Refusal(`Standard output could not be written, so the export is not complete: ${code}.`) : error;
  } finally {
    progress.stop();
  }
}

async function* pages(url: URL, apiKey: string, filters: Record<string, string>, progress: Progress) {
  const caller = new PatientCaller(apiKey);
  let exported = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = new URL("/api/user_groups", url);
    const query = { ...filters, limit: String(GROUPS_PER_PAGE), ...(cursor && { cursor }) };
    for (const [name, value] of Object.entries(query)) page.searchParams.set(name, value);
    const { status, body } = await caller.ask(page, { method: "GET" });
    const { user_groups: groups, next_cursor: next, error } = body;
    if (error) throw new Refusal(sentenceOf(error));
    if (!areGroups(groups) || !isNextOf(cursor, next)) throw foreign(url, status);
    for (const group of groups) yield `${jsonLineOf(group)}\n`;
    exported += groups.length;
    progress.update(exported, `${exported} exported`);
    cursor = next;
  }
}

const areGroups = (groups: unknown): groups is object[] =>
  Array.isArray(groups) && groups.every((group) => typeof group === "object" && group !== null);

/** Whether it leads on from `cursor`: the same one again would lead round in circles. */
const isNextOf = (cursor: string, next: unknown): next is string | null =>
  next === null || (typeof next === "string" && next !== cursor);
