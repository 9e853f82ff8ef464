import * as z from "zod";
import { field, optional, page } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describeFields, EVENTS_LIMIT } from "../../openapi/request-fields.ts";
import { ListedGroup } from "../user-groups-by-number/openapi.ts";
import { Event } from "./event-schema.ts";
import { EventsQuery } from "./wire.ts";

const LISTED_EVENTS = page("ListedEvents", {
  events: field(z.array(Event), "One page of events, oldest first."),
  next_cursor: field(z.string(), "The cursor to poll with next.", "WzJd"),
  has_more: field(z.boolean(), "Whether there are more events now.", false),
  user_groups: optional(z.array(ListedGroup), "With `include`: the groups that these events name and that exist."),
});

/** The feed of changes. */
export const eventOperations = {
  "GET /api/events": {
    id: "listEvents",
    summary: "List the changes of an environment or of the deployment",
    description:
      "One event for each change, oldest first, without tokens, keys and values of `mapping` and `properties`. Poll with " +
      "`next_cursor`, which is always there. A page with a filter examines 1,000 events, so it may be empty and have more " +
      "after it. An operator who names no environment gets the changes of the deployment.",
    query: {
      schema: describeFields(EventsQuery(), {
        cursor:
          "The next_cursor of the page before, or `latest` for the cursor after the newest event; without it, the oldest event.",
        limit: EVENTS_LIMIT,
        type: "Only events of this type.",
        user_group_id: "Only events of the group with this id.",
        actor: "Only changes by this actor: `api_key:3`, `operator:1`, `operator:bootstrap` or `system`.",
        since: "Begins at this time (RFC 3339). Not with a cursor.",
        include: "`user_groups` adds the present state of the groups named. Needs `groups:read` too.",
      }),
      example: { limit: 10, type: "user_group.updated" },
    },
    answer: LISTED_EVENTS,
    refusals: ["cursor_expired"],
  },
} satisfies Operations;
