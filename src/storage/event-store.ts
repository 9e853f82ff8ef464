import type { ChangeEvent, EventType, StoredEvent } from "../records.ts";

const COLUMNS = `id, at, type, actor, request_id AS requestId, team_id AS teamId, provided_id AS providedId, details`;

const ofType = (order: "ASC" | "DESC") =>
  `SELECT ${COLUMNS} FROM events WHERE id >= ? AND id < ? AND team_id = ? AND type = ? ORDER BY id ${order} LIMIT 1`;
const OF_TYPE = { first: ofType("ASC"), last: ofType("DESC") };

type Row = Omit<StoredEvent, "actor" | "details"> & { actor: string; details: string };

const toEvent = (row: Row): StoredEvent => ({ ...row, actor: JSON.parse(row.actor), details: JSON.parse(row.details) });

/** The end of a feed, after which the next event comes. */
export type LastEvent = { id: number; at: number; isAfterGap: boolean };

/** The SQL of events. Ids rise by one, but for a gap after a restore, and the newest event is never deleted, so no id is used twice. */
export class EventStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds an event under the number after the highest one, which SQLite finds without reading a row. */
  append({ at, type, actor, requestId, teamId, providedId, details }: ChangeEvent): void {
    this.#sql.exec(
      "INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details) VALUES (?, ?, ?, ?, ?, ?, ?)",
      at,
      type,
      JSON.stringify(actor),
      requestId,
      teamId,
      providedId,
      JSON.stringify(details),
    );
  }

  /** Adds an event under its own number. */
  put({ id, at, type, actor, requestId, teamId, providedId, details }: StoredEvent): void {
    this.#sql.exec(
      "INSERT INTO events (id, at, type, actor, request_id, team_id, provided_id, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      id,
      at,
      type,
      JSON.stringify(actor),
      requestId,
      teamId,
      providedId,
      JSON.stringify(details),
    );
  }

  /** The first `count` events after the id `after`. */
  page(after: number, count: number): StoredEvent[] {
    return this.#sql
      .exec<Row>(`SELECT ${COLUMNS} FROM events WHERE id > ? ORDER BY id LIMIT ?`, after, count)
      .toArray()
      .map(toEvent);
  }

  /** The `count` newest events below the id `before`, and from the id `from` on, newest first. */
  pageBefore({ before, from }: { before: number; from: number }, count: number): StoredEvent[] {
    return this.#sql
      .exec<Row>(`SELECT ${COLUMNS} FROM events WHERE id < ? AND id >= ? ORDER BY id DESC LIMIT ?`, before, from, count)
      .toArray()
      .map(toEvent);
  }

  /** The times of the newest events, at most `count`, newest first. */
  newestTimes(count: number): number[] {
    return this.#sql
      .exec<{ at: number }>("SELECT at FROM events WHERE id > 0 ORDER BY id DESC LIMIT ?", count)
      .toArray()
      .map(({ at }) => at);
  }

  /** The events of a group among the `examined` newest ones, newest first. */
  newestOfGroup(teamId: number, examined: number): StoredEvent[] {
    return this.#sql
      .exec<Row>(
        `SELECT ${COLUMNS} FROM events
          WHERE id > (SELECT coalesce(max(id), 0) FROM events) - ? AND team_id = ? ORDER BY id DESC`,
        examined,
        teamId,
      )
      .toArray()
      .map(toEvent);
  }

  /** The id of the newest event below the id `before`. */
  newestIdBelow(before: number): number | undefined {
    return this.#sql
      .exec<{ id: number }>("SELECT id FROM events WHERE id < ? ORDER BY id DESC LIMIT 1", before)
      .toArray()[0]?.id;
  }

  /**
   * The ids of a group's events from the id `from` on and below `before`, oldest first: in this order SQLite reads the events in half
   * the time.
   */
  idsOfGroup(teamId: number, { before, from }: { before: number; from: number }): number[] {
    return Array.from(
      this.#sql
        .exec("SELECT id FROM events WHERE id >= ? AND id < ? AND team_id = ? ORDER BY id", from, before, teamId)
        .raw<[number]>(),
      ([id]) => id,
    );
  }

  /** The events of a group from the id `from` on and below `before`, oldest first. */
  ofGroup(teamId: number, { before, from }: { before: number; from: number }): StoredEvent[] {
    return this.#sql
      .exec<Row>(
        `SELECT ${COLUMNS} FROM events WHERE id >= ? AND id < ? AND team_id = ? ORDER BY id`,
        from,
        before,
        teamId,
      )
      .toArray()
      .map(toEvent);
  }

  /** The first or last event of a group with this type, from the id `from` on and below `before`. */
  findOfType(
    which: keyof typeof OF_TYPE,
    teamId: number,
    type: EventType,
    { before, from }: { before: number; from: number },
  ): StoredEvent | undefined {
    const [row] = this.#sql.exec<Row>(OF_TYPE[which], from, before, teamId, type).toArray();
    return row && toEvent(row);
  }

  /** The ids and times of the oldest events, at most `count`. */
  oldest(count: number): { id: number; at: number }[] {
    return this.#sql
      .exec<{ id: number; at: number }>("SELECT id, at FROM events WHERE id > 0 ORDER BY id LIMIT ?", count)
      .toArray();
  }

  /** The id and time of the first event with this id or a higher one. */
  firstFrom(id: number): { id: number; at: number } | undefined {
    return this.#sql
      .exec<{ id: number; at: number }>("SELECT id, at FROM events WHERE id >= ? ORDER BY id LIMIT 1", id)
      .toArray()[0];
  }

  /**
   * The number after which the next event comes, and the time of the newest event. After a restore there is a gap between the newest
   * event and that number.
   */
  last(): LastEvent {
    const [newest] = this.#sql
      .exec<{ id: number; at: number }>("SELECT id, at FROM events WHERE id > 0 ORDER BY id DESC LIMIT 1")
      .toArray();
    const { lastId } = this.#sql.exec<{ lastId: number }>("SELECT last_id AS lastId FROM feed WHERE id = 1").one();
    const newestId = newest?.id ?? 0;
    return { id: Math.max(lastId, newestId), at: newest?.at ?? 0, isAfterGap: lastId > newestId };
  }

  /** Whether there are events after a restore of the database, besides those of one type. */
  hasAfterRestore(exceptType = ""): boolean {
    return (
      this.#sql
        .exec("SELECT 1 FROM events WHERE id > (SELECT last_id FROM feed) AND type <> ? LIMIT 1", exceptType)
        .toArray().length > 0
    );
  }

  /** Lets the next event have a higher number than this one. */
  setLastId(id: number): void {
    this.#sql.exec("UPDATE feed SET last_id = ? WHERE id = 1", id);
  }

  /** The highest number of a group that an event names. */
  highestTeamId(): number {
    return this.#sql.exec<{ highest: number }>("SELECT coalesce(max(team_id), 0) AS highest FROM events").one().highest;
  }

  /** The id of the newest event; 0 if there is none. */
  newestId(): number {
    return this.#sql.exec<{ newest: number }>("SELECT coalesce(max(id), 0) AS newest FROM events").one().newest;
  }

  /** Deletes this event and all older ones. */
  deleteUpTo(id: number): void {
    this.#sql.exec("DELETE FROM events WHERE id <= ?", id);
  }

  /** A random id made with the database, by which cursors name their feed. */
  incarnation(): string {
    return this.#sql.exec<{ incarnation: string }>("SELECT incarnation FROM feed WHERE id = 1").one().incarnation;
  }
}
