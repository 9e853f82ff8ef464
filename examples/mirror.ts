/** Keeps a copy of an environment's user groups in step with the service. */
import {
  type CallOptions,
  type ListedGroup,
  type UserGroupClient,
  UserGroupServiceError,
} from "../src/client/index.ts";

const hasCode = (error: unknown, code: string) => error instanceof UserGroupServiceError && error.code === code;

/** Fills `copy`, by `teamId`, and keeps it in step until the signal is aborted. */
export async function mirror(client: UserGroupClient, copy: Map<number, ListedGroup>, options: CallOptions) {
  for (;;) {
    try {
      // The cursor comes first: a change that is made during the list is then in the list, in the events, or in both.
      const cursor = await client.latestEventCursor(options);
      const listed = await collect(client, options);
      copy.clear();
      for (const [teamId, group] of listed) copy.set(teamId, group);
      for await (const { group } of client.follow({ cursor, pollMs: 1_000 }, options))
        if (group) await refresh(client, copy, group.teamId, options);
    } catch (error) {
      // Events were missed, or the environment is another one now. List everything again.
      if (!hasCode(error, "cursor_expired")) throw error;
    }
  }
}

async function collect(client: UserGroupClient, options: CallOptions) {
  const groups = new Map<number, ListedGroup>();
  for await (const group of client.list({ pageSize: 1000 }, options)) groups.set(group.teamId, group);
  return groups;
}

/** Reads the group as it is now: an event says that it changed, and not to what. */
async function refresh(client: UserGroupClient, copy: Map<number, ListedGroup>, teamId: number, options: CallOptions) {
  try {
    copy.set(teamId, await client.get({ teamId }, options));
  } catch (error) {
    if (!hasCode(error, "user_group_not_found")) throw error;
    copy.delete(teamId);
  }
}
