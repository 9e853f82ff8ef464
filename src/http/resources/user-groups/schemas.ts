import * as z from "zod/mini";
import {
  BODY_BYTES_MAX,
  MAPPING_ENTRIES_MAX,
  PROPERTIES_BYTES_MAX,
  PROPERTIES_DEPTH_MAX,
  TEXT_UNITS_MAX,
} from "../../../../common/limits.ts";
import { isObject } from "../../../domain/json.ts";
import { entriesRefusal } from "../../../domain/user-groups/content-bounds.ts";
import type { UserGroupDraft } from "../../../domain/user-groups/user-group.ts";
import {
  Grace,
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

/** Refuses too many entries, and entries that are not text. In a patch, null removes an entry, and the directory counts the rest. */
function checkEntries(payload: Payload, mapping: object, isPatch: boolean): void {
  const entries = Object.entries(mapping);
  const message = isPatch ? undefined : entriesRefusal(entries.length);
  if (message) refuseValue(payload, message);
  for (const [key, dataSource] of entries) {
    if (!isText(key)) refuseValue(payload, `Let the key be ${TEXT_DESCRIPTION}.`, [key]);
    const isRemoved = isPatch && dataSource === null;
    if (!isRemoved && !isText(dataSource)) refuseValue(payload, `Give ${TEXT_DESCRIPTION}.`, [key]);
  }
}

// Checked by hand rather than with z.record, which drops a key named __proto__.
const MappingOf = (isPatch: boolean) =>
  withMeta(
    z.pipe(
      z.unknown(),
      z.transform((value: unknown, payload: Payload) => {
        if (!isObject(value)) {
          refuseValue(payload, "Give an object from schema ids to data source ids, or null.");
          return z.NEVER;
        }
        checkEntries(payload, value, isPatch);
        return JSON.stringify(value);
      }),
    ),
    {
      type: "object",
      ...(!isPatch && { maxProperties: MAPPING_ENTRIES_MAX }),
      propertyNames: { minLength: 1, maxLength: TEXT_UNITS_MAX },
      additionalProperties: { type: isPatch ? ["string", "null"] : "string", minLength: 1, maxLength: TEXT_UNITS_MAX },
    },
  );

/** A whole mapping, as JSON text. */
export const Mapping = lazy(() => MappingOf(false));

const Name = lazy(() =>
  withMeta(z.optional(Label()), {
    description: "The group's name. A new group without one takes its id for a name.",
  }),
);

const GroupFields = lazy(
  () =>
    ({
      name: Name(),
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

/** The same fields of a merge patch (RFC 7396). The directory checks the bounds of what they merge to: only it has the group. */
const PatchFields = lazy(
  () =>
    ({
      name: Name(),
      mapping: withMeta(z.nullish(MappingOf(true)), {
        description: "Merged into the mapping: null removes an entry; null in place of the object clears all.",
      }),
      properties: withMeta(z.nullish(JsonObject(BODY_BYTES_MAX, "properties", true)), {
        description: "Merged into the properties: null removes a key; null in place of the object clears all.",
      }),
    }) satisfies Record<keyof ReturnType<typeof GroupFields>, z.ZodMiniType>,
);

const changesOf = <Fields extends object>(fields: Fields) => ({
  new_user_group_id: withMeta(z.optional(Label()), {
    description: "Renames the group, which keeps its token. The id decides whose data the token shows.",
  }),
  ...fields,
  suspended: withMeta(z.optional(z.boolean({ error: "Give true or false." })), {
    description: "With true, the group's viewers are refused until a false; nothing else changes.",
  }),
});

/** The fields of an update. */
export const Changes = lazy(() => changesOf(GroupFields()));
/** The fields of an update by a merge patch. */
export const Patch = lazy(() => changesOf(PatchFields()));

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
