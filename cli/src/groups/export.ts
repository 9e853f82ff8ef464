import { pipeline } from "node:stream/promises";
import { CommandError } from "../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { type Access, refusalOf } from "../access.ts";
import { systemErrorCode } from "../support/output.ts";
import { jsonLineOf } from "../support/printable.ts";
import { notTheService } from "../support/service.ts";
import { Progress } from "./progress.ts";
import { RetryingCaller, sentenceOf } from "./retrying-caller.ts";

/** The service, and the credential to call it with. */
type Service = Pick<Access<unknown>, "url" | "credential">;

/** Writes each group as one line of JSON to standard output, page by page, and no faster than they are read. */
export async function exportGroups(access: Service, filters: Record<string, string>): Promise<void> {
  // On a terminal that shows the lines themselves, a progress line would disturb them.
  const progress = new Progress(0, process.stderr.isTTY && !process.stdout.isTTY);
  try {
    await pipeline(linesOf(access, filters, progress), process.stdout, { end: false });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EPIPE") throw new CommandError("Standard output was closed before the export was complete.");
    throw code
      ? new CommandError(`Standard output could not be written, so the export is not complete: ${code}.`)
      : error;
  } finally {
    progress.stop();
  }
}

async function* linesOf({ url, credential }: Service, filters: Record<string, string>, progress: Progress) {
  const caller = new RetryingCaller(credential.text);
  let exported = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = new URL("/api/user_groups", url);
    const query = { ...filters, limit: String(LIST_ITEMS_MAX), ...(cursor && { cursor }) };
    for (const [name, value] of Object.entries(query)) page.searchParams.set(name, value);
    const { status, body } = await caller.call(page, { method: "GET" });
    const { user_groups: groups, next_cursor: next, error } = body;
    const details = { code: error?.code ?? "", requestId: body.request_id };
    if (error)
      throw status === 401 ? refusalOf(url, credential, details) : new CommandError(sentenceOf(error), details);
    if (!areGroups(groups) || !isNextOf(cursor, next)) throw notTheService(url, status);
    for (const group of groups) yield `${jsonLineOf(group)}\n`;
    exported += groups.length;
    progress.update(exported, `${exported} exported`);
    cursor = next;
  }
}

const areGroups = (groups: unknown): groups is object[] =>
  Array.isArray(groups) && groups.every((group) => typeof group === "object" && group !== null);

/** Whether `next` is a cursor after `cursor`: with the same one again the export would never end. */
const isNextOf = (cursor: string, next: unknown): next is string | null =>
  next === null || (typeof next === "string" && next !== cursor);
