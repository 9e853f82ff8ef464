import type { ChangeEvent, EventType, StoredEvent } from "../records.ts";
import { Table } from "./table.ts";

const FIELDS = ["id", "at", "type", "actor", "requestId", "teamId", "providedId", "details"] as const;

type Row = Omit<StoredEvent, "actor" | "details"> & { actor: string; details: string };

const toEvent = (row: Row): StoredEvent => ({ ...row, actor: JSON.parse(row.actor), details: JSON.parse(row.details) });

/** The end of a feed, after which the next event comes. */
export type LastEvent = { id: number; at: number; isAfterGap: boolean };

/** The SQL of events. Ids rise by one, but for a gap after a restore, and the newest event is never deleted, so no id is used twice. */
export class EventStore {
  readonly #sql: SqlStorage;
  readonly #events: Table<Row>;
  /** Of each event, only its number and its time. */
  readonly #times: Table<{ id: number; at: number }>;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#events = new Table(sql, "events", FIELDS);
    this.#times = new Table(sql, "events", ["id", "at"]);
  }

  /** Adds an event under its own number, or without one under that after the highest, which SQLite finds without reading a row. */
  put(event: ChangeEvent & { id?: number }): void {
    this.#events.insert({ ...event, actor: JSON.stringify(event.actor), details: JSON.stringify(event.details) });
  }

  #list(condition: string, ...values: SqlStorageValue[]): StoredEvent[] {
    return this.#events.list(condition, ...values).map(toEvent);
  }

  /** The first `count` events after the id `after`. */
  page(after: number, count: number): StoredEvent[] {
    return this.#list("id > ? ORDER BY id LIMIT ?", after, count);
  }

  /** The `count` newest events below the id `before`, and from the id `from` on, newest first. */
  pageBefore({ before, from }: EventRange, count: number): StoredEvent[] {
    return this.#list("id < ? AND id >= ? ORDER BY id DESC LIMIT ?", before, from, count);
  }

  /** The events of a group among the `examined` newest ones, newest first. */
  newestOfGroup(teamId: number, examined: number): StoredEvent[] {
    const newest = "id > (SELECT coalesce(max(id), 0) FROM events) - ?";
    return this.#list(`${newest} AND team_id = ? ORDER BY id DESC`, examined, teamId);
  }

  /** The id of the newest event below the id `before`. */
  newestIdBelow(before: number): number | undefined {
    return this.#times.find("id < ? ORDER BY id DESC", before)?.id;
  }

  /**
   * The ids of a group's events from the id `from` on and below `before`, oldest first: in this order SQLite reads the events in half
   * the time.
   */
  idsOfGroup(teamId: number, { before, from }: EventRange): number[] {
    return Array.from(
      this.#sql
        .exec("SELECT id FROM events WHERE id >= ? AND id < ? AND team_id = ? ORDER BY id", from, before, teamId)
        .raw<[number]>(),
      ([id]) => id,
    );
  }

  /** The events of a group from the id `from` on and below `before`, oldest first. */
  ofGroup(teamId: number, { before, from }: EventRange): StoredEvent[] {
    return this.#list("id >= ? AND id < ? AND team_id = ? ORDER BY id", from, before, teamId);
  }

  /** The first or last event of a group with this type, from the id `from` on and below `before`. */
  findOfType(which: "first" | "last", teamId: number, type: EventType, { before, from }: EventRange) {
    const order = which === "first" ? "ASC" : "DESC";
    const ofType = `id >= ? AND id < ? AND team_id = ? AND type = ? ORDER BY id ${order} LIMIT 1`;
    return this.#list(ofType, from, before, teamId, type)[0];
  }

  /** The ids and times of the oldest events, at most `count`. */
  oldest(count: number): { id: number; at: number }[] {
    return this.#times.list("id > 0 ORDER BY id LIMIT ?", count);
  }

  /** The id and time of the first event with this id or a higher one. */
  firstFrom(id: number): { id: number; at: number } | undefined {
    return this.#times.find("id >= ? ORDER BY id", id);
  }

  /**
   * The number after which the next event comes, and the time of the newest event. After a restore there is a gap between the newest
   * event and that number.
   */
  last(): LastEvent {
    const newest = this.#times.find("id > 0 ORDER BY id DESC");
    const { lastId } = this.#sql.exec<{ lastId: number }>("SELECT last_id AS lastId FROM feed WHERE id = 1").one();
    const newestId = newest?.id ?? 0;
    return { id: Math.max(lastId, newestId), at: newest?.at ?? 0, isAfterGap: lastId > newestId };
  }

  /** Whether there are events after a restore of the database, besides those of one type. */
  hasAfterRestore(exceptType = ""): boolean {
    return this.#times.has("id > (SELECT last_id FROM feed) AND type <> ?", exceptType);
  }

  /** Lets the next event have a higher number than this one. */
  setLastId(id: number): void {
    this.#sql.exec("UPDATE feed SET last_id = ? WHERE id = 1", id);
  }

  /** The highest number of a group that an event names. */
  highestTeamId(): number {
    return this.#events.number("coalesce(max(team_id), 0)");
  }

  /** The id of the newest event; 0 if there is none. */
  newestId(): number {
    return this.#events.number("coalesce(max(id), 0)");
  }

  /** Deletes this event and all older ones. */
  deleteUpTo(id: number): void {
    this.#events.delete("id <= ?", id);
  }

  /** A random id made with the database, by which cursors name their feed. */
  incarnation(): string {
    return this.#sql.exec<{ incarnation: string }>("SELECT incarnation FROM feed WHERE id = 1").one().incarnation;
  }
}

/** The events from the id `from` on and below `before`. */
type EventRange = { before: number; from: number };
