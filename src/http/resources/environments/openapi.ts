import * as z from "zod";
import { LOCATIONS } from "../../../records.ts";
import { component, DONE, field, pageOrLast, Tag, time, Workspace } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describeFields, pageOf } from "../../openapi/request-fields.ts";
import { ReasonBody } from "../fields.ts";
import { EnvironmentsQuery, EraseQuery, type environmentBody } from "./wire.ts";

const Environment = component("Environment", "An environment of a workspace.", {
  workspace: Workspace,
  environment: field(Tag, "Its tag, or null."),
  location: field(z.enum(LOCATIONS).nullable(), "The location hint given with the first key, or null.", "weur"),
  created_at: time("When it was recorded."),
}) satisfies z.ZodType<ReturnType<typeof environmentBody>>;

/** The calls on environments. */
export const environmentOperations = {
  "GET /api/environments": {
    id: "listEnvironments",
    summary: "List environments",
    description: "The environments of the deployment. An environment is recorded before its first API key is issued.",
    query: { schema: describeFields(EnvironmentsQuery(), pageOf("environments")), example: { limit: 10 } },
    answer: pageOrLast("ListedEnvironments", {
      environments: field(z.array(Environment), "One page of environments, oldest first."),
    }),
  },
  "DELETE /api/environments": {
    id: "eraseEnvironment",
    summary: "Erase an environment",
    description:
      "Deletes all groups, API keys and events of an environment for good. No undo. If a call is interrupted, repeat it; the " +
      "service finishes it by itself too. The name may be used again: no old credential works then.",
    destroys: "Nothing brings the groups, keys and events back, but a backup.",
    query: {
      schema: describeFields(EraseQuery(), {
        confirm:
          "The environment once more, as workspace/environment: `acme/Customer`, `acme/Testing` or `acme/untagged`.",
      }),
      example: { confirm: "acme/Testing" },
    },
    body: { name: "ReasonBody", schema: ReasonBody(), example: { reason: "contract ended" } },
    answer: { description: "It is erased.", content: DONE },
    refusals: ["environment_not_found"],
  },
} satisfies Operations;
