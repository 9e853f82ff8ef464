/** Backups in files: written whole or not at all, encrypted if there is a recipient, and read page by page. */
import {
  constants,
  createReadStream,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Decrypter, Encrypter } from "age-encryption";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { RESTORE_BYTES_MAX } from "../../../common/limits.ts";
import { onSystemError } from "../support/errors.ts";
import { linesOf } from "../support/lines.ts";
import { type Place, parsed, placeNamed } from "./service-pages.ts";

const AGE_HEADER = "age-encryption.org/v1";
const PAGE_LINE = '{"kind":"page"';

/** Who can read an encrypted backup. */
export function encrypterFor(recipients: readonly string[]): Encrypter | undefined {
  if (recipients.length === 0) return undefined;
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new UsageError("Give --recipient as the public key of age, which begins with age1.");
    }
  }
  return encrypter;
}

/** In place of a file: standard output. */
export const STANDARD_OUTPUT = "-";

/** Writes the pages to a file, a FIFO, a device, or with `-` to standard output. */
export function writeFile(file: string, pages: AsyncIterable<string>, encrypter: Encrypter | undefined): Promise<void> {
  const name = file === STANDARD_OUTPUT ? "Standard output" : file;
  return write(file, pages, encrypter).catch(
    onSystemError((code) => new CommandError(`${name} cannot be written: ${code}.`)),
  );
}

async function write(file: string, pages: AsyncIterable<string>, encrypter: Encrypter | undefined): Promise<void> {
  const plain = Readable.toWeb(Readable.from(encoded(pages))) as ReadableStream<Uint8Array>;
  const bytes = encrypter ? await encrypter.encrypt(plain) : plain;
  if (file === STANDARD_OUTPUT) return await pipeline(bytes, process.stdout, { end: false });
  const target = targetOf(file);
  const stats = statSync(target, { throwIfNoEntry: false });
  if (stats?.isDirectory())
    throw new UsageError(`${file} is a folder. Give a file in it, or --all ${file} to back up the whole deployment.`);
  await (stats && !stats.isFile() ? writeInto(target, bytes) : replaceFile(target, bytes));
}

/** The file that a symbolic link leads to, which need not exist; of any other file, the file itself. */
function targetOf(file: string): string {
  const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (existsSync(file)) return realpathSync(file);
  let target = file;
  for (let links = 0; links < LINKS_MAX && isLink(target); links += 1)
    target = resolve(dirname(target), readlinkSync(target));
  return target;
}

/** As many as Linux follows. */
const LINKS_MAX = 40;

/**
 * Writes a file that only its owner may read. The file gets its name when all of it is on disk, so that an interrupted backup leaves
 * no file.
 */
async function replaceFile(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const partial = `${file}.partial`;
  try {
    await rm(partial, { force: true });
    // With "x", no link that somebody has put there is followed.
    await using handle = await open(partial, "wx", 0o600);
    // Unlike `write`, which may write a part when the disk is nearly full, `writeFile` writes all of the chunk or fails.
    for await (const chunk of bytes) await handle.writeFile(chunk);
    await handle.sync();
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Writes into a FIFO or a device, which stays. */
async function writeInto(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY);
  for await (const chunk of bytes) await handle.writeFile(chunk);
}

async function* encoded(pages: AsyncIterable<string>) {
  const utf8 = new TextEncoder();
  for await (const page of pages) yield utf8.encode(page);
}

/** Thrown for a file that is no backup, or that was cut or changed. */
export class BrokenFile extends CommandError {}

/** A page of a file, its number from 1 on, and the environment of the backup. */
export type FilePage = { page: string; number: number; place: Place };

/** Reads the pages of a file. @throws BrokenFile if it has none, or ends in the middle of one. */
export async function* readFile(file: string, identityFile?: string): AsyncGenerator<FilePage, void, undefined> {
  if (!existsSync(file)) throw new UsageError(`There is no file ${JSON.stringify(file)}.`);
  const bytes = await bytesOf(file, identityFile).catch(
    onSystemError((code) => new UsageError(`${file} cannot be read: ${code}.`)),
  );
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let page = "";
  let place: Place;
  let number = 0;
  try {
    for await (const { bytes: line } of linesOf(Readable.from(bytes))) {
      const text = line && `${utf8.decode(line)}\n`;
      if (text === undefined || page.length + text.length > RESTORE_BYTES_MAX)
        throw new BrokenFile("This is no backup: a page is longer than 2 MiB, or a line than 1 MiB.");
      page += text;
      if (!text.startsWith(PAGE_LINE)) continue;
      number += 1;
      if (number === 1) place = placeOf(page);
      yield { page, number, place };
      page = "";
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new BrokenFile("The file cannot be read to its end: it was changed or cut.");
  }
  if (page !== "" || number === 0) throw new BrokenFile("The file was cut, or is no backup.");
}

async function bytesOf(file: string, identityFile: string | undefined): Promise<AsyncIterable<Uint8Array>> {
  if (statSync(file).isDirectory()) throw new UsageError(`${file} is a folder. Give one of its files.`);
  // Before the stream: nothing here would handle its error.
  const isPlain = !(await isEncrypted(file));
  const stream = createReadStream(file);
  if (isPlain) return stream;
  if (identityFile === undefined)
    throw new UsageError(
      "The file is encrypted. Give --identity-file: the file that holds the key of age, AGE-SECRET-KEY-1….",
    );
  if (!existsSync(identityFile)) throw new UsageError(`There is no file ${JSON.stringify(identityFile)}.`);
  const decrypter = new Decrypter();
  try {
    for (const line of readFileSync(identityFile, "utf8").split("\n"))
      if (line.startsWith("AGE-SECRET-KEY-")) decrypter.addIdentity(line.trim());
    return (await decrypter.decrypt(
      Readable.toWeb(stream) as ReadableStream<Uint8Array>,
    )) as unknown as AsyncIterable<Uint8Array>;
  } catch {
    throw new UsageError(
      "The key in --identity-file does not decrypt this backup. Give the key of one of its recipients.",
    );
  }
}

async function isEncrypted(file: string): Promise<boolean> {
  await using handle = await open(file, "r");
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(AGE_HEADER.length), 0, AGE_HEADER.length, 0);
  return buffer.subarray(0, bytesRead).toString("latin1") === AGE_HEADER;
}

/** The environment that a backup is of, from its header; `undefined` for the registry. */
function placeOf(firstPage: string): Place {
  const header = parsed(firstPage.slice(0, firstPage.indexOf("\n")));
  if (header?.kind !== "header") throw new BrokenFile("The file is no backup: its first line is no header.");
  const { workspace, environment } = header;
  if (workspace === null && environment === null) return undefined;
  const place = placeNamed(workspace, environment);
  if (!place) throw new BrokenFile("The file is no backup: its header names no environment.");
  return place;
}
