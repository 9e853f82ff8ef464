import * as z from "zod";
import { EVENT_TYPES } from "../../../records.ts";
import { component, field, number, optional, time } from "../../openapi/fields.ts";
import type { eventBody } from "./wire.ts";

/** An event and its actor, for the OpenAPI document alone. */

export const Actor = component("Actor", "Who makes a change.", {
  kind: field(z.enum(["api_key", "operator", "system"]), "What made the change.", "api_key"),
  id: field(z.int().nullable(), "The number of the key, or null.", 1),
  name: field(z.string(), "The name of the key or operator.", "backend"),
});

const Named = (what: string, example: string) =>
  z.strictObject({ id: number(`The ${what}'s number.`), name: field(z.string(), `The ${what}'s name.`, example) });

export const Event = component("Event", "One change.", {
  id: number("The event's number, which rises from event to event.", 17),
  at: time("When the change was made."),
  type: field(z.enum(EVENT_TYPES), "What was changed.", "user_group.updated"),
  actor: field(Actor, "Who made the change."),
  request_id: field(z.string(), "The X-Request-Id of the call.", "306fb79b-9ed8-482d-a39e-014f5a254811"),
  user_group: optional(
    z.strictObject({
      team_id: number("The group's number.", 4),
      provided_id: field(z.string(), "The group's id after the change.", "acme"),
    }),
    "The group of a change to a group.",
  ),
  changed: optional(z.array(z.string()), "The changed fields of an update.", ["name", "properties"]),
  session_id: optional(
    z.string(),
    "The id (`jti`) of the session that was ended.",
    "8e03978e-40d5-43dd-bc93-6894a57f9324",
  ),
  viewer_id: optional(z.string(), "The person whose sessions were ended.", "ann"),
  reason: optional(z.string(), "Why, as the call has said.", "signed out"),
  previous_provided_id: optional(z.string(), "The id of a renamed group before the change.", "acme-old"),
  api_key: optional(Named("key", "backend"), "The key of a change to a key; of a roll, the old one."),
  operator: optional(Named("operator", "ada"), "The operator of a change to an operator; of a roll, the old key."),
  environment: optional(
    z.strictObject({
      workspace: field(z.string(), "The integrating application.", "acme"),
      environment: field(z.string().nullable(), "Its tag, or null.", "Testing"),
    }),
    "The environment of a change to an environment.",
  ),
  successor_id: z.exactOptional(number("The number of the key that a roll has issued.", 2)),
  unsigned: optional(z.literal(true), "Of a restore that checked no signatures (`unsigned=true`).", true),
}) satisfies z.ZodType<ReturnType<typeof eventBody>>;
