import * as z from "zod/mini";
import { EVENTS_DEFAULT, SEARCH_UNITS_MAX } from "../../../../common/limits.ts";
import { DAY_FORMAT, dayOf } from "../../../domain/days.ts";
import { fold } from "../../../domain/search/folding.ts";
import { GROUP_STATES } from "../../../records.ts";
import {
  describeLength,
  Grace,
  isText,
  Label,
  lazy,
  limitField,
  type Payload,
  pageFields,
  Reason,
  refuseValue,
  transformed,
} from "../fields.ts";
import { Changes, Patch } from "../user-groups/wire.ts";

/** PUT /api/user_groups/{team_id} */
export const UpdateByNumberBody = lazy(() => z.strictObject({ ...Changes(), reason: Reason() }));

/** PUT /api/user_groups/{team_id} with a merge patch (RFC 7396) */
export const PatchByNumberBody = lazy(() => z.strictObject({ ...Patch(), reason: Reason() }));

/** POST /api/user_groups/{team_id}/rotate */
export const RotateByNumberBody = lazy(() => z.strictObject({ grace_seconds: Grace(), reason: Reason() }));

/** POST /api/user_groups/{team_id}/restore */
export const RestoreBody = lazy(() =>
  z.strictObject({
    new_user_group_id: z.optional(Label()),
    rotate_token: z._default(z.boolean("Give true or false."), false),
    reason: Reason(),
  }),
);

const STATE_MESSAGE = "Give active, suspended or deleted.";

const SEARCH_MESSAGE = `Give a text of ${describeLength(SEARCH_UNITS_MAX)}.`;

/** The text of a search. */
export const Search = lazy(() =>
  z.string().check(
    z.refine((text) => isText(text, SEARCH_UNITS_MAX), { error: SEARCH_MESSAGE, abort: true }),
    z.refine(
      (text) => fold(text) !== "",
      "This search consists of accents alone, without which names and ids are compared. Add a letter.",
    ),
  ),
);

/** Whether the text is a day of the calendar. `Date` takes days that a month does not have. */
const isDay = (text: string): boolean =>
  DAY_FORMAT.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;

/** A day in UTC. */
const Day = lazy(() => z.string().check(z.refine(isDay, "Give a day such as 2026-10-01.")));

/** GET /api/user_groups */
export const ListQuery = lazy(() =>
  transformed(
    z.strictObject({
      ...pageFields(),
      user_group_id: z.optional(Label()),
      user_group_id_prefix: z.optional(Label()),
      search: z.optional(Search()),
      last_viewed_before: z.optional(Day()),
      state: z.optional(z.enum(GROUP_STATES, STATE_MESSAGE)),
    }),
    (fields, payload) => {
      const { cursor, limit, state, search, last_viewed_before: lastViewedBefore } = fields;
      const { user_group_id: providedId, user_group_id_prefix: prefix } = fields;
      const isOfDeleted = state === "deleted";
      const others = { search, user_group_id_prefix: prefix, last_viewed_before: lastViewedBefore };
      if (providedId !== undefined) refuseBeside("user_group_id", payload, { cursor, ...others, state: isOfDeleted });
      else if (search !== undefined && prefix !== undefined)
        refuseBeside("search", payload, { user_group_id_prefix: prefix });
      // Deleted groups with a prefix are in the order of numbers, and their cursors have no prefix.
      else if (cursor && cursor.prefix !== (isOfDeleted ? undefined : prefix))
        refuseValue(payload, "Give the same user_group_id_prefix on every page of one list.", ["cursor"]);
      // A cursor of 1.1 has no search.
      else if (cursor?.search !== undefined && cursor.search !== search)
        refuseValue(payload, "Give the same search on every page of one list.", ["cursor"]);
      return { start: cursor?.start, providedId, prefix, search, lastViewedBefore, state, limit };
    },
  ),
);

/** What is wrong with a cursor of another history. Only the path says of which group a history is. */
export const HISTORY_CURSOR_MESSAGE = "Give the next_cursor of the page before this one, as it came.";

/** GET /api/user_groups/{team_id}/events */
export const HistoryQuery = lazy(() =>
  z.strictObject({ cursor: z.optional(z.string()), limit: limitField(EVENTS_DEFAULT) }),
);

/** Refuses each field that is given beside another one. */
function refuseBeside(other: string, payload: Payload, fields: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(fields))
    if (value) refuseValue(payload, `Leave this field out where you give a ${other}.`, [name]);
}

/** GET /api/user_groups/{team_id} */
export const ShowQuery = lazy(() =>
  z.strictObject({ state: z.optional(z.enum(["deleted"], "Give deleted, or leave the field out.")) }),
);
