import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import type { EnvironmentClient } from "../../../client/src/index.ts";
import { attempt } from "../../../common/attempt.ts";
import { CommandError } from "../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { hasCode } from "../service-access.ts";
import { explainErrors, textIn } from "../support/errors.ts";
import { quoted } from "../support/printable.ts";
import { Progress } from "./progress.ts";
import { onStopSignal } from "./stop-signals.ts";

const SAVE_MS = 100;

/** The numbers of all groups that exist, in ascending order. */
export const groupNumbers = (client: EnvironmentClient): Promise<number[]> =>
  Array.fromAsync(client.list({ pageSize: LIST_ITEMS_MAX }), ({ teamId }) => teamId);

type RotateAllOptions = {
  client: EnvironmentClient;
  record: RotationRecord;
  /** The groups, in ascending order. */
  numbers: readonly number[];
  concurrency: number;
};

/** How many groups have a new token from this run and the ones that it continues, and how many somebody deleted meanwhile. */
export type RotationCounts = { rotated: number; missing: number };

/**
 * Rotates the token of each group, with several calls at a time. Each group is rotated once in a run, however often the run is
 * cut off: the record skips the groups that are done, and the service recognizes the idempotency key of the others.
 */
export const rotateAll = (options: RotateAllOptions): Promise<RotationCounts> => new RotationRun(options).run();

class RotationRun {
  readonly #options: RotateAllOptions;
  readonly #numbers: readonly number[];
  readonly #progress: Progress;
  /** Which groups are done, by their place among the numbers. Those before `#doneUntil` are counted and removed. */
  readonly #done = new Map<number, "rotated" | "missing">();
  readonly #counts: RotationCounts;
  readonly #before: number;
  #next = 0;
  #doneUntil = 0;
  #savedAt = 0;
  #isStopping = false;
  #failure: unknown;

  constructor(options: RotateAllOptions) {
    const { through, rotated } = options.record.progress;
    this.#options = options;
    this.#before = rotated;
    this.#counts = { rotated, missing: 0 };
    this.#numbers = options.numbers.filter((teamId) => teamId > through);
    this.#progress = new Progress(this.#before + this.#numbers.length);
  }

  async run(): Promise<RotationCounts> {
    const { record, concurrency } = this.#options;
    record.save();
    const removeHandlers = onStopSignal(() => {
      this.#progress.note("Stopping when the current calls are complete.");
      this.#isStopping = true;
    });
    await Promise.all(Array.from({ length: concurrency }, () => this.#rotateNext()));
    removeHandlers();
    this.#progress[Symbol.dispose]();
    if (this.#doneUntil === this.#numbers.length) record.remove();
    else this.#save();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#doneUntil < this.#numbers.length)
      throw new CommandError(`Stopped after ${this.#counts.rotated} groups. Run the same command again to continue.`, {
        code: "stopped",
      });
    return this.#counts;
  }

  async #rotateNext(): Promise<void> {
    while (!this.#isStopping && this.#next < this.#numbers.length) {
      const index = this.#next;
      this.#next += 1;
      try {
        this.#finish(index, await this.#rotate(this.#numbers[index] ?? 0));
      } catch (error) {
        this.#failure ??= error;
        this.#isStopping = true;
      }
    }
  }

  async #rotate(teamId: number): Promise<"rotated" | "missing"> {
    const { client, record } = this.#options;
    const input = { teamId, graceSeconds: record.progress.graceSeconds, reason: record.progress.reason };
    try {
      await client
        .rotateTokenByNumber(input, { idempotencyKey: record.keyOf(teamId) })
        // A full environment refuses idempotency keys. Without one of ours, the client sends the call without any.
        .catch((error: unknown) =>
          hasCode(error, "environment_full") ? client.rotateTokenByNumber(input) : Promise.reject(error),
        );
      return "rotated";
    } catch (error) {
      if (hasCode(error, "user_group_not_found")) return "missing";
      throw error;
    }
  }

  #finish(index: number, outcome: "rotated" | "missing"): void {
    this.#done.set(index, outcome);
    for (let done = this.#done.get(this.#doneUntil); done; done = this.#done.get(this.#doneUntil)) {
      this.#done.delete(this.#doneUntil);
      this.#counts[done] += 1;
      this.#doneUntil += 1;
    }
    this.#progress.update(this.#before + this.#doneUntil, `${this.#counts.rotated} rotated`);
    if (Date.now() - this.#savedAt > SAVE_MS) this.#save();
  }

  #save(): void {
    const through = this.#numbers[this.#doneUntil - 1];
    if (through !== undefined) this.#options.record.save({ through, rotated: this.#counts.rotated });
    this.#savedAt = Date.now();
  }
}

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
const Recorded = z.strictObject({
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
type Recorded = z.infer<typeof Recorded>;

/** The file in which a rotation is recorded by default: one for each environment. */
export function defaultRecordFile({ url, workspace, environment }: Rotation, env: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(JSON.stringify([url, workspace, environment]));
  const folder = env.XDG_STATE_HOME || join(homedir(), ".local", "state");
  return join(folder, "ug", `rotate-all-${hash.digest("hex").slice(0, 16)}.json`);
}

/** One run of a rotation, in its file: the next run continues one that was cut off. It holds no credential. */
export class RotationRecord {
  readonly #file: string;
  progress: Readonly<Recorded>;
  /** Whether a run before this one was cut off. */
  readonly isContinued: boolean;

  /** Reads the record of a run that was cut off, or begins one. Nothing is written yet. */
  constructor(file: string, rotation: Rotation, { restart, now }: { restart: boolean; now: Date }) {
    this.#file = file;
    const before = restart ? undefined : readProgress(file);
    if (before) refuseOther(before, { file, rotation, now });
    this.isContinued = before !== undefined;
    this.progress = before ?? { ...rotation, run: randomUUID(), begunAt: now.toISOString(), through: 0, rotated: 0 };
  }

  /** The idempotency key of the rotation of a group: with it, the service rotates the group once in this run. */
  keyOf(teamId: number): string {
    return `${this.progress.run}:${teamId}`;
  }

  /** Replaces the file as a whole, so that no kill leaves half of it. */
  save(done: Pick<Recorded, "through" | "rotated"> = this.progress): void {
    this.progress = { ...this.progress, ...done };
    const partial = `${this.#file}.${process.pid}`;
    this.#write(() => {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(partial, `${JSON.stringify(this.progress)}\n`, { mode: 0o600 });
      renameSync(partial, this.#file);
    });
  }

  /** Deletes the file of a run that is complete. */
  remove(): void {
    this.#write(() => rmSync(this.#file, { force: true }));
  }

  #write(change: () => void): void {
    const failureOf = (code: string) =>
      new CommandError(
        `The progress of the rotation cannot be recorded in ${this.#file}: ${code}. Name another file with --progress.`,
      );
    explainErrors(change, failureOf);
  }
}

function readProgress(file: string): Recorded | undefined {
  const text = textIn(file, (code) => new CommandError(`The progress of the rotation cannot be read: ${code}.`));
  if (text === undefined) return undefined;
  const { data } = Recorded.safeParse(attempt(() => JSON.parse(text)));
  if (data) return data;
  throw new CommandError(`${file} is not the progress of a rotation. Name another file with --progress.`);
}

/** Refuses to continue a rotation other than the requested one, or one whose idempotency keys may have expired. */
function refuseOther(before: Recorded, { file, rotation, now }: { file: string; rotation: Rotation; now: Date }): void {
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
