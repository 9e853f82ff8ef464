/** One line of a stream: its number, counted from 1; its bytes, none where they are too many; where it ends in the stream. */
export type Line = { number: number; bytes: Buffer | undefined; end: number };

/** Past any line that a call could carry; a file that is no NDJSON must not end up in memory. */
const LINE_BYTES_MAX = 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * The lines of a stream. They end at line feeds alone: node:readline would also cut at U+2028 and U+2029, which JSON may
 * hold in its strings.
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
