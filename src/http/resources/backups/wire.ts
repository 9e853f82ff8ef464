import * as z from "zod/mini";
import { lazy, transformed } from "../fields.ts";

/** GET /api/backup */
export const BackupQuery = lazy(() => z.strictObject({ cursor: z.optional(z.string()) }));

const flag = () =>
  z._default(
    transformed(z.enum(["true", "false"], "Give true or false."), (text) => text === "true"),
    false,
  );

/** POST /api/restore */
export const RestoreQuery = lazy(() =>
  z.strictObject({ rotate_tokens: flag(), revoke_keys: flag(), unsigned: flag() }),
);
