import * as z from "zod";
import { ListQuery } from "../schemas.ts";
import { SeenGroup, Success, time } from "./fields.ts";
import { type Operations, WITH_AN_API_KEY } from "./operation.ts";

const ListedGroup = z.strictObject({
  ...SeenGroup,
  created_at: time("When the group was created."),
  updated_at: time("When the group last changed."),
});

const Listed = z.strictObject({
  success: Success,
  user_groups: z.array(ListedGroup).meta({ description: "One page of groups, in the order of team_id." }),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: "The cursor of the next page, or null on the last one.", examples: [null] }),
});

const Shown = z.strictObject({ success: Success, user_group: ListedGroup.meta({ description: "The group." }) });

const TeamIdPath = z.strictObject({
  team_id: z.int().min(1).max(999_999_999_999_999).meta({ description: "The group's number." }),
});

/** The list of user groups, and one of them by its number. */
export const userGroupListOperations: Operations = {
  "/api/user_groups": {
    get: {
      id: "listUserGroups",
      tag: "User groups",
      summary: "List user groups",
      description:
        "The groups of the API key's environment in the order of `team_id`, or with a prefix in the order of their ids, page " +
        "by page, and never a token. A page holds at most 1 MiB, so it may have fewer groups than `limit` and still a cursor: " +
        "only `next_cursor: null` is the end.",
      credential: "api_key",
      query: { schema: ListQuery(), example: { limit: 10, user_group_id_prefix: "acme" } },
      answer: {
        status: 200,
        description: "One page, and the cursor of the next.",
        content: { name: "Listed", schema: Listed },
      },
      refusals: [...WITH_AN_API_KEY, "invalid_body"],
    },
  },
  "/api/user_groups/{team_id}": {
    get: {
      id: "showUserGroup",
      tag: "User groups",
      summary: "Get a user group by its number",
      description:
        "The group as the list shows it, without its token. It never creates a group. A mirror reads it after an event.",
      credential: "api_key",
      path: { schema: TeamIdPath, example: { team_id: 1 } },
      answer: { status: 200, description: "The group.", content: { name: "Shown", schema: Shown } },
      refusals: [...WITH_AN_API_KEY, "user_group_not_found"],
    },
  },
};
