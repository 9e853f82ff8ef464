import type { ResponseBody } from "../transport/response-body.ts";
import { type Environment, toEnvironment } from "./environment.ts";

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
  | "api_key.issued"
  | "api_key.rolled"
  | "api_key.revoked"
  | "operator.issued"
  | "operator.rolled"
  | "operator.revoked"
  | "environment.created";

/** What happened, in the wire's words. A newer service may have more types than these, so skip those that you do not know. */
export type EventType = KnownEventType | (string & Record<never, never>);

/**
 * Who made a change. `id` is the number of an API key or an operator in their lists. It is `null` for the bootstrap token, and
 * for the kind `system`: the service itself, which erases deleted groups when their time has come.
 */
export type Actor = { kind: string; id: number | null; name: string };

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
  /** The key, of an event about a key. */
  apiKey?: { id: number; name: string };
  /** The operator, of an event about an operator. */
  operator?: { id: number; name: string };
  /** The environment, of an event about an environment. */
  environment?: Environment;
  /** The id of the key or operator that replaces a rolled one. */
  successorId?: number;
};

/** Some events, and the cursor from which to continue after them. */
export type EventPage = {
  /** Oldest first. With a filter it may be empty although `hasMore` is true. */
  events: ChangeEvent[];
  nextCursor: string;
  hasMore: boolean;
};

const groupOf = (group: ResponseBody) => ({ teamId: group.number("team_id"), userGroupId: group.text("provided_id") });

const namedOf = (named: ResponseBody) => ({ id: named.number("id"), name: named.text("name") });

const actorOf = (actor: ResponseBody): Actor => ({
  kind: actor.text("kind"),
  id: actor.numberOrNull("id"),
  name: actor.text("name"),
});

function toChangeEvent(event: ResponseBody): ChangeEvent {
  return {
    id: event.number("id"),
    at: event.text("at"),
    type: event.text("type"),
    actor: actorOf(event.object("actor")),
    requestId: event.text("request_id"),
    ...(event.has("user_group") && { group: groupOf(event.object("user_group")) }),
    ...(event.has("changed") && { changed: event.texts("changed") }),
    ...(event.has("previous_provided_id") && { previousUserGroupId: event.text("previous_provided_id") }),
    ...(event.has("api_key") && { apiKey: namedOf(event.object("api_key")) }),
    ...(event.has("operator") && { operator: namedOf(event.object("operator")) }),
    ...(event.has("environment") && { environment: toEnvironment(event.object("environment")) }),
    ...(event.has("successor_id") && { successorId: event.number("successor_id") }),
  };
}

export const toEventPage = (body: ResponseBody): EventPage => ({
  events: body.objects("events").map(toChangeEvent),
  nextCursor: body.text("next_cursor"),
  hasMore: body.oneOf("has_more", [true, false]),
});
