import * as z from "zod";
import { CONTENT, GROUP_FIELDS, type GroupField } from "../../../../common/content.ts";
import { PROPERTIES_BYTES_MAX, PROPERTIES_DEPTH_MAX } from "../../../../common/limits.ts";
import { component, content, DONE, EXAMPLE_TOKEN, field, number, Tag } from "../../openapi/fields.ts";
import type { Operation, Operations } from "../../openapi/operation.ts";
import { describeFields, graceOf } from "../../openapi/request-fields.ts";
import { EnsureBody, type getBody, type postBody, type putBody, RemoveBody, RotateBody, UpdateBody } from "./wire.ts";

const Token = field(
  z.string(),
  "The credential to embed in dashboards. It shows nothing but this group.",
  EXAMPLE_TOKEN,
);

const Properties = field(z.record(z.string(), z.unknown()).nullable(), "The properties as you gave them, or null.", {
  region: "eu",
  plans: ["pro"],
});

const Named = {
  team_id: number("The service's own number of the group, never given twice."),
  name: field(z.string(), "The group's name.", "Acme Inc."),
  provided_id: field(z.string(), "Your own id of the group.", "acme"),
};
/** The token is absent where the key may not read it. */
const Common = { ...Named, token: z.exactOptional(Token) };

/** The fields of a group as its viewers see it. Lists add more. */
export const SeenGroup = {
  ...Named,
  properties: Properties,
  mapping: field(z.record(z.string(), z.string()).nullable(), "From schema ids to data sources, or null.", {
    sales: "warehouse-7",
  }),
  api_environment_tag: Tag,
};

const GroupWithToken = component("GroupWithToken", "A group, with its token where the key may read it.", {
  ...Common,
  properties: Properties,
}) satisfies z.ZodType<ReturnType<typeof getBody>>;

const UpdatedGroup = component("UpdatedGroup", "A group after an update.", {
  ...Common,
  properties: Properties,
  api_environment_tag: Tag,
}) satisfies z.ZodType<ReturnType<typeof putBody>>;

const RotatedGroup = component("RotatedGroup", "A group after the rotation of its token.", {
  ...Common,
  api_environment_tag: Tag,
}) satisfies z.ZodType<ReturnType<typeof postBody>>;

/** What a request says of each field. */
const ABOUT: Record<GroupField, string> = {
  name: "The group's name. A new group without one takes its id for a name.",
  mapping: "From the ids of your schemas to data sources.",
  properties: `Any JSON object, of ${PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most.`,
};

function aboutOf(field: GroupField, isPatch: boolean): string {
  const { column, kind, isNullable } = CONTENT[field];
  if (kind === "text") return isNullable ? `${ABOUT[field]} null clears it.` : ABOUT[field];
  if (!isPatch) return `${ABOUT[field]} Replaced whole; null clears it.`;
  const part = kind === "mapping" ? "an entry" : "a key";
  return `Merged into the ${column}: null removes ${part}; null in place of the object clears all.`;
}

/** What the document says of the content of a group in a body; as a patch, of a merge patch (RFC 7396). */
const contentAbout = (isPatch: boolean) =>
  Object.fromEntries(GROUP_FIELDS.map((field) => [CONTENT[field].column, aboutOf(field, isPatch)]));

/** What it says of the fields of an update. */
export const changesAbout = (isPatch: boolean) => ({
  ...contentAbout(isPatch),
  new_user_group_id: "Renames the group, which keeps its token. The id decides whose data the token shows.",
  suspended: "With true, the group's viewers are refused until a false; nothing else changes.",
});

const CURRENT_TOKEN = "The user group's current token, from GET or from the last rotation.";

const ENSURE = {
  body: {
    name: "EnsureBody",
    schema: describeFields(EnsureBody(), contentAbout(false)),
    example: {
      user_group_id: "acme",
      name: "Acme Inc.",
      mapping: { sales: "warehouse-7" },
      properties: { region: "eu", plans: ["pro"] },
    },
  },
  refusals: ["user_group_not_found"],
} satisfies Partial<Operation>;

const ENSURED = {
  content: content("Ensured", {
    new_user_group: field(z.boolean(), "Whether this call has created the group.", true),
    user_group: field(GroupWithToken, "The group."),
  }),
  headers: ["ETag"],
};

/** The call that does the same as GET /api/user. */
export const createUserGroup: Operation = {
  ...ENSURE,
  id: "createUserGroup",
  summary: "Create a user group, or get it",
  description:
    "The same as GET /api/user, for clients that send no body with a GET. Creates the user group with this id, or gets it if it " +
    "exists, and then changes nothing. An API key without `groups:write` creates none, and one without `tokens:read` gets no " +
    "`token`.",
  answer: {
    ...ENSURED,
    status: 201,
    description: "The new group.",
    foundDescription: "The group, which exists already and is not changed.",
  },
};

/** The calls on one user group. */
export const userGroupOperations = {
  "GET /api/user": {
    id: "ensureUserGroup",
    summary: "Get or create a user group",
    description:
      "Gets the user group with this id, or creates it if there is none. An existing group is not changed, whatever else the " +
      "body contains. An API key without `groups:write` creates none, and one without `tokens:read` gets no `token`.\n\n" +
      "This GET has a body. HTTP defines no meaning for such a body (RFC 9110, section 9.3.1), and `fetch` and some proxies " +
      "refuse or drop it. Then send the same body with `POST /api/user_groups`. A GET whose body was lost gets " +
      "`body_required` and creates nothing. Send a Content-Length, not chunks.",
    ...ENSURE,
    answer: { ...ENSURED, description: "The group, and whether this call has created it." },
  },
  "PUT /api/user": {
    id: "updateUserGroup",
    summary: "Change a user group",
    description: "Changes only the fields that you send. `new_user_group_id` renames the group.",
    headers: ["If-Match"],
    body: {
      name: "UpdateBody",
      schema: describeFields(UpdateBody(), changesAbout(false)),
      example: { user_group_id: "acme", properties: { region: "us", plans: ["pro"] } },
    },
    answer: {
      description: "The group as it is now.",
      content: content("Updated", { user_group: field(UpdatedGroup, "The group.") }),
      headers: ["ETag"],
    },
    refusals: ["user_group_not_found", "user_group_id_taken"],
  },
  "POST /api/user": {
    id: "rotateToken",
    summary: "Rotate a token",
    description:
      "Replaces the current token by a new one, which the answer shows. From the answer on the old one is refused, except for viewers within the grace. " +
      "It creates no group: `POST /api/user_groups` does.\n\n" +
      "With the header `X-HTTP-Method-Override: GET`, `PUT` or `DELETE`, a POST is a call of that method instead, with its body and " +
      "its answer, for clients and proxies that send no body with it.",
    headers: ["Idempotency-Key", "If-Match"],
    body: {
      name: "RotateBody",
      schema: describeFields(RotateBody(), { current_token: CURRENT_TOKEN, grace_seconds: graceOf("token") }),
      example: { current_token: EXAMPLE_TOKEN, grace_seconds: 3600 },
    },
    answer: {
      description: "The group with its new token.",
      content: content("Rotated", { user_group: field(RotatedGroup, "The group.") }),
      headers: ["ETag", "Idempotent-Replayed"],
    },
    refusals: ["user_group_not_found", "method_not_allowed", "token_superseded"],
  },
  "DELETE /api/user": {
    id: "removeUserGroup",
    summary: "Delete a user group",
    description:
      "Deletes the group whose current token you give. If a guard does not match, nothing is deleted. If a client or proxy drops " +
      "the body of a DELETE, send it with `POST /api/user` and the header `X-HTTP-Method-Override: DELETE`.",
    destroys:
      "The group's viewers are refused from the answer on. Until `purge_at` it can be restored; then it is erased.",
    headers: ["Idempotency-Key", "If-Match"],
    body: {
      name: "RemoveBody",
      schema: describeFields(RemoveBody(), {
        current_token: CURRENT_TOKEN,
        user_group_id: "A guard: the id that the group must have.",
        data_source_provided_id: "A guard: a data source that the group's mapping must lead to.",
      }),
      example: { current_token: EXAMPLE_TOKEN, user_group_id: "acme" },
    },
    answer: { description: "The group is deleted.", content: DONE, headers: ["Idempotent-Replayed"] },
    refusals: ["user_group_not_found", "token_superseded", "user_group_mismatch"],
  },
} satisfies Operations;
