import * as z from "zod/mini";
import { EVENTS_DEFAULT } from "../../../../common/limits.ts";
import { millisecondsFrom } from "../../../../common/rfc-3339.ts";
import { type ActorFilter, changedIn } from "../../../domain/feed/event.ts";
import { EVENT_TYPES, type StoredEvent } from "../../../records.ts";
import { Label, lazy, limitField, refuseValue, time, transformed } from "../fields.ts";

const ACTOR = /^(?:(api_key|operator):([1-9]\d{0,14})|(operator):bootstrap|(system))$/;

/** A time, parsed to milliseconds since 1970. */
export const Since = lazy(() =>
  transformed(z.string(), (text, payload) => {
    const since = millisecondsFrom(text);
    if (!Number.isNaN(since)) return since;
    return refuseValue(payload, "Give a time such as 2026-01-31T09:00:00Z. Write a plus sign as %2B.");
  }),
);

/** An actor, such as `api_key:3`, parsed to a filter of events. */
export const ActorQuery = lazy(() =>
  transformed(z.string(), (text, payload): ActorFilter => {
    const [, kind, id, operator, system] = ACTOR.exec(text) ?? [];
    if (kind === "api_key" || kind === "operator") return { kind, id: Number(id) };
    if (operator) return { kind: "operator", id: null };
    if (system) return { kind: "system", id: null };
    return refuseValue(payload, "Give an actor such as api_key:3, operator:1, operator:bootstrap or system.");
  }),
);

/** GET /api/events */
export const EventsQuery = lazy(() =>
  z
    .strictObject({
      cursor: z.optional(z.string()),
      limit: limitField(EVENTS_DEFAULT),
      type: z.optional(z.enum(EVENT_TYPES, "Give a type of event, such as user_group.updated.")),
      user_group_id: z.optional(Label()),
      actor: z.optional(ActorQuery()),
      since: z.optional(Since()),
      include: z.optional(z.enum(["user_groups"], "Give user_groups, or leave it out.")),
    })
    .check(
      z.check((payload) => {
        const { since, cursor } = payload.value;
        if (since !== undefined && cursor !== undefined)
          refuseValue(payload, "Give a cursor or since, not both.", ["since"]);
      }),
    ),
);

/** An event. Its group, key, operator or environment stands under its own name, and only where the event has one. */
export const eventBody = ({ id, at, type, actor, requestId, teamId, providedId, details }: StoredEvent) => ({
  id,
  at: time(at),
  type,
  actor,
  request_id: requestId,
  ...(teamId !== null && { user_group: { team_id: teamId, provided_id: providedId } }),
  ...details,
  ...(details.changed && { changed: changedIn(details).fields }),
});
