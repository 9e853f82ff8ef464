import * as z from "zod";
import { page, Success } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { ListedGroup } from "../user-groups-by-number/openapi.ts";
import { Event } from "./event-schema.ts";
import { EventsQuery } from "./wire.ts";

const ListedEvents = z.strictObject({
  success: Success,
  events: z.array(Event).meta({ description: "One page of events, oldest first." }),
  next_cursor: z.string().meta({ description: "The cursor to poll with next.", examples: ["WzJd"] }),
  has_more: z.boolean().meta({ description: "Whether there are more events now.", examples: [false] }),
  user_groups: z.exactOptional(
    z.array(ListedGroup).meta({ description: "With `include`: the groups that these events name and that exist." }),
  ),
});

/** The feed of changes. */
export const eventOperations = {
  "GET /api/events": {
    id: "listEvents",
    tag: "Events",
    summary: "List the changes of an environment or of the deployment",
    description:
      "One event for each change, oldest first, without tokens, keys and values of `mapping` and `properties`. Poll with " +
      "`next_cursor`, which is always there. A page with a filter examines 1,000 events, so it may be empty and have more " +
      "after it. An operator who names no environment gets the changes of the deployment.",
    query: { schema: EventsQuery(), example: { limit: 10, type: "user_group.updated" } },
    answer: page("ListedEvents", ListedEvents),
    refusals: ["cursor_expired"],
  },
} satisfies Operations;
