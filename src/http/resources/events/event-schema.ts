import * as z from "zod";
import { EVENT_TYPES } from "../../../records.ts";
import { number, time } from "../../openapi/fields.ts";
import type { eventBody } from "./wire.ts";

/** An event and its actor, for the OpenAPI document alone. */

export const Actor = z
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

export const Event = z
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
