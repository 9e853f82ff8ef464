import { OPERATORS_MAX } from "../../common/limits.ts";
import { ConsoleSessionStore } from "../storage/console-session-store.ts";
import { EnvironmentStore } from "../storage/environment-store.ts";
import { EventStore } from "../storage/event-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { Schema } from "../storage/migrations.ts";
import { REGISTRY_MIGRATIONS } from "../storage/schema.ts";
import { GraveyardStore } from "../storage/tombstone-store.ts";
import type { BackupPosition } from "./backup/backup.ts";
import { readRegistry, registryTarget } from "./backup/registry-backup.ts";
import { Restore } from "./backup/restore.ts";
import { Chores } from "./chores.ts";
import { ConsoleSessions } from "./credentials/console-sessions.ts";
import { Keys } from "./credentials/keys.ts";
import { Erasures } from "./erasures.ts";
import { ChangeLog } from "./feed/change-log.ts";
import { directoryStub } from "./placement.ts";

/** What the registry is made of. All that it has in memory of its database is in here, so erasing replaces the whole. */
export type RegistryParts = ReturnType<typeof registryPartsOf>;

export function registryPartsOf(ctx: DurableObjectState, env: Env) {
  const { sql } = ctx.storage;
  const schema = new Schema(ctx.storage, REGISTRY_MIGRATIONS);
  const stores = {
    operators: new KeyStore(sql, "operators"),
    environments: new EnvironmentStore(sql),
    graveyard: new GraveyardStore(sql),
    events: new EventStore(sql),
  };
  const changes = new ChangeLog(ctx.storage, env, (dueAt) => chores.schedule(dueAt));
  const erasures = new Erasures(stores.environments, (name) => directoryStub(env, name).erase());
  const chores: Chores = new Chores(
    [changes.purge, erasures.chore],
    (time) => void ctx.waitUntil(ctx.storage.setAlarm(time)),
  );
  return {
    ...stores,
    schema,
    operators: new Keys("operator", stores.operators, changes, OPERATORS_MAX),
    changes,
    consoleSessions: new ConsoleSessions(new ConsoleSessionStore(sql), changes),
    chores,
    erasures,
    backup: (position: BackupPosition | undefined) => readRegistry(stores, schema.number, position),
    restore: new Restore(ctx.storage, schema, registryTarget(stores)),
  };
}
