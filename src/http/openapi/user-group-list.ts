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

/** The list of user groups. */
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
};
