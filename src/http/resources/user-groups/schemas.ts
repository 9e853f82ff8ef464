import * as z from "zod/mini";
import type { UserGroupDraft } from "../../../domain/user-groups/user-group.ts";
import { MAPPING_ENTRIES_MAX, PROPERTIES_BYTES_MAX, PROPERTIES_DEPTH_MAX, TEXT_UNITS_MAX } from "../../../limits.ts";
import {
  Grace,
  isObject,
  isText,
  JsonObject,
  Label,
  lazy,
  type Payload,
  ProvidedId,
  refuseValue,
  TEXT_DESCRIPTION,
  withMeta,
} from "../fields.ts";

const TOKEN_MESSAGE =
  "Give the current token of the user group. POST rotates it and DELETE deletes its group; GET creates a group.";

const Credential = lazy(() =>
  withMeta(z.string({ error: TOKEN_MESSAGE }).check(z.minLength(1, { error: TOKEN_MESSAGE })), {
    description: "The user group's current token, from GET or from the last rotation.",
  }),
);

// Checked by hand rather than with z.record, which drops a key named __proto__.
const Mapping = lazy(() =>
  withMeta(
    z.pipe(
      z.unknown(),
      z.transform((value: unknown, payload: Payload) => {
        if (!isObject(value)) {
          refuseValue(payload, "Give an object from schema ids to data source ids, or null.");
          return z.NEVER;
        }
        const entries = Object.entries(value);
        if (entries.length > MAPPING_ENTRIES_MAX) refuseValue(payload, `Give at most ${MAPPING_ENTRIES_MAX} entries.`);
        for (const [key, dataSource] of entries.slice(0, MAPPING_ENTRIES_MAX)) {
          if (!isText(key)) refuseValue(payload, `Let the key be ${TEXT_DESCRIPTION}.`, [key]);
          if (!isText(dataSource)) refuseValue(payload, `Give ${TEXT_DESCRIPTION}.`, [key]);
        }
        return JSON.stringify(value);
      }),
    ),
    {
      type: "object",
      maxProperties: MAPPING_ENTRIES_MAX,
      propertyNames: { minLength: 1, maxLength: TEXT_UNITS_MAX },
      additionalProperties: { type: "string", minLength: 1, maxLength: TEXT_UNITS_MAX },
    },
  ),
);

const GroupFields = lazy(
  () =>
    ({
      name: withMeta(z.optional(Label()), {
        description: "The group's name. A new group without one takes its id for a name.",
      }),
      mapping: withMeta(z.nullish(Mapping()), {
        description: "From the ids of your schemas to data sources. Replaced whole; null clears it.",
      }),
      properties: withMeta(z.nullish(JsonObject(PROPERTIES_BYTES_MAX, "properties", true)), {
        description: `Any JSON object, of ${PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most. Replaced whole; null clears it.`,
      }),
    }) satisfies Record<Exclude<keyof UserGroupDraft, "providedId">, z.ZodMiniType>,
);

/** GET /api/user, POST /api/user_groups */
export const EnsureBody = lazy(() => z.strictObject({ user_group_id: ProvidedId(), ...GroupFields() }));

export const Changes = lazy(() => ({
  new_user_group_id: withMeta(z.optional(Label()), {
    description: "Renames the group, which keeps its token. The id decides whose data the token shows.",
  }),
  ...GroupFields(),
  suspended: withMeta(z.optional(z.boolean({ error: "Give true or false." })), {
    description: "With true, the group's viewers are refused until a false; nothing else changes.",
  }),
}));

/** PUT /api/user */
export const UpdateBody = lazy(() => z.strictObject({ user_group_id: ProvidedId(), ...Changes() }));

/** POST /api/user */
export const RotateBody = lazy(() => z.strictObject({ current_token: Credential(), grace_seconds: Grace("token") }));

/** DELETE /api/user */
export const RemoveBody = lazy(() =>
  z.strictObject({
    current_token: Credential(),
    user_group_id: withMeta(z.optional(Label()), { description: "A guard: the id that the group must have." }),
    data_source_provided_id: withMeta(z.optional(z.string({ error: "Give the id of a data source, a string." })), {
      description: "A guard: a data source that the group's mapping must lead to.",
    }),
  }),
);
