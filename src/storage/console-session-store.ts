import type { StoredConsoleSession } from "../records.ts";
import { Table } from "./table.ts";

/** The SQL of console sessions. Those of the bootstrap token have no operator's id. */
export class ConsoleSessionStore {
  readonly #table: Table<StoredConsoleSession>;

  constructor(sql: SqlStorage) {
    this.#table = new Table(sql, "console_sessions", [
      "id",
      "hash",
      "operatorId",
      "bootstrapMac",
      "createdAt",
      "lastUsedAt",
      "formIds",
      "browser",
      "address",
    ]);
  }

  findByHash(hash: ArrayBuffer): StoredConsoleSession | undefined {
    return this.#table.find("hash = ?", hash);
  }

  /** The sessions of an operator, the newest first. */
  ofOperator(operatorId: number | null): StoredConsoleSession[] {
    return this.#table.list("operator_id IS ? ORDER BY id DESC", operatorId);
  }

  /** Adds a session. A repeated call adds it once. */
  insert(session: Omit<StoredConsoleSession, "id" | "lastUsedAt" | "formIds">) {
    this.#table.insert({ ...session, lastUsedAt: session.createdAt, formIds: "" }, "INSERT OR IGNORE");
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#table.set(id, "lastUsedAt", lastUsedAt);
  }

  setFormIds(id: number, formIds: string): void {
    this.#table.set(id, "formIds", formIds);
  }

  delete(id: number): void {
    this.#table.delete("id = ?", id);
  }

  /** Deletes the sessions that were created up to a time, or used last up to another. */
  deleteEnded({ createdUpTo, usedUpTo }: { createdUpTo: number; usedUpTo: number }): void {
    this.#table.delete("created_at <= ? OR last_used_at <= ?", createdUpTo, usedUpTo);
  }
}
