import * as z from "zod";
import { EVENT_TYPES } from "../../../records.ts";
import { number, page, Success, time } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { ListedGroup } from "../user-groups-by-number/openapi.ts";
import { EventsQuery } from "./schemas.ts";
import type { eventBody } from "./wire.ts";

const Actor = z
  .strictObject({
    kind: z
      .enum(["api_key", "operator", "system"])
      .meta({ description: "What made the change.", examples: ["api_key"] }),
    id: z
      .int()
      .nullable()
      .meta({ description: "The number of the key, or null.", examples: [1] }),
    name: z.string().meta({ description: "The name of the key or operator.", examples: ["backend"] }),
  })
  .meta({ id: "Actor", description: "Who makes a change." });

const Event = z
  .strictObject({
    id: number("The event's number, which rises from event to event.", 17),
    at: time("When the change was made."),
    type: z.enum(EVENT_TYPES).meta({ description: "What was changed.", examples: ["user_group.updated"] }),
    actor: Actor.meta({ description: "Who made the change." }),
    request_id: z
      .string()
      .meta({ description: "The X-Request-Id of the call.", examples: ["306fb79b-9ed8-482d-a39e-014f5a254811"] }),
    user_group: z.exactOptional(
      z
        .strictObject({
          team_id: number("The group's number.", 4),
          provided_id: z.string().meta({ description: "The group's id after the change.", examples: ["acme"] }),
        })
        .meta({ description: "The group of a change to a group." }),
    ),
    changed: z.exactOptional(
      z.array(z.string()).meta({ description: "The changed fields of an update.", examples: [["name", "properties"]] }),
    ),
    session_id: z.exactOptional(
      z.string().meta({
        description: "The id (`jti`) of the session that was ended.",
        examples: ["8e03978e-40d5-43dd-bc93-6894a57f9324"],
      }),
    ),
    viewer_id: z.exactOptional(
      z.string().meta({ description: "The person whose sessions were ended.", examples: ["ann"] }),
    ),
    reason: z.exactOptional(z.string().meta({ description: "Why, as the call has said.", examples: ["signed out"] })),
    previous_provided_id: z.exactOptional(
      z.string().meta({ description: "The id of a renamed group before the change.", examples: ["acme-old"] }),
    ),
    api_key: z.exactOptional(
      z
        .strictObject({
          id: number("The key's number."),
          name: z.string().meta({ description: "The key's name.", examples: ["backend"] }),
        })
        .meta({ description: "The key of a change to a key; of a roll, the old one." }),
    ),
    operator: z.exactOptional(
      z
        .strictObject({
          id: number("The operator's number."),
          name: z.string().meta({ description: "The operator's name.", examples: ["ada"] }),
        })
        .meta({ description: "The operator of a change to an operator; of a roll, the old key." }),
    ),
    environment: z.exactOptional(
      z
        .strictObject({
          workspace: z.string().meta({ description: "The integrating application.", examples: ["acme"] }),
          environment: z
            .string()
            .nullable()
            .meta({ description: "Its tag, or null.", examples: ["Testing"] }),
        })
        .meta({ description: "The environment of a change to an environment." }),
    ),
    successor_id: z.exactOptional(number("The number of the key that a roll has issued.", 2)),
    unsigned: z.exactOptional(
      z
        .literal(true)
        .meta({ description: "Of a restore that checked no signatures (`unsigned=true`).", examples: [true] }),
    ),
  })
  .meta({ id: "Event", description: "One change." }) satisfies z.ZodType<ReturnType<typeof eventBody>>;

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
