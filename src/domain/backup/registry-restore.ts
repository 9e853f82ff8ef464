import { NUMBERS_SKIPPED_BY_RESTORE, OPERATORS_MAX } from "../../../common/limits.ts";
import type { BackupItem } from "./backup.ts";
import type { RegistryStores } from "./registry-backup.ts";
import { checkCounts, checkRoom, type RestoreTarget, UnfitLine } from "./restore.ts";

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
