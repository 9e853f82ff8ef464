/** The record of a rotation of all groups, with which the next run continues one that was cut off. It holds no credential. */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { CommandError } from "../../../common/command-error.ts";
import { systemErrorCode } from "../support/output.ts";
import { quoted } from "../support/printable.ts";

/** The service recognizes the idempotency keys of a run for a day. */
const CONTINUED_HOURS_MAX = 24;

/** The rotation that a record is about. Another environment, another grace or another reason is another rotation. */
const Rotation = z.strictObject({
  url: z.string(),
  workspace: z.string(),
  environment: z.nullable(z.string()),
  graceSeconds: z.int(),
  reason: z.optional(z.string()),
});
const Progress = z.strictObject({
  ...Rotation.shape,
  /** Begins the idempotency keys of this run. */
  run: z.uuid(),
  begunAt: z.iso.datetime(),
  /** Each group up to this number is rotated. Some of those after it may be, too. */
  through: z.int(),
  /** How many groups up to that number were rotated. */
  rotated: z.int(),
});

export type Rotation = z.infer<typeof Rotation>;
type Progress = z.infer<typeof Progress>;

/** The file in which a rotation is recorded by default: one for each environment. */
export function defaultRecordFile({ url, workspace, environment }: Rotation, env: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(JSON.stringify([url, workspace, environment]));
  const folder = env.XDG_STATE_HOME || join(homedir(), ".local", "state");
  return join(folder, "ug", `rotate-all-${hash.digest("hex").slice(0, 16)}.json`);
}

/** One run of a rotation, in its file. */
export class RotationRecord {
  readonly #file: string;
  #progress: Progress;
  /** Whether a run before this one was cut off. */
  readonly isContinued: boolean;

  /** Reads the record of a run that was cut off, or begins one. Nothing is written yet. */
  constructor(file: string, rotation: Rotation, { restart, now }: { restart: boolean; now: Date }) {
    this.#file = file;
    const before = restart ? undefined : readProgress(file);
    if (before) refuseOther(before, { file, rotation, now });
    this.isContinued = before !== undefined;
    this.#progress = before ?? { ...rotation, run: randomUUID(), begunAt: now.toISOString(), through: 0, rotated: 0 };
  }

  get progress(): Readonly<Progress> {
    return this.#progress;
  }

  /** The idempotency key of the rotation of a group: with it, the service rotates the group once in this run. */
  keyOf(teamId: number): string {
    return `${this.#progress.run}:${teamId}`;
  }

  /** Replaces the file as a whole, so that no kill leaves half of it. */
  save(done: Pick<Progress, "through" | "rotated"> = this.#progress): void {
    this.#progress = { ...this.#progress, ...done };
    const partial = `${this.#file}.${process.pid}`;
    this.#write(() => {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(partial, `${JSON.stringify(this.#progress)}\n`, { mode: 0o600 });
      renameSync(partial, this.#file);
    });
  }

  /** Deletes the file of a run that is complete. */
  remove(): void {
    this.#write(() => rmSync(this.#file, { force: true }));
  }

  #write(change: () => void): void {
    try {
      change();
    } catch (error) {
      throw new CommandError(
        `The progress of the rotation cannot be recorded in ${this.#file}: ${systemErrorCode(error)}. Name another file with --progress.`,
      );
    }
  }
}

function readProgress(file: string): Progress | undefined {
  try {
    const { data } = Progress.safeParse(JSON.parse(readFileSync(file, "utf8")));
    if (data) return data;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return undefined;
    if (code !== undefined) throw new CommandError(`The progress of the rotation cannot be read: ${code}.`);
  }
  throw new CommandError(`${file} is not the progress of a rotation. Name another file with --progress.`);
}

/** Refuses to continue a rotation other than the requested one, or one whose idempotency keys may have expired. */
function refuseOther(before: Progress, { file, rotation, now }: { file: string; rotation: Rotation; now: Date }): void {
  const { url, workspace, environment, graceSeconds, reason } = rotation;
  if (before.url !== url || before.workspace !== workspace || before.environment !== environment)
    throw new CommandError(
      `${file} is the progress of a rotation of another environment. Name another with --progress.`,
    );
  if (before.graceSeconds !== graceSeconds || before.reason !== reason)
    throw new CommandError(
      `The rotation that began at ${before.begunAt} is not complete, and had --grace ${before.graceSeconds}s and ${before.reason === undefined ? "no --reason" : `--reason ${quoted(before.reason)}`}. Continue it with the same, or begin another one with --restart.`,
    );
  if (now.getTime() - Date.parse(before.begunAt) > CONTINUED_HOURS_MAX * 60 * 60 * 1000)
    throw new CommandError(
      `The rotation that began at ${before.begunAt} is not complete, and too old to be continued. Rotate every group with --restart.`,
    );
}
