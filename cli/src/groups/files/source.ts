/** The input of an import: lines of JSON, read as they arrive, or the rows of a CSV, which is read as a whole. */
import { addAbortSignal, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { CommandError } from "../../../../common/command-error.ts";
import { onSystemError } from "../../support/errors.ts";
import { inputFailure } from "../../support/input-file.ts";
import { linesOf } from "../../support/lines.ts";
import type { Refusal } from "../../support/transport.ts";
import type { ColumnOptions } from "./csv-columns.ts";
import { readCsv } from "./csv-read.ts";
import { type ImportLine, readLine } from "./group-line.ts";

/** The lines of an import. */
export type ImportSource = {
  /** The word for a line in messages: `line` or `row`. */
  unit: "line" | "row";
  /** The last `end` of a line, or 0 if it is unknown. */
  total: number;
  /** Reads until `stop` is aborted. Calls `onError` for an error of the input, even while no caller waits for a line. */
  lines: (stop: AbortSignal, onError: (error: unknown) => void) => AsyncIterable<ImportLine>;
};

/** A file of one JSON object on each line. */
export const ndjsonSource = (input: Readable, total: number): ImportSource => ({
  unit: "line",
  total,
  async *lines(stop, onError) {
    const lineOfId = new Map<string, number>();
    input.once("error", onError);
    for await (const line of linesOf(addAbortSignal(stop, input))) {
      const { number, end } = line;
      const { group, refusal } = readLine(line);
      const id = group?.fields.user_group_id;
      const first = typeof id === "string" ? lineOfId.get(id) : undefined;
      if (typeof id === "string" && first === undefined) lineOfId.set(id, number);
      if (first !== undefined) yield { number, end, refusal: repeats(first) };
      else yield { number, end, ...(group && { group }), ...(refusal && { refusal }) };
    }
  },
});

const repeats = (first: number): Refusal => ({
  code: "invalid_body",
  message: `Line ${first} has the same user_group_id, and the import has ignored this line. Keep one of the two lines.`,
});

/** The rows of a CSV. @throws CommandError if one of them cannot be read. */
export async function csvSource(input: Readable, options: ColumnOptions): Promise<ImportSource> {
  const rows = readCsv(await bytesOf(input), options);
  return {
    unit: "row",
    total: rows.length,
    async *lines() {
      for (const [index, row] of rows.entries()) yield { ...row, end: index + 1 };
    },
  };
}

/** More than a spreadsheet of a million rows has. */
const CSV_BYTES_MAX = 256 * 1024 * 1024;

async function bytesOf(input: Readable): Promise<Buffer> {
  let length = 0;
  const bounded = async function* () {
    for await (const chunk of input) {
      length += (chunk as Buffer).length;
      if (length > CSV_BYTES_MAX)
        throw new CommandError("The CSV is larger than 256 MiB. Import it in parts, or as NDJSON.", {
          code: "invalid_csv",
        });
      yield chunk as Buffer;
    }
  };
  return buffer(bounded()).catch(onSystemError(inputFailure));
}
