import * as z from "zod/mini";
import { EVENTS_DEFAULT } from "../../../limits.ts";
import { EVENT_TYPES } from "../../../records.ts";
import { Label, lazy, limitField, withMeta } from "../fields.ts";

/** GET /api/events */
export const EventsQuery = lazy(() =>
  z.strictObject({
    cursor: withMeta(z.optional(z.string()), {
      description:
        "The next_cursor of the page before, or `latest` for the cursor after the newest event; without it, the oldest event.",
    }),
    limit: limitField("events", EVENTS_DEFAULT),
    type: withMeta(z.optional(z.enum(EVENT_TYPES, { error: "Give a type of event, such as user_group.updated." })), {
      description: "Only events of this type.",
    }),
    user_group_id: withMeta(z.optional(Label()), { description: "Only events of the group with this id." }),
  }),
);
