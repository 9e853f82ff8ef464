import { KEYS_PER_ENVIRONMENT_MAX } from "../../common/limits.ts";
import { undoMsOf } from "../../common/settings/settings.ts";
import { EndedSessionStore } from "../storage/ended-session-store.ts";
import { EventStore } from "../storage/event-store.ts";
import { GroupStore } from "../storage/group-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { Schema } from "../storage/migrations.ts";
import { DIRECTORY_MIGRATIONS } from "../storage/schema.ts";
import { TombstoneStore } from "../storage/tombstone-store.ts";
import { directoryTarget } from "./backup/directory-backup.ts";
import { Restore } from "./backup/restore.ts";
import { Chores } from "./chores.ts";
import { Keys } from "./credentials/keys.ts";
import { ChangeLog } from "./feed/change-log.ts";
import { registryStub } from "./placement.ts";
import { EndedSessions } from "./user-groups/ended-sessions.ts";
import { Groups } from "./user-groups/groups.ts";
import { RepeatableChanges } from "./user-groups/repeatable-changes.ts";
import { Responses } from "./user-groups/responses.ts";
import { Tombstones } from "./user-groups/tombstones.ts";
import { ViewerSessions } from "./user-groups/viewer-sessions.ts";

/** What a directory is made of. All that it has in memory of its database is in here, so erasing replaces the whole. */
export type DirectoryParts = ReturnType<typeof directoryPartsOf>;

export function directoryPartsOf(ctx: DurableObjectState, env: Env) {
  const { sql } = ctx.storage;
  const tombstoneStore = new TombstoneStore(sql);
  const stores = {
    groups: new GroupStore(sql),
    keys: new KeyStore(sql, "api_keys"),
    events: new EventStore(sql),
    endedSessions: new EndedSessionStore(sql),
  };
  const changes = new ChangeLog(ctx.storage, env, (dueAt) => chores.schedule(dueAt));
  const responses = new Responses(sql, stores.groups, changes);
  const schema = new Schema(ctx.storage, DIRECTORY_MIGRATIONS);
  const groups = new Groups({ store: stores.groups, tombstones: tombstoneStore }, changes, responses, undoMsOf(env));
  const keys = new Keys("api_key", stores.keys, changes, KEYS_PER_ENVIRONMENT_MAX);
  const ended = new EndedSessions(sql, changes);
  const tombstones = new Tombstones(tombstoneStore, (purged) => registryStub(env).bury(ctx.id.name ?? "", purged));
  const chores: Chores = new Chores(
    [responses.purge, changes.purge, groups.purgeDue, responses.purgeEnded, ended.sweep, tombstones.chore],
    (time) => void ctx.waitUntil(ctx.storage.setAlarm(time)),
  );
  return {
    stores,
    schema,
    groups,
    keys,
    repeatable: new RepeatableChanges(groups, responses),
    sessions: new ViewerSessions({ groups, keys, changes, ended }),
    ended,
    changes,
    chores,
    tombstones,
    restore: new Restore(ctx.storage, schema, directoryTarget(stores, tombstoneStore)),
  };
}
