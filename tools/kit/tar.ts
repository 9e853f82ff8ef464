/** The archive of an npm package, which has the same bytes for the same files. */
import { gzipSync } from "fflate";

/** A file of an archive: its path, its bytes, and whether it is a program. */
export type ArchivedFile = { path: string; content: Buffer; isProgram?: boolean };

const BLOCK_BYTES = 512;
/** Longer paths need a second header, which this does not write. */
const PATH_BYTES_MAX = 100;
/** 26 October 1985, as npm writes it: some programs refuse the year 1970. */
const TIME_SECONDS = 499_162_500;

/** Packs files as a gzipped tar (POSIX.1-2001, "ustar"), sorted by their paths, with one time and no owner. */
export function tarOf(files: readonly ArchivedFile[]): Buffer {
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const blocks = sorted.flatMap((file) => [headerOf(file), file.content, paddingOf(file.content)]);
  const tar = Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
  // Not by Node's zlib, whose bytes depend on its version and on the processor.
  return Buffer.from(gzipSync(tar, { level: 9, mtime: 0 }));
}

function headerOf({ path, content, isProgram = false }: ArchivedFile): Buffer {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) throw new Error(`${path} is too long for an archive.`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(path, 0);
  header.write(octal(isProgram ? 0o755 : 0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(TIME_SECONDS, 11), 136);
  // The checksum counts its own field as spaces.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}

const paddingOf = ({ length }: Buffer): Buffer => Buffer.alloc((BLOCK_BYTES - (length % BLOCK_BYTES)) % BLOCK_BYTES);
