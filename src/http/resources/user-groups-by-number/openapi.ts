import * as z from "zod";
import { HISTORY_ROWS_MAX, SEARCH_ROWS_MAX, SEARCH_UNITS_MAX } from "../../../../common/limits.ts";
import { GROUP_STATES } from "../../../records.ts";
import {
  component,
  content,
  DONE,
  field,
  NextCursor,
  numberInPath,
  page,
  pageOrLast,
  time,
  timeOrNull,
} from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describe, describeFields, EVENTS_LIMIT, graceOf, pageOf } from "../../openapi/request-fields.ts";
import { Actor, Event } from "../events/event-schema.ts";
import { ReasonBody } from "../fields.ts";
import { changesAbout, createUserGroup, SeenGroup } from "../user-groups/openapi.ts";
import {
  HistoryQuery,
  ListQuery,
  PatchByNumberBody,
  RestoreBody,
  RotateByNumberBody,
  Search,
  ShowQuery,
  UpdateByNumberBody,
} from "./wire.ts";

export const ListedGroup = component("ListedGroup", "A group as lists show it, without its token.", {
  ...SeenGroup,
  state: field(z.enum(GROUP_STATES), "Whether viewers see the group, are refused, or find none.", "active"),
  suspended_at: z.exactOptional(time("Since when it is suspended; only of a suspended one.")),
  suspended_reason: z.exactOptional(
    field(z.string().nullable(), "Why it is suspended, or null; only of a suspended one.", "unpaid"),
  ),
  last_viewed_on: field(z.string().nullable(), "The day of the last view or session, in UTC, or null.", "2026-11-24"),
  created_at: time("When the group was created."),
  updated_at: time("When the group last changed. Suspending, resuming, deleting and restoring it do not count."),
  deleted_at: z.exactOptional(time("When the group was deleted; only of a deleted one.")),
  purge_at: z.exactOptional(time("Until when it can be restored; only of a deleted one.")),
});

const by = (description: string) => z.exactOptional(field(Actor.nullable(), description));

const ShownGroup = component("ShownGroup", "A group as calls by its number show it, without its token.", {
  ...ListedGroup.shape,
  suspended_by: by(
    "Who has suspended it, or null if its event is no longer kept; only of a suspended one, for callers who may read events.",
  ),
  deleted_by: by(
    "Who has deleted it, or null if its event is no longer kept; only of a deleted one, for callers who may read events.",
  ),
});

const HISTORY = page("History", {
  events: field(z.array(Event), "One page of the group's events, newest first."),
  next_cursor: NextCursor,
  searched_back_to: timeOrNull(
    "The time of the oldest event that was examined, of any group, or null if there is none.",
  ),
});

const TeamIdPath = z.strictObject({ team_id: numberInPath("The group's number.") });

const BY_NUMBER = { path: { schema: TeamIdPath, example: { team_id: 1 } } };

const SHOWN = {
  description: "The group.",
  content: content("Shown", { user_group: field(ShownGroup, "The group.") }),
  headers: ["ETag"],
} as const;

/** The answer to a call that can have an Idempotency-Key. */
const OUTCOME = { ...SHOWN, headers: ["ETag", "Idempotent-Replayed"] } as const;

describe(Search(), { minLength: 1, maxLength: SEARCH_UNITS_MAX });

/** The list of user groups, and the calls on one of them by its number. */
export const userGroupByNumberOperations = {
  "GET /api/user_groups": {
    id: "listUserGroups",
    summary: "List user groups",
    description:
      "Returns the groups of the environment, without tokens, in the order of `team_id`, or of their ids with a prefix. " +
      "A page has at most 1 MiB, so it may have fewer groups than `limit` and still a cursor: " +
      "only `next_cursor: null` is the end. A cursor of a search continues that search alone. With `user_group_id` the list has the one group with this id, or none, and the call " +
      `creates nothing. With \`search\` or \`last_viewed_before\` one call examines ${SEARCH_ROWS_MAX.toLocaleString("en")} groups, so a page ` +
      "may even be empty and have a cursor.",
    query: {
      schema: describeFields(ListQuery(), {
        ...pageOf("groups"),
        user_group_id:
          "Only the group with exactly this id. Not together with a cursor, state=deleted or another condition.",
        user_group_id_prefix:
          "Only ids that start with this text, compared character by character. The list of groups that exist is then in the order of ids.",
        search:
          "Only groups whose name or id contains each word of this text, without regard to case, accents and strokes. Not together with a user_group_id or a prefix.",
        last_viewed_before: {
          format: "date",
          description:
            "Only groups that were last viewed before this day in UTC, or were never viewed and created before it. Views from a lease or " +
            "a stale session are not noted.",
        },
        state: "Only groups in this state. Deleted groups are listed only with state=deleted.",
      }),
      example: { limit: 10, user_group_id_prefix: "acme" },
    },
    answer: pageOrLast("Listed", {
      user_groups: field(z.array(ListedGroup), "One page of groups, in the order of team_id."),
    }),
  },
  "POST /api/user_groups": createUserGroup,
  "GET /api/user_groups/:team_id": {
    id: "showUserGroup",
    summary: "Get a user group by its number",
    description:
      "The group as the list shows it, without its token. It never creates a group. A mirror reads it after an event.",
    ...BY_NUMBER,
    query: {
      schema: describeFields(ShowQuery(), { state: "With deleted, only a deleted group is found." }),
      example: {},
    },
    answer: SHOWN,
    refusals: ["user_group_not_found"],
  },
  "GET /api/user_groups/:team_id/events": {
    id: "listUserGroupEvents",
    tag: "Events",
    summary: "List the changes of one user group, newest first",
    description:
      "The events of the group with this number, also of a deleted or purged one, for as long as events are kept. One call examines " +
      `${HISTORY_ROWS_MAX.toLocaleString("en")} events of the environment, so a page may have fewer than \`limit\` and still a cursor: ` +
      "`searched_back_to` says how far it has looked, and only `next_cursor: null` is the end.",
    ...BY_NUMBER,
    query: {
      schema: describeFields(HistoryQuery(), {
        cursor: "The next_cursor of the page before; without it, the newest events.",
        limit: EVENTS_LIMIT,
      }),
      example: { limit: 10 },
    },
    answer: HISTORY,
    refusals: ["user_group_not_found", "cursor_expired"],
  },
  "PUT /api/user_groups/:team_id": {
    id: "updateUserGroupByNumber",
    summary: "Change a user group by its number",
    description:
      "Changes only the fields that you send. As `application/merge-patch+json`, `mapping` and `properties` are merged. `new_user_group_id` renames the group, for which an operator needs the role " +
      "`admin`. The answer has no token.",
    ...BY_NUMBER,
    headers: ["If-Match"],
    body: {
      name: "UpdateByNumberBody",
      schema: describeFields(UpdateByNumberBody(), changesAbout(false)),
      example: { name: "Acme Inc." },
    },
    patch: {
      name: "PatchByNumberBody",
      schema: describeFields(PatchByNumberBody(), changesAbout(true)),
      example: { properties: { plan: null } },
    },
    answer: SHOWN,
    refusals: ["user_group_not_found", "user_group_id_taken"],
  },
  "DELETE /api/user_groups/:team_id": {
    id: "removeUserGroupByNumber",
    summary: "Delete a user group by its number",
    description: "Deletes the group. Its token is not needed.",
    destroys:
      "The group's viewers are refused from the answer on. Until `purge_at` it can be restored; then it is erased.",
    ...BY_NUMBER,
    headers: ["Idempotency-Key", "If-Match"],
    body: { name: "ReasonBody", schema: ReasonBody(), example: { reason: "contract ended" } },
    answer: { ...OUTCOME, description: "The deleted group, and until when it can be restored." },
    refusals: ["user_group_not_found"],
  },
  "POST /api/user_groups/:team_id/restore": {
    id: "restoreUserGroup",
    summary: "Restore a deleted user group",
    description:
      "Brings a deleted group back as it was, with its token. If another group has its id now, give a new one, for which an " +
      "operator needs the role `admin`. A group that exists is answered as it is.",
    ...BY_NUMBER,
    body: {
      name: "RestoreBody",
      schema: describeFields(RestoreBody(), {
        new_user_group_id: "The id that the restored group gets, if another group has its own now.",
        rotate_token: "With true, the group gets a new token, and the old one stays revoked.",
      }),
      example: { new_user_group_id: "acme-2", rotate_token: true },
    },
    headers: ["Idempotency-Key", "If-Match"],
    answer: OUTCOME,
    refusals: ["user_group_not_found", "user_group_id_taken"],
  },
  "POST /api/user_groups/:team_id/purge": {
    id: "purgeUserGroup",
    summary: "Erase a deleted user group",
    description:
      "Erases a deleted group now. Nothing of it stays but its events, which have its number and id. Therefore a repeat is 404 " +
      "`user_group_not_found`, with an `Idempotency-Key` too.",
    destroys: "Nothing brings the group back, but a backup.",
    ...BY_NUMBER,
    headers: ["Idempotency-Key", "If-Match"],
    body: { name: "ReasonBody", schema: ReasonBody(), example: { reason: "asked for by the customer" } },
    answer: { description: "The group is erased.", content: DONE },
    refusals: ["user_group_not_found", "user_group_not_deleted"],
  },
  "POST /api/user_groups/:team_id/rotate": {
    id: "rotateTokenByNumber",
    summary: "Rotate a token by the number of its group",
    description:
      "Replaces the current token by a new one, which the answer does not show: GET /api/user does, to a key with " +
      "`tokens:read`. From the answer on the old token is refused, except for viewers within the grace.",
    ...BY_NUMBER,
    headers: ["Idempotency-Key", "If-Match"],
    body: {
      name: "RotateByNumberBody",
      schema: describeFields(RotateByNumberBody(), { grace_seconds: graceOf("token") }),
      example: { grace_seconds: 3600 },
    },
    answer: OUTCOME,
    refusals: ["user_group_not_found"],
  },
} satisfies Operations;
