import { LATE_ALARM_SECONDS, PURGE_RETRY_SECONDS } from "../../common/limits.ts";
import { log } from "./log.ts";

/** Work that an object does without a call. `run` does a bounded amount of it, and `dueAt` returns when to run next. */
export type Chore = { name: string; dueAt: (now: number) => number | undefined; run: (now: number) => void };

/** The chores of one Durable Object, which has one alarm for all of them. Times are milliseconds since 1970. */
export class Chores {
  readonly #setAlarm: (time: number) => void;
  readonly #chores: Chore[];
  /** The alarm that this instance has set. */
  #alarmAt: number | undefined;
  /** The late alarm that the log has. */
  #lateAlarmAt: number | undefined;

  constructor(chores: Chore[], setAlarm: (time: number) => void) {
    this.#chores = chores;
    this.#setAlarm = setAlarm;
  }

  /**
   * Sets the alarm after a change whose chore is due at `dueAt`, unless an earlier one is set. A new instance does not know the
   * last one's alarm, so its first change checks all chores.
   */
  schedule(dueAt: number): void {
    this.#noteLate();
    const next = this.#alarmAt === undefined ? this.#nextAt() : dueAt;
    if (next !== undefined && (this.#alarmAt === undefined || next < this.#alarmAt)) this.#set(next);
  }

  /**
   * Runs the chores that are due. A chore that throws does not stop the others, and is tried again later. This never throws:
   * after six failures the platform would give the alarm up (Durable Objects, "Alarms").
   */
  run(): void {
    this.#noteLate();
    this.#alarmAt = undefined;
    const now = Date.now();
    const due = this.#chores.map((chore) => this.#runOne(chore, now));
    const next = earliest(due);
    if (next !== undefined) this.#set(Math.max(now, next));
  }

  /** Sets the alarm for what is due next, after work besides the chores. */
  scheduleNext(): void {
    const next = this.#nextAt();
    if (next !== undefined) this.#set(next);
  }

  /** Logs, once, an alarm that has not run in time: nothing is purged, and no lease is ended, where alarms stand still. */
  #noteLate(): void {
    if (this.#alarmAt === undefined || this.#alarmAt === this.#lateAlarmAt) return;
    const seconds = Math.floor((Date.now() - this.#alarmAt) / 1000);
    if (seconds < LATE_ALARM_SECONDS) return;
    this.#lateAlarmAt = this.#alarmAt;
    log.warn({ message: "An alarm is late.", seconds });
  }

  /** Runs a chore if it is due. Returns when it is due next. */
  #runOne({ name, dueAt, run }: Chore, now: number): number | undefined {
    try {
      if ((dueAt(now) ?? Number.POSITIVE_INFINITY) <= now) run(now);
      return dueAt(now);
    } catch (error) {
      log.error({ message: `The chore "${name}" failed. The next try follows.`, error: String(error) });
      return now + PURGE_RETRY_SECONDS * 1000;
    }
  }

  #nextAt(): number | undefined {
    const now = Date.now();
    return earliest(this.#chores.map(({ dueAt }) => dueAt(now)));
  }

  #set(time: number): void {
    this.#alarmAt = time;
    this.#setAlarm(time);
  }
}

const earliest = (times: (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};
