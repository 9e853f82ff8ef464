import { BACKUP_ROWS_MAX, LIST_BYTES_MAX, NUMBERS_SKIPPED_BY_RESTORE, OPERATORS_MAX } from "../../../common/limits.ts";
import { ok, type Result } from "../../../common/result.ts";
import type { EnvironmentStore } from "../../storage/environment-store.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { KeyStore } from "../../storage/key-store.ts";
import type { GraveyardStore } from "../../storage/tombstone-store.ts";
import type { FailureOf } from "../failure.ts";
import type { Read } from "../turns.ts";
import { type BackupItem, type BackupPage, type BackupPosition, bytesOfEvent, OpenPage, positionIn } from "./backup.ts";
import { checkCounts, checkRoom, type RestoreTarget, UnfitLine } from "./restore.ts";

/** The tables in the order in which each page goes on with them. */
const TABLES = ["environments", "tombstones", "events"] as const;
/** What an environment or a tombstone takes in memory, nearly. */
const ROW_BYTES = 200;

/** The stores of the registry. */
export type RegistryStores = {
  operators: KeyStore;
  environments: EnvironmentStore;
  graveyard: GraveyardStore;
  events: EventStore;
};

/**
 * Reads the registry's backup, page by page. Its tables only grow, so it reads each on from the last row that it has. When a page
 * has the end of them all, it has the operators and the footer too, and the backup is as of then.
 */
export function readRegistry(
  stores: RegistryStores,
  schema: number,
  position: BackupPosition | undefined,
): Result<Read<BackupPage>, FailureOf<"cursor_expired">> {
  const begun = positionIn(stores.events, position);
  if (!begun.ok) return begun;
  const page = new OpenPage();
  if (!position) page.addHeader(schema);
  const progress = progressIn(begun.value);
  const isComplete = TABLES.every((table) => readTable(stores, table, page, progress[table]));
  const share = Math.min(1, page.items.length / BACKUP_ROWS_MAX);
  if (!isComplete) return ok({ page: { items: page.items, next: positionAfter(begun.value, progress) }, share });
  const operators = stores.operators.page(0, Number.MAX_SAFE_INTEGER);
  for (const record of operators) page.add({ kind: "operator", record }, 0);
  const { environments, tombstones, events } = progress;
  const counts = { environments: environments.rows, tombstones: tombstones.rows, events: events.rows };
  page.add({ kind: "footer", record: { operators: operators.length, ...counts } }, 0);
  return ok({ page: { items: page.items, next: null }, share });
}

/** Reads a table on from its last row while the page has room. Returns whether it has come to the end. */
function readTable(stores: RegistryStores, table: Table, page: OpenPage, progress: TableProgress): boolean {
  const items = itemsAfter(stores, table, progress.last);
  for (const item of items) {
    if (page.items.length >= BACKUP_ROWS_MAX || page.bytes > LIST_BYTES_MAX) return false;
    page.add(item, item.kind === "event" ? bytesOfEvent(item.record) : ROW_BYTES);
    progress.rows += 1;
    progress.last = item.record.id;
  }
  return items.length < BACKUP_ROWS_MAX;
}

function itemsAfter({ environments, graveyard, events }: RegistryStores, table: Table, last: number): TableItem[] {
  if (table === "environments")
    return environments.page(last + 1, BACKUP_ROWS_MAX).map((record) => ({ kind: "environment", record }));
  if (table === "tombstones")
    return graveyard.page(last, BACKUP_ROWS_MAX).map((record) => ({ kind: "tombstone", record }));
  return events.page(last, BACKUP_ROWS_MAX).map((record) => ({ kind: "event", record }));
}

/** The backup of a registry that has no tables yet. */
export function emptyRegistry(schema: number): Read<BackupPage> {
  const page = new OpenPage();
  page.addHeader(schema);
  page.add({ kind: "footer", record: { operators: 0, environments: 0, tombstones: 0, events: 0 } }, 0);
  return { page: { items: page.items, next: null }, share: 0 };
}

/** How many rows of a table the file has, and the number of the last one. */
type TableProgress = { rows: number; last: number };
type Table = (typeof TABLES)[number];
type TableItem = Extract<BackupItem, { kind: "environment" | "tombstone" | "event" }>;

/** The progress in each table. A position has it among its counts, because the Workers of 1.0 pass on no other numbers. */
const progressIn = ({ counts }: BackupPosition): Record<Table, TableProgress> => {
  const of = (table: Table) => ({ rows: counts[table] ?? 0, last: counts[`after_${table}`] ?? 0 });
  return { environments: of("environments"), tombstones: of("tombstones"), events: of("events") };
};

const positionAfter = (position: BackupPosition, progress: Record<Table, TableProgress>): BackupPosition => ({
  ...position,
  counts: Object.fromEntries(
    TABLES.flatMap((table) => [
      [table, progress[table].rows],
      [`after_${table}`, progress[table].last],
    ]),
  ),
});

/** Restores the registry's backup into its stores. */
export const registryTarget = ({ operators, environments, graveyard, events }: RegistryStores): RestoreTarget => ({
  isEmpty: () => operators.count() === 0 && environments.page(0, 1).length === 0,
  // The restores of environments follow that of the registry.
  isUnchanged: () => !events.hasAfterRestore("environment.restored"),
  begin: () => undefined,

  put(item: BackupItem): void {
    if (item.kind === "operator") operators.put(item.record);
    else if (item.kind === "environment") environments.insert(item.record);
    else if (item.kind === "tombstone") graveyard.bury(item.record.environment, item.record);
    else if (item.kind === "event") events.put(item.record);
    else if (item.kind !== "header") throw new UnfitLine(`The registry has no line of the kind ${item.kind}.`);
  },

  finish(footer, counts, { revokeKeys }): void {
    checkRoom("operators", operators.count(), OPERATORS_MAX);
    checkCounts(footer, {
      operators: counts.operator ?? 0,
      environments: counts.environment ?? 0,
      tombstones: counts.tombstone ?? 0,
      events: counts.event ?? 0,
    });
    if (revokeKeys) operators.revokeAll(Date.now());
    operators.setLastId(operators.highestId() + NUMBERS_SKIPPED_BY_RESTORE - 1);
    events.setLastId(events.newestId() + NUMBERS_SKIPPED_BY_RESTORE - 1);
  },
});
