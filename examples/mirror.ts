/** Keeps a copy of the user groups that exist in an environment, with their state, in step with the service. */
import {
  type CallOptions,
  type ListedGroup,
  type UserGroupClient,
  UserGroupServiceError,
} from "../src/client/index.ts";

type Copy = Map<ListedGroup["teamId"], ListedGroup>;

const hasCode = (error: unknown, code: string) => error instanceof UserGroupServiceError && error.code === code;

/** Fills `copy`, and keeps it in step until the signal is aborted. */
export async function mirror(client: UserGroupClient, copy: Copy, options: CallOptions): Promise<never> {
  for (;;) {
    try {
      // The cursor comes first, so that a change made during the list is in the list, in the events, or in both.
      const cursor = await client.latestEventCursor(options);
      await listInto(copy, client, options);
      for await (const { group } of client.follow({ cursor, pollMs: 1_000 }, options))
        if (group) await refresh(copy, group.teamId, () => client.get(group, options));
    } catch (error) {
      if (!hasCode(error, "cursor_expired")) throw error;
    }
  }
}

async function listInto(copy: Copy, client: UserGroupClient, options: CallOptions) {
  const listed = new Set<number>();
  for await (const group of client.list({ pageSize: 1_000 }, options)) {
    copy.set(group.teamId, group);
    listed.add(group.teamId);
  }
  for (const teamId of copy.keys()) if (!listed.has(teamId)) copy.delete(teamId);
}

/** Reads the group as it is now, which may be deleted or restored: an event does not hold the new values. */
async function refresh(copy: Copy, teamId: number, get: () => Promise<ListedGroup>) {
  try {
    copy.set(teamId, await get());
  } catch (error) {
    if (!hasCode(error, "user_group_not_found")) throw error;
    copy.delete(teamId);
  }
}
