import {
  DAY_MS,
  ENVIRONMENT_BYTES_MAX,
  GROUPS_COUNTED_MAX,
  KEY_ENDING_DAYS,
  KEY_UNUSED_DAYS,
  KEYS_PER_ENVIRONMENT_MAX,
} from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredKey } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import type { KeyStore } from "../../storage/key-store.ts";
import type { FailureOf } from "../failure.ts";
import { endingsOf, type ShownGroup } from "../feed/endings.ts";
import type { Read } from "../turns.ts";
import { toListedGroup } from "./user-group.ts";

/** A key that somebody should look at, and why. One that was rolled has a successor, so nobody has to. */
export type NoticedKey = Pick<StoredKey, "id" | "name"> & ({ unusedSince: number } | { endsAt: number });

/** How an environment is. Numbers of groups are counted up to a bound. */
export type EnvironmentOverview = {
  groups: number;
  deletedGroups: number;
  bytes: number;
  bytesMax: number;
  /** What is due first comes first. */
  keys: NoticedKey[];
  /** Nothing: the page of a Worker of 1.1 reads them. */
  changes: never[];
  hasMoreChanges: false;
};

/** A group, and who has suspended and deleted it. `events` is empty: a Worker of 1.2 reads it. */
export type InspectedGroup = { group: ShownGroup; events: never[] };

type Stores = { groups: GroupStore; keys: KeyStore; events: EventStore };

/** How an environment of so many bytes is at `now`. The read is bounded, at any size of the environment. */
export function readOverview(
  { groups, keys }: Pick<Stores, "groups" | "keys">,
  bytes: number,
  now: number,
): Read<EnvironmentOverview> {
  const noticed = keys.page(1, KEYS_PER_ENVIRONMENT_MAX).flatMap((key) => noticedIn(key, now));
  const page: EnvironmentOverview = {
    groups: groups.countUpTo("existing", GROUPS_COUNTED_MAX + 1),
    deletedGroups: groups.countUpTo("deleted", GROUPS_COUNTED_MAX + 1),
    bytes,
    bytesMax: ENVIRONMENT_BYTES_MAX,
    keys: noticed.toSorted((one, other) => timeOf(one) - timeOf(other)),
    changes: [],
    hasMoreChanges: false,
  };
  return { page, share: 1 };
}

/** A group, of those that exist or of the deleted ones. */
export function inspect(
  { groups, events }: Stores,
  teamId: number,
): Result<InspectedGroup, FailureOf<"user_group_not_found">> {
  const group = groups.findByTeamId(teamId) ?? groups.findDeleted(teamId);
  if (!group) return fail({ code: "user_group_not_found" });
  const listed = toListedGroup(group);
  return ok({ group: { ...listed, ...endingsOf(events, listed) }, events: [] });
}

const timeOf = (key: NoticedKey): number => ("endsAt" in key ? key.endsAt : key.unusedSince);

/** A valid key that ends soon, or that nobody has used for long. */
function noticedIn({ id, name, createdAt, expiresAt, lastUsedAt, revokedAt }: StoredKey, now: number): NoticedKey[] {
  const endsAt = expiresAt ?? Number.POSITIVE_INFINITY;
  if (endsAt <= now || revokedAt !== null) return [];
  if (endsAt <= now + KEY_ENDING_DAYS * DAY_MS) return [{ id, name, endsAt }];
  const unusedSince = lastUsedAt ?? createdAt;
  return unusedSince <= now - KEY_UNUSED_DAYS * DAY_MS ? [{ id, name, unusedSince }] : [];
}
