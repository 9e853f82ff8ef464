const KEY = "probe";

/**
 * Writes to the disk, and keeps nothing: SQLite writes the changed page when the transaction ends. If the disk is full, the
 * call whose transaction it is fails with SQLITE_FULL.
 */
export function probeDisk({ kv }: DurableObjectStorage): void {
  kv.put(KEY, true);
  kv.delete(KEY);
}
