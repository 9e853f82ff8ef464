import {
  ENVIRONMENT_BYTES_MAX,
  EVENTS_DISPLACED_MAX,
  EVENTS_NEAR_MAX,
  EVENTS_PER_PURGE_MAX,
} from "../../../common/limits.ts";
import { eventMsOf } from "../../../common/settings/settings.ts";
import type { StoredEvent } from "../../records.ts";
import { EventStore, type LastEvent } from "../../storage/event-store.ts";
import type { Chore, Chores } from "../chores.ts";
import type { Author } from "../credentials/caller.ts";
import { type ChangeDescription, firstSince } from "./event.ts";

/** Records what changes in one Durable Object, for as long as `EVENT_DAYS` sets. */
export class ChangeLog {
  readonly #storage: DurableObjectStorage;
  readonly #events: EventStore;
  readonly #keepMs: number;
  /** The number after which the next event comes, and the time of the newest one, if this instance knows them. */
  #last: LastEvent | undefined;
  /** Whether the object notes when keys, sessions and groups are used. On a full disk the note would fail the read that makes it. */
  notesUse = true;
  /** Sets the alarm for a chore of the object. */
  readonly schedule: Chores["schedule"];

  constructor(storage: DurableObjectStorage, env: Env, schedule: Chores["schedule"]) {
    this.#storage = storage;
    this.schedule = schedule;
    this.#events = new EventStore(storage.sql);
    this.#keepMs = eventMsOf(env);
  }

  /**
   * Runs `write` in one transaction with its event, and schedules the alarm. Every change goes through here, so that none is without
   * its event.
   */
  commit<Value>(
    { actor, requestId, reason }: Author,
    event: ChangeDescription | ((written: Value) => ChangeDescription),
    write: () => Value,
  ): Value {
    const { isAfterGap, ...last } = this.#lastEvent();
    const id = last.id + 1;
    // No event is before the one before it, whatever the clock does: a page of the feed begins at a time by bisection.
    const at = Math.max(Date.now(), last.at);
    const value = this.transaction(() => {
      const written = write();
      const { type, group, details } = typeof event === "function" ? event(written) : event;
      this.#append(isAfterGap, {
        id,
        at,
        actor,
        requestId,
        type,
        teamId: group?.teamId ?? null,
        providedId: group?.providedId ?? null,
        details: { ...details, ...(reason !== undefined && { reason }) },
      });
      return written;
    });
    this.#last = { id, at, isAfterGap: false };
    this.schedule(Date.now() + this.#keepMs);
    return value;
  }

  /** Runs `work`, changes and other writes, in one transaction. If it fails, none of its events is there. */
  transaction<Value>(work: () => Value): Value {
    try {
      return this.#storage.transactionSync(work);
    } catch (error) {
      this.#last = undefined;
      throw error;
    }
  }

  /** The number after which the next event comes. */
  get newestId(): number {
    return this.#lastEvent().id;
  }

  #lastEvent(): LastEvent {
    this.#last ??= this.#events.last();
    return this.#last;
  }

  /** Whether the database takes no more data. */
  get isFull(): boolean {
    return this.#storage.sql.databaseSize > ENVIRONMENT_BYTES_MAX;
  }

  /** Appends an event. In a full database it takes the place of the oldest ones, so that no change makes the database grow. */
  #append(isAfterGap: boolean, event: StoredEvent): void {
    const { id, ...unnumbered } = event;
    this.#events.put(isAfterGap ? event : unnumbered);
    if (this.isFull) this.#deleteOldest(EVENTS_DISPLACED_MAX, () => true);
  }

  /** Deletes at most `count` of the oldest events, as long as they are old, but never the newest: SQLite derives the next id from it. */
  #deleteOldest(count: number, isOld: (event: { at: number }) => boolean): void {
    const last = this.#events
      .oldest(count + 1)
      .slice(0, -1)
      .findLast(isOld);
    if (last) this.#events.deleteUpTo(last.id);
  }

  /** The first event from a time on for which `isIt` is true, if it is one of the next few. */
  findFrom(since: number, isIt: (event: StoredEvent) => boolean): StoredEvent | undefined {
    const oldest = this.#events.oldest(1)[0]?.id ?? 1;
    const first = firstSince(this.#events, since, { oldest, newest: this.#events.newestId() });
    return this.#events.page(first - 1, EVENTS_NEAR_MAX).find(isIt);
  }

  /** Deletes old events. */
  readonly purge: Chore = {
    name: "delete old events",
    dueAt: () => {
      const [oldest, second] = this.#events.oldest(2);
      return oldest && second ? oldest.at + this.#keepMs : undefined;
    },
    run: (now) => this.#deleteOldest(EVENTS_PER_PURGE_MAX, ({ at }) => at + this.#keepMs <= now),
  };
}
