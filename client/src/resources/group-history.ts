import { type CallOptions, type Connection, numberedPath, type Query } from "../transport/connection.ts";
import { type PageInput, pagedList } from "../transport/paged-list.ts";
import { type ChangeEvent, toChangeEvent } from "./event.ts";

/** The group whose events to get, by its number: one that exists, or that was deleted or purged. */
export type HistoryInput = PageInput & { teamId: number };

/** Some events of a group, newest first. A page may be empty; only one whose `nextCursor` is `null` is the last. */
export type HistoryPage = {
  events: ChangeEvent[];
  nextCursor: string | null;
  /** The time of the oldest event that the service has examined for this page, or `null` if there was none. */
  searchedBackTo: string | null;
};

/** The calls that read what has happened to one group. `environment` names the environment, where the credential does not. */
export function groupHistory(connection: Connection, environment: Query) {
  const eventsOf = (teamId: number) =>
    pagedList(connection, {
      path: `${numberedPath("/api/user_groups", "teamId", teamId)}/events`,
      field: "events",
      toItem: toChangeEvent,
    });
  return {
    /** Gets one page of a group's events, newest first. */
    async historyPage({ teamId, cursor, pageSize }: HistoryInput, options?: CallOptions): Promise<HistoryPage> {
      const { items, nextCursor, body } = await eventsOf(teamId).page({ cursor, pageSize }, options, environment);
      return { events: items, nextCursor, searchedBackTo: body.textOrNull("searched_back_to") };
    },

    /**
     * Yields the events of a group, newest first, also of a deleted or purged one. It requests pages as they are needed: leave the loop
     * once you have seen enough.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "with a history" });
     * await groups.suspendByNumber({ teamId: group.teamId, reason: "unpaid" });
     * for await (const { type, reason } of groups.history({ teamId: group.teamId })) console.info(type, reason);
     * // user_group.suspended unpaid
     * // user_group.created undefined
     */
    async *history(input: HistoryInput, options?: CallOptions): AsyncGenerator<ChangeEvent, void, undefined> {
      yield* eventsOf(input.teamId).items(input, options, environment);
    },
  };
}
