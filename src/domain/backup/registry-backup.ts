import { BACKUP_ROWS_MAX, LIST_BYTES_MAX } from "../../../common/limits.ts";
import { ok, type Result } from "../../../common/result.ts";
import type { EnvironmentStore } from "../../storage/environment-store.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { GraveyardStore } from "../../storage/graveyard-store.ts";
import type { KeyStore } from "../../storage/key-store.ts";
import type { FailureOf } from "../failure.ts";
import type { Read } from "../turns.ts";
import {
  type BackupItem,
  type BackupPage,
  type BackupPosition,
  bytesOfEvent,
  counted,
  OpenPage,
  positionIn,
} from "./backup.ts";

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
export class RegistryBackup {
  readonly #stores: RegistryStores;
  readonly #schema: number;

  constructor(stores: RegistryStores, schema: number) {
    this.#stores = stores;
    this.#schema = schema;
  }

  /** The backup of a registry that has no tables yet. */
  empty(): Read<BackupPage> {
    const footer = { operators: 0, environments: 0, tombstones: 0, events: 0 };
    const header = { takenAt: Date.now(), schema: this.#schema };
    return {
      page: {
        items: [
          { kind: "header", record: header },
          { kind: "footer", record: footer },
        ],
        next: null,
      },
      share: 0,
    };
  }

  read(position: BackupPosition | undefined): Result<Read<BackupPage>, FailureOf<"cursor_expired">> {
    const { events, environments, graveyard, operators } = this.#stores;
    const begun = positionIn(events, position);
    if (!begun.ok) return begun;
    const page = new OpenPage();
    if (!position) page.add({ kind: "header", record: { takenAt: Date.now(), schema: this.#schema } }, 0);
    let { counts } = begun.value;
    const take = (kind: string, items: { item: BackupItem; id: number; bytes: number }[]): boolean => {
      for (const { item, id, bytes } of items) {
        if (page.items.length >= BACKUP_ROWS_MAX || page.bytes > LIST_BYTES_MAX) return false;
        page.add(item, bytes);
        counts = { ...counted(counts, kind), [afterOf(kind)]: id };
      }
      return items.length < BACKUP_ROWS_MAX;
    };
    const after = (kind: string) => counts[afterOf(kind)] ?? 0;
    const isComplete =
      take(
        "environments",
        environments
          .page(after("environments") + 1, BACKUP_ROWS_MAX)
          .map((record) => ({ item: { kind: "environment", record }, id: record.id, bytes: 200 })),
      ) &&
      take(
        "tombstones",
        graveyard
          .page(after("tombstones"), BACKUP_ROWS_MAX)
          .map((record) => ({ item: { kind: "tombstone", record }, id: record.id, bytes: 200 })),
      ) &&
      take(
        "events",
        events
          .page(after("events"), BACKUP_ROWS_MAX)
          .map((record) => ({ item: { kind: "event", record }, id: record.id, bytes: bytesOfEvent(record) })),
      );
    const share = Math.min(1, page.items.length / BACKUP_ROWS_MAX);
    if (!isComplete) return ok({ page: { items: page.items, next: { ...begun.value, counts } }, share });
    const all = operators.page(0, Number.MAX_SAFE_INTEGER);
    for (const record of all) page.add({ kind: "operator", record }, 0);
    const { environments: known = 0, tombstones = 0, events: changes = 0 } = counts;
    const footer = { operators: all.length, environments: known, tombstones, events: changes };
    page.add({ kind: "footer", record: footer }, 0);
    return ok({ page: { items: page.items, next: null }, share });
  }
}

/** The name under which a position has the last row of a table. */
const afterOf = (kind: string): string => `after_${kind}`;
