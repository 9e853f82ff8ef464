import { ENDED_SESSIONS_MAX, KEYS_PER_ENVIRONMENT_MAX, NUMBERS_SKIPPED_BY_RESTORE } from "../../../common/limits.ts";
import type { TombstoneStore } from "../../storage/tombstone-store.ts";
import type { BackupItem } from "./backup.ts";
import type { DirectoryStores } from "./directory-backup.ts";
import { checkCounts, checkRoom, type RestorePage, type RestoreTarget, UnfitLine } from "./restore.ts";

/** Restores an environment's backup into the stores of its directory. */
export function directoryTarget(
  { groups, keys, events, endedSessions }: DirectoryStores,
  tombstones: TombstoneStore,
): RestoreTarget {
  const putGroup = (record: Extract<BackupItem, { kind: "user_group" }>["record"], skipped: number[]) => {
    if (skipped.includes(record.teamId)) tombstones.noteSkipped(record.teamId);
    else groups.put(record);
  };

  return {
    isEmpty: () => keys.count() === 0 && groups.isEmpty(),
    isUnchanged: () => !events.hasAfterRestore(),
    begin: () => groups.setUniqueIds(false),

    put(item: BackupItem, { skipped }: RestorePage): void {
      if (item.kind === "user_group") putGroup(item.record, skipped);
      else if (item.kind === "api_key") keys.put(item.record);
      else if (item.kind === "ended_session") endedSessions.put(item.record);
      else if (item.kind === "event") {
        const { type, teamId } = item.record;
        events.put(item.record);
        if (type !== "user_group.purged" || teamId === null) return;
        groups.drop(teamId);
        tombstones.deleteSkipped(teamId);
      } else if (item.kind !== "header") throw new UnfitLine(`No environment has a line of the kind ${item.kind}.`);
    },

    finish(footer, counts, { rotateTokens, revokeKeys }): void {
      const skipped = tombstones.skipped();
      checkRoom("API keys", keys.count(), KEYS_PER_ENVIRONMENT_MAX);
      checkRoom("ended sessions", endedSessions.count(), ENDED_SESSIONS_MAX);
      checkCounts(footer, {
        groups: groups.count() + skipped.count,
        api_keys: counts.api_key ?? 0,
        events: counts.event ?? 0,
        ended_sessions: counts.ended_session ?? 0,
      });
      groups.setUniqueIds(true);
      const now = Date.now();
      if (rotateTokens) groups.rotateAll(now);
      if (revokeKeys) keys.revokeAll(now);
      const highest = Math.max(groups.highestTeamId(), events.highestTeamId(), skipped.highest);
      groups.setLastTeamId(highest + NUMBERS_SKIPPED_BY_RESTORE - 1);
      keys.setLastId(keys.highestId() + NUMBERS_SKIPPED_BY_RESTORE - 1);
      events.setLastId(events.newestId() + NUMBERS_SKIPPED_BY_RESTORE - 1);
      tombstones.deleteAllSkipped();
    },
  };
}
