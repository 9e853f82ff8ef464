import { EVENT_DAYS_DEFAULT, EVENTS_PER_PURGE_MAX } from "../limits.ts";
import { EventStore } from "../storage/event-store.ts";
import type { Chore } from "./chores.ts";
import { daysToMs } from "./days.ts";
import { type Author, type ChangeDescription, type EventPage, type EventQuery, readEvents } from "./event.ts";
import type { FailureOf } from "./failure.ts";
import type { Result } from "./result.ts";

/** Records what changes in one Durable Object, for as long as `EVENT_DAYS` sets. */
export class ChangeLog {
  readonly #storage: DurableObjectStorage;
  readonly #events: EventStore;
  readonly #keepMs: number;

  constructor(storage: DurableObjectStorage, { EVENT_DAYS }: Env) {
    this.#storage = storage;
    this.#events = new EventStore(storage.sql);
    this.#keepMs = daysToMs(EVENT_DAYS, EVENT_DAYS_DEFAULT);
  }

  /** Runs `change` in one transaction with the event that it records, so that no change is without its event. */
  commit<Value>(author: Author, change: (record: (event: ChangeDescription) => void) => Value): Value {
    return this.#storage.transactionSync(() =>
      change(({ type, group, details = {} }) =>
        this.#events.append({
          ...author,
          at: Date.now(),
          type,
          teamId: group?.teamId ?? null,
          providedId: group?.providedId ?? null,
          details,
        }),
      ),
    );
  }

  /** When an event of now will be deleted. */
  get nextPurgeAt(): number {
    return Date.now() + this.#keepMs;
  }

  /** One page of the events, oldest first. */
  read(query: EventQuery): Result<EventPage, FailureOf<"cursor_expired">> {
    return readEvents(this.#events, query);
  }

  /** Deletes old events, but never the newest: its id tells which come after it. */
  get purge(): Chore {
    return {
      name: "delete old events",
      dueAt: () => {
        const [oldest, second] = this.#events.oldest(2);
        return oldest && second ? oldest.at + this.#keepMs : undefined;
      },
      run: (now) => {
        const old = this.#events
          .oldest(EVENTS_PER_PURGE_MAX + 1)
          .slice(0, -1)
          .findLast(({ at }) => at + this.#keepMs <= now);
        if (old) this.#events.deleteUpTo(old.id);
      },
    };
  }
}
