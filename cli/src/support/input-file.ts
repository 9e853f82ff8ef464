import { createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { explainErrors } from "./errors.ts";

/** The bytes of a file, or with `-` of standard input, and how many there are, 0 if that is unknown. `name` is for messages. */
export function openInput(file: string, name: string): { input: Readable; total: number } {
  const failureOf = (code: string) => new UsageError(`The ${name} cannot be read: ${code}.`);
  const fd = file === "-" ? process.stdin.fd : explainErrors(() => openSync(file, "r"), failureOf);
  const stats = explainErrors(() => fstatSync(fd), failureOf);
  if (stats.isDirectory()) throw new UsageError(`The ${name} is a folder.`);
  if (file === "-") return { input: process.stdin, total: 0 };
  // A file stream reads a pipe in a thread, and this process could not end while that thread waits for data.
  return stats.isFIFO()
    ? { input: new Socket({ fd, readable: true, writable: false }), total: 0 }
    : { input: createReadStream(file, { fd }), total: stats.size };
}

/** The error of an input that cannot be read, with the code of its cause. */
export const inputFailure = (code: string) => new CommandError(`The input could not be read to its end: ${code}.`);
