import { pipeline } from "node:stream/promises";
import { CommandError } from "../../../../common/command-error.ts";
import { systemErrorCode } from "../../support/output.ts";
import { jsonLineOf } from "../../support/printable.ts";
import { Progress } from "../progress.ts";
import { type CsvForm, csvOf } from "./csv-write.ts";
import { listedGroups, type Service } from "./group-calls.ts";

/** Writes each group as one line of JSON to standard output, page by page, and no faster than they are read. */
export const exportGroups = (service: Service, filters: Record<string, string>): Promise<void> =>
  write((onPage) => jsonLines(pagesOf(service, filters, onPage)));

/** Writes the groups as a CSV to standard output. */
export const exportCsv = (service: Service, filters: Record<string, string>, form: CsvForm): Promise<void> =>
  write((onPage) => csvOf(pagesOf(service, filters, onPage), form));

type Pages = ReturnType<typeof listedGroups>;

async function* pagesOf(service: Service, filters: Record<string, string>, onPage: (groups: number) => void): Pages {
  for await (const groups of listedGroups(service, filters)) {
    yield groups;
    onPage(groups.length);
  }
}

async function* jsonLines(pages: Pages) {
  for await (const groups of pages) for (const group of groups) yield `${jsonLineOf(group)}\n`;
}

async function write(texts: (onPage: (groups: number) => void) => AsyncIterable<string>): Promise<void> {
  // On a terminal that shows the lines themselves, a progress line would disturb them.
  const progress = new Progress(0, process.stderr.isTTY && !process.stdout.isTTY);
  let exported = 0;
  const onPage = (groups: number) => {
    exported += groups;
    progress.update(exported, `${exported} exported`);
  };
  try {
    await pipeline(texts(onPage), process.stdout, { end: false });
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
