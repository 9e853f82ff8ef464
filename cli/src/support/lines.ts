/** One line of a stream: its number from 1 on; its bytes, `undefined` if it is too long; the offset of its end. */
export type Line = { number: number; bytes: Buffer | undefined; end: number };

/** More than any call may send. A file that is not NDJSON must not fill the memory. */
const LINE_BYTES_MAX = 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * The lines of a stream. Only line feeds end them: node:readline would also split at U+2028 and U+2029, which may be in
 * strings of JSON, and at a carriage return. So no command uses it.
 */
export async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 0;
  let end = 0;
  const keep = (part: Buffer) => {
    length += part.length;
    if (length <= LINE_BYTES_MAX) parts.push(part);
    else parts = [];
  };
  const take = (): Line => {
    number += 1;
    const bytes = length <= LINE_BYTES_MAX ? Buffer.concat(parts) : undefined;
    parts = [];
    length = 0;
    return { number, bytes, end };
  };
  for await (const chunk of input) {
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, at));
      end += at + 1 - start;
      start = at + 1;
      yield take();
    }
    keep(chunk.subarray(start));
    end += chunk.length - start;
  }
  if (length > 0) yield take();
}

/** The lines of a stream as text, without those that are too long. */
export async function* textLinesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const { bytes } of linesOf(input)) if (bytes) yield bytes.toString();
}
