import * as z from "zod/mini";
import { lazy, withMeta } from "../fields.ts";

/** GET /api/backup */
export const BackupQuery = lazy(() =>
  z.strictObject({
    cursor: withMeta(z.optional(z.string()), {
      description: "The next_cursor of the page before, as it came; without it, the first page.",
    }),
  }),
);

const flag = (description: string) =>
  withMeta(
    z._default(
      z.pipe(
        z.enum(["true", "false"], { error: "Give true or false." }),
        z.transform((text) => text === "true"),
      ),
      false,
    ),
    { description },
  );

/** POST /api/restore */
export const RestoreQuery = lazy(() =>
  z.strictObject({
    rotate_tokens: flag("With the last page: gives every group a new token, and ends all viewer sessions."),
    revoke_keys: flag("With the last page: revokes all keys of the backup."),
    unsigned: flag(
      "Checks no signature: for a backup of format 1, or one whose signing key is gone. With the last page, the event of the restore says so.",
    ),
  }),
);
