import { pause } from "../transport/abortable.ts";
import type { CallOptions, Connection, Query } from "../transport/connection.ts";
import { refuseUndefined } from "../transport/connection.ts";
import type { PageInput } from "../transport/paged-list.ts";
import type { ResponseBody } from "../transport/response-body.ts";
import { isTransient, milliseconds, OPTION_MS_MAX } from "../transport/retries.ts";
import { UserGroupServiceError } from "../transport/user-group-service-error.ts";
import { type Actor, actorOf } from "./caller.ts";
import { type Environment, toEnvironment } from "./environment.ts";
import { type ListedGroup, toListedGroup } from "./user-group.ts";

/** The types of this release's service. */
export type KnownEventType =
  | "user_group.created"
  | "user_group.updated"
  | "user_group.token_rotated"
  | "user_group.suspended"
  | "user_group.resumed"
  | "user_group.deleted"
  | "user_group.restored"
  | "user_group.purged"
  | "viewer_sessions.ended"
  | "api_key.issued"
  | "api_key.rolled"
  | "api_key.revoked"
  | "operator.issued"
  | "operator.rolled"
  | "operator.revoked"
  | "environment.created"
  | "environment.restored"
  | "environment.erased";

/** What happened, in the wire's words. A newer service may have more types than these, so skip those that you do not know. */
export type EventType = KnownEventType | (string & Record<never, never>);

/** One change in an environment, or in the deployment. It never holds a credential, or a value of `mapping` or `properties`. */
export type ChangeEvent = {
  /** Rises with each event of the feed; numbers may be missing. */
  id: number;
  /** ISO 8601 in UTC. */
  at: string;
  type: EventType;
  actor: Actor;
  /** The `X-Request-Id` of the call that made the change. */
  requestId: string;
  /** The group, with the id that it has after the change. */
  group?: { teamId: number; userGroupId: string };
  /** The fields that a PUT changed, in the wire's words, such as `provided_id` and `name`. */
  changed?: string[];
  /** The id before a rename, or before a restoration under another id. */
  previousUserGroupId?: string;
  /** The id of the session that was ended. */
  sessionId?: string;
  /** The person whose sessions were ended. */
  viewerId?: string;
  /** The `reason` of the call. */
  reason?: string;
  /** The key, of an event about a key. */
  apiKey?: { id: number; name: string };
  /** The operator, of an event about an operator. */
  operator?: { id: number; name: string };
  /** The environment, of an event about an environment. */
  environment?: Environment;
  /** The id of the key or operator that replaces a rolled one. */
  successorId?: number;
  /** Of a restore that checked no signatures. */
  unsigned?: true;
};

/** Some events, and the cursor from which to continue after them. */
export type EventPage = {
  /** Oldest first. With a filter it may be empty although `hasMore` is true. */
  events: ChangeEvent[];
  nextCursor: string;
  hasMore: boolean;
  /** With `includeGroups`: the present state of each group that the events name, once; not of deleted and purged ones. */
  groups?: ListedGroup[];
};

/** Selects events; all of them by default. Without a `cursor` they begin with the oldest event that is kept. */
export type EventsInput = PageInput & {
  /** Only events of this type. */
  type?: EventType;
  /** Only changes by `api_key:3`, `operator:1`, `operator:bootstrap` or `system`. */
  actor?: string;
  /** Begins with the first event at this time or later. Not together with a `cursor`. */
  since?: Date;
  /** With `true`, pages have `groups`. An API key needs `groups:read` for it. */
  includeGroups?: boolean | undefined;
  /** Only events of the group with this id, also those of its renames from and to this id. Not for the deployment's feed. */
  userGroupId?: string;
};

/** Selects the events to follow, and how often to request them. */
export type FollowInput = EventsInput & {
  /** The wait before the next request after the newest event; 5 seconds by default. A credential may get 600 pages a minute. */
  pollMs?: number | undefined;
  /** Is called with each temporary failure that `follow` survives, for a log. */
  onFailure?: ((error: UserGroupServiceError) => void) | undefined;
};

const POLL_MS = 5_000;
/** Half of the longest wait after the first failure, if `pollMs` is shorter. */
const BACKOFF_MS = 100;
/** The longest wait after failures, unless `pollMs` or the service's `Retry-After` is longer. */
const BACKOFF_MS_MAX = 60_000;

/** Reads one feed of events, page by page or event by event. */
export type FeedReader = ReturnType<typeof feedReader>;

/** The calls that read a feed. `feed` names it, where the credential does not. */
export function feedReader(connection: Connection, feed: Query = {}) {
  async function pageOf(input: EventsInput, options?: CallOptions): Promise<EventPage> {
    refuseUndefined(input, ["type", "userGroupId", "actor"]);
    // The pages after the first one follow their cursors.
    if (input.cursor === undefined) refuseUndefined(input, ["since"]);
    const { cursor, type, userGroupId, actor, since, includeGroups, pageSize } = input;
    const start = cursor === undefined ? since?.toISOString() : undefined;
    const include = includeGroups ? "user_groups" : undefined;
    const filters = { type, user_group_id: userGroupId, actor, since: start, include };
    const query = { ...feed, cursor, ...filters, limit: pageSize?.toString() };
    const { body, unexpected } = await connection.send({ method: "GET", path: "/api/events", query }, options);
    const page = toEventPage(body);
    if (page.hasMore && page.nextCursor === cursor) throw unexpected("leads to the same page again");
    return page;
  }

  async function* pagesOf({ pollMs = POLL_MS, onFailure, ...input }: FollowInput, options?: CallOptions) {
    milliseconds("pollMs", pollMs);
    let { cursor } = input;
    for (let failures = 0; ; ) {
      const page = await pageOf({ ...input, cursor }, options).catch(async (error: unknown) => {
        if (!isTemporary(error)) throw error;
        onFailure?.(error);
        failures += 1;
        await pause(waitMsAfter(failures, pollMs, error.retryAfterMs), options?.signal);
      });
      if (!page) continue;
      failures = 0;
      // The cursor moves on only after a page was received.
      cursor = page.nextCursor;
      yield page;
      options?.signal?.throwIfAborted();
      if (!page.hasMore) await pause(pollMs, options?.signal);
    }
  }

  return {
    /** Gets one page of events, oldest first. Keep `nextCursor`: later it leads to the events after it. */
    eventPage(input: EventsInput = {}, options?: CallOptions): Promise<EventPage> {
      return pageOf(input, options);
    },

    /**
     * Gets the cursor after the newest event.
     *
     * @example
     * const cursor = await groups.latestEventCursor();
     * await groups.ensure({ userGroupId: "after the cursor" });
     * const { events } = await groups.eventPage({ cursor, userGroupId: "after the cursor" });
     * console.info(events.map(({ type }) => type));
     * // [ 'user_group.created' ]
     */
    async latestEventCursor(options?: CallOptions): Promise<string> {
      return (await pageOf({ cursor: "latest" }, options)).nextCursor;
    },

    /**
     * Yields the events, oldest first, and ends after the newest. It requests pages as they are needed.
     *
     * @example
     * await groups.ensure({ userGroupId: "with events" });
     * await groups.suspend({ userGroupId: "with events" });
     * for await (const { type } of groups.events({ userGroupId: "with events" })) console.info(type);
     * // user_group.created
     * // user_group.suspended
     */
    async *events(input: EventsInput = {}, options?: CallOptions): AsyncGenerator<ChangeEvent, void, undefined> {
      for (let { cursor } = input; ; ) {
        const page = await pageOf({ ...input, cursor }, options);
        yield* eventsOf(page, options);
        if (!page.hasMore) return;
        cursor = page.nextCursor;
      }
    },

    /**
     * Yields the events, and waits for more after the newest, until its signal is aborted or the loop is left. Each event is
     * yielded once and in order, also if the service restarts: temporary failures (a lost connection, a timeout, a 429, 502,
     * 503, 504 or 52x) are retried with a growing wait. Other failures end it, such as `cursor_expired`.
     *
     * @example
     * await groups.ensure({ userGroupId: "followed" });
     * for await (const { type, group } of groups.follow({ userGroupId: "followed" })) {
     *   console.info(type, group?.userGroupId);
     *   break;
     * }
     * // user_group.created followed
     */
    async *follow(input: FollowInput = {}, options?: CallOptions): AsyncGenerator<ChangeEvent, void, undefined> {
      for await (const page of pagesOf(input, options)) yield* eventsOf(page, options);
    },

    /**
     * Yields pages as `follow` yields events. To continue after a restart of your own process, store `nextCursor` once you
     * have handled the page. A page may be empty.
     */
    followPages(input: FollowInput = {}, options?: CallOptions): AsyncGenerator<EventPage, void, undefined> {
      return pagesOf(input, options);
    },
  };
}

function* eventsOf({ events }: EventPage, options?: CallOptions): Generator<ChangeEvent, void, undefined> {
  for (const event of events) {
    yield event;
    options?.signal?.throwIfAborted();
  }
}

/** Whether a later try may succeed: too many calls, no connection, or a service that is not available for now. */
export const isTemporary = (error: unknown): error is UserGroupServiceError =>
  error instanceof UserGroupServiceError && isTransient(error);

/** A wait that doubles with each failure, with a random part, and is never shorter than what the service asks for. */
export function waitMsAfter(failures: number, pollMs: number, retryAfterMs = 0): number {
  const longest = Math.max(pollMs, BACKOFF_MS_MAX);
  const backoffMs = Math.min(longest, Math.max(pollMs, BACKOFF_MS) * 2 ** failures) * (0.5 + Math.random() / 2);
  return Math.min(OPTION_MS_MAX, Math.max(retryAfterMs, backoffMs));
}

const groupOf = (group: ResponseBody) => ({ teamId: group.number("team_id"), userGroupId: group.text("provided_id") });

const namedOf = (named: ResponseBody) => ({ id: named.number("id"), name: named.text("name") });

export function toChangeEvent(event: ResponseBody): ChangeEvent {
  return {
    id: event.number("id"),
    at: event.text("at"),
    type: event.text("type"),
    actor: actorOf(event.object("actor")),
    requestId: event.text("request_id"),
    ...(event.has("user_group") && { group: groupOf(event.object("user_group")) }),
    ...(event.has("session_id") && { sessionId: event.text("session_id") }),
    ...(event.has("viewer_id") && { viewerId: event.text("viewer_id") }),
    ...(event.has("reason") && { reason: event.text("reason") }),
    ...(event.has("changed") && { changed: event.texts("changed") }),
    ...(event.has("previous_provided_id") && { previousUserGroupId: event.text("previous_provided_id") }),
    ...(event.has("api_key") && { apiKey: namedOf(event.object("api_key")) }),
    ...(event.has("operator") && { operator: namedOf(event.object("operator")) }),
    ...(event.has("environment") && { environment: toEnvironment(event.object("environment")) }),
    ...(event.has("successor_id") && { successorId: event.number("successor_id") }),
    ...(event.has("unsigned") && { unsigned: event.oneOf("unsigned", [true]) }),
  };
}

const toEventPage = (body: ResponseBody): EventPage => ({
  events: body.objects("events").map(toChangeEvent),
  nextCursor: body.text("next_cursor"),
  hasMore: body.oneOf("has_more", [true, false]),
  ...(body.has("user_groups") && { groups: body.objects("user_groups").map(toListedGroup) }),
});
