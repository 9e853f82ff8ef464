import { fail, ok, type Result } from "../../../common/result.ts";
import type { Schema } from "../../storage/migrations.ts";
import { type RestoreState, RestoreStore } from "../../storage/restore-store.ts";
import type { FailureOf } from "../failure.ts";
import { type BackupItem, withOneMore } from "./backup.ts";

/** A page of a backup, with the hash of the page before it. `skipped` are groups that were purged, which stay purged. */
export type RestorePage = {
  number: number;
  sha256: string;
  previous: string;
  items: BackupItem[];
  skipped: number[];
  rotateTokens: boolean;
  revokeKeys: boolean;
};

/** What a restore has done, and whether the database takes its first page. */
export type RestoreProgress = Pick<RestoreState, "page" | "sha256" | "isDone"> & {
  isRestoring: boolean;
  isEmpty: boolean;
};

/** Whether the page was the last one, and whether it was taken before. */
export type Taken = { isDone: boolean; isRepeated: boolean };

/** Thrown for a line that does not belong into its database. The message says why. Nothing of its page is kept. */
export class UnfitLine extends Error {
  /** The number of the line in its page, which `Restore` sets. */
  line = 0;
}

/** What differs between the databases that can be restored. */
export type RestoreTarget = {
  /** Whether there is nothing that a restore would overwrite. */
  isEmpty: () => boolean;
  /** Whether nothing has changed since the restore was complete. */
  isUnchanged: () => boolean;
  /** Prepares the new tables for lines in any order. */
  begin: () => void;
  /** Writes what a line says. Throws an `UnfitLine`. */
  put: (item: BackupItem, page: RestorePage) => void;
  /** Checks the counts of the footer, sets the counters, and opens the database. Throws an `UnfitLine`. */
  finish: (footer: Record<string, number>, counts: Record<string, number>, page: RestorePage) => void;
};

export type RestoreFailure = FailureOf<"environment_not_empty" | "unexpected_page" | "invalid_backup">;

/** Takes the pages of a backup into one database, each in one transaction. */
export class Restore {
  readonly #storage: DurableObjectStorage;
  readonly #schema: Schema;
  readonly #store: RestoreStore;
  readonly #target: RestoreTarget;

  constructor(storage: DurableObjectStorage, schema: Schema, target: RestoreTarget) {
    this.#storage = storage;
    this.#schema = schema;
    this.#store = new RestoreStore(storage.sql);
    this.#target = target;
  }

  progress(): RestoreProgress {
    const { isRestoring } = this.#schema;
    const state = isRestoring || this.#schema.exists ? this.#store.get() : undefined;
    const { page = 0, sha256 = "", isDone = false } = state ?? {};
    return {
      page,
      sha256,
      isDone,
      isRestoring,
      isEmpty: !isRestoring && (!this.#schema.exists || this.#target.isEmpty()),
    };
  }

  /** Why this page cannot be the next one, if it cannot. A page that was taken already is `repeated`. */
  refusalOf(page: RestorePage): RestoreFailure | "repeated" | undefined {
    const { number, sha256, previous, items } = page;
    const last = this.progress();
    if (last.page === number && last.sha256 === sha256 && this.#isAsBefore(page)) return "repeated";
    if (!last.isRestoring && !last.isEmpty) return { code: "environment_not_empty" };
    const expected = last.isRestoring ? last.page + 1 : 1;
    const follows = number === 1 || (number === expected && previous === last.sha256);
    // The Worker has read no lines of a page that did not follow when it asked.
    if (!follows || items.length === 0) return { code: "unexpected_page", expected_page: expected };
    return undefined;
  }

  /**
   * Whether the page that was taken last may be taken for a repeated call whose answer was lost. After the last page of a restore
   * that is not so if the call asks for something else, or if the database has changed: its caller would take a database for restored that is not.
   */
  #isAsBefore({ rotateTokens, revokeKeys }: RestorePage): boolean {
    const state = this.#schema.isRestoring ? undefined : this.#store.get();
    if (!state?.isDone) return true;
    return state.rotatedTokens === rotateTokens && state.revokedKeys === revokeKeys && this.#target.isUnchanged();
  }

  /** Takes a page that follows. Returns whether it was the last one. An invalid page changes nothing. */
  take(page: RestorePage): Result<Taken, FailureOf<"invalid_backup">> {
    if (page.number === 1) this.#begin();
    try {
      const isDone = this.#storage.transactionSync(() => this.#put(page));
      if (isDone) this.#schema.isRestoring = false;
      return ok({ isDone, isRepeated: false });
    } catch (error) {
      if (!(error instanceof UnfitLine)) throw error;
      return fail({ code: "invalid_backup", line: error.line, reason: error.message });
    }
  }

  /** Makes the tables, closed for all but the restore. */
  #begin(): void {
    this.#schema.create();
    const nothing = { isDone: false, rotatedTokens: false, revokedKeys: false };
    this.#store.set({ page: 0, sha256: "", counts: {}, ...nothing });
    this.#schema.isRestoring = true;
    this.#target.begin();
  }

  #put(page: RestorePage): boolean {
    let counts = this.#store.get()?.counts ?? {};
    let isDone = false;
    for (const [index, item] of page.items.entries()) {
      try {
        if (item.kind === "footer") this.#target.finish(item.record, counts, page);
        else this.#target.put(item, page);
      } catch (error) {
        const unfit = unfitOf(error);
        throw unfit ? Object.assign(unfit, { line: index + 1 }) : error;
      }
      if (item.kind === "footer") isDone = true;
      else counts = withOneMore(counts, item.kind);
    }
    const { number, sha256, rotateTokens, revokeKeys } = page;
    const done = { isDone, rotatedTokens: isDone && rotateTokens, revokedKeys: isDone && revokeKeys };
    this.#store.set({ page: number, sha256, counts, ...done });
    return isDone;
  }
}

/** The error as one of its line, if it is. A full disk, for example, says nothing about the line: the same page can be sent again. */
function unfitOf(error: unknown): UnfitLine | undefined {
  if (error instanceof UnfitLine) return error;
  if (!(error instanceof Error && error.message.includes("SQLITE_CONSTRAINT"))) return undefined;
  const reason = "This line contradicts another one, or lacks a value, so the database refuses it";
  return new UnfitLine(`${reason}: ${error.message}`);
}

/**
 * Takes the next page of a backup into an object. The first page begins again from the start; after an invalid one nothing is left.
 * `clear` empties the object, and returns its parts after that.
 */
export async function takePage(
  restore: Restore,
  page: RestorePage,
  clear: () => Promise<{ restore: Restore }>,
): Promise<Result<Taken, RestoreFailure>> {
  const refusal = restore.refusalOf(page);
  if (refusal === "repeated") return ok({ isDone: restore.progress().isDone, isRepeated: true });
  if (refusal) return fail(refusal);
  const target = page.number === 1 ? (await clear()).restore : restore;
  const taken = target.take(page);
  if (!taken.ok) await clear();
  return taken;
}

/** Throws an `UnfitLine` unless the database has as many of each kind as the footer says. */
export function checkCounts(footer: Record<string, number>, found: Record<string, number>): void {
  for (const [name, count] of Object.entries(found))
    if (footer[name] !== count)
      throw new UnfitLine(`The footer says ${footer[name]} ${name}, and the pages have ${count}.`);
}

/** Throws an `UnfitLine` if there are more of a kind than a database may have. */
export function checkRoom(what: string, count: number, most: number): void {
  if (count > most) throw new UnfitLine(`The backup has ${count} ${what}; ${most} is the most.`);
}
