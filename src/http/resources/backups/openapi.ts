import * as z from "zod";
import { content, field } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describeFields } from "../../openapi/request-fields.ts";
import { BackupQuery, RestoreQuery } from "./wire.ts";

const RESTORED = content("Restored", {
  page: field(z.int(), "The number of the page that was taken.", 1),
  done: field(z.boolean(), "Whether it was the last one.", false),
});

/** The calls that back up and restore. */
export const backupOperations = {
  "GET /api/backup": {
    id: "backUp",
    summary: "Back up an environment, or the registry",
    description:
      "One page of a backup, as lines of JSON. A file is its pages in order, until `next_cursor` is null. It has hashes and halves of " +
      "secrets, and no credential. Without an environment, it is the backup of operators and environments.",
    query: {
      schema: describeFields(BackupQuery(), {
        cursor: "The next_cursor of the page before, as it came; without it, the first page.",
      }),
      example: {},
    },
    answer: { description: "One page.", content: "application/x-ndjson" },
    refusals: ["cursor_expired"],
  },
  "POST /api/restore": {
    id: "restore",
    summary: "Restore a backup",
    description:
      "Takes the pages of a backup, one at a time and in their order, into an environment without keys and groups, or without one into a " +
      "registry without operators and environments. Until the last page, all other calls are refused.",
    query: {
      schema: describeFields(RestoreQuery(), {
        rotate_tokens: "With the last page: gives every group a new token, and ends all viewer sessions.",
        revoke_keys: "With the last page: revokes all keys of the backup.",
        unsigned:
          "Checks no signature: for a backup of format 1, or one whose signing key is gone. With the last page, the event of the restore says so.",
      }),
      example: {},
    },
    rawBody: "application/x-ndjson",
    answer: { description: "The page was taken.", content: RESTORED },
    refusals: ["environment_not_empty", "unexpected_page", "invalid_backup"],
  },
} satisfies Operations;
