import * as z from "zod/mini";
import { GROUP_STATES } from "../../../records.ts";
import { Grace, Label, lazy, type Payload, pageFields, Reason, refuseValue, withMeta } from "../fields.ts";
import { Changes, Patch } from "../user-groups/schemas.ts";

/** PUT /api/user_groups/{team_id} */
export const UpdateByNumberBody = lazy(() => z.strictObject({ ...Changes(), reason: Reason() }));

/** PUT /api/user_groups/{team_id} with a merge patch (RFC 7396) */
export const PatchByNumberBody = lazy(() => z.strictObject({ ...Patch(), reason: Reason() }));

/** POST /api/user_groups/{team_id}/rotate */
export const RotateByNumberBody = lazy(() => z.strictObject({ grace_seconds: Grace("token"), reason: Reason() }));

/** POST /api/user_groups/{team_id}/restore */
export const RestoreBody = lazy(() =>
  z.strictObject({
    new_user_group_id: withMeta(z.optional(Label()), {
      description: "The id that the restored group gets, if another group has its own now.",
    }),
    rotate_token: withMeta(z._default(z.boolean({ error: "Give true or false." }), false), {
      description: "With true, the group gets a new token, and the old one stays revoked.",
    }),
    reason: Reason(),
  }),
);

const STATE_MESSAGE = "Give active, suspended or deleted.";

/** GET /api/user_groups */
export const ListQuery = lazy(() =>
  z.pipe(
    z.strictObject({
      ...pageFields("groups"),
      user_group_id: withMeta(z.optional(Label()), {
        description: "Only the group with exactly this id. Not together with a prefix, a cursor or state=deleted.",
      }),
      user_group_id_prefix: withMeta(z.optional(Label()), {
        description:
          "Only ids that start with this text, compared character by character. The list is then in the order of ids.",
      }),
      state: withMeta(z.optional(z.enum(GROUP_STATES, { error: STATE_MESSAGE })), {
        description:
          "Only groups in this state. Deleted groups are listed only with state=deleted, and not together with a prefix.",
      }),
    }),
    z.transform(
      ({ cursor, limit, state, user_group_id: providedId, user_group_id_prefix: prefix }, payload: Payload) => {
        const isOfDeleted = state === "deleted";
        if (providedId !== undefined)
          refuseBeside(payload, { cursor, user_group_id_prefix: prefix, state: isOfDeleted });
        else if (cursor && cursor.prefix !== prefix)
          refuseValue(payload, "Give the same user_group_id_prefix on every page of one list.", ["cursor"]);
        else if (isOfDeleted && prefix !== undefined)
          refuseValue(payload, "Deleted groups are listed by number. Leave the prefix out.", ["user_group_id_prefix"]);
        return { start: cursor?.start, providedId, prefix, state, limit };
      },
    ),
  ),
);

/** Refuses each field that is given beside a user_group_id. */
function refuseBeside(payload: Payload, fields: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(fields))
    if (value) refuseValue(payload, "Leave this field out where you give a user_group_id.", [name]);
}

/** GET /api/user_groups/{team_id} */
export const ShowQuery = lazy(() =>
  z.strictObject({
    state: withMeta(z.optional(z.enum(["deleted"], { error: "Give deleted, or leave the field out." })), {
      description: "With deleted, the group is looked for among the deleted ones.",
    }),
  }),
);
