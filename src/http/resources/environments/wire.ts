import * as z from "zod/mini";
import { parseDirectoryName } from "../../../../common/environment.ts";
import type { StoredEnvironment } from "../../../records.ts";
import { lazy, numberedQuery, time, withMeta } from "../fields.ts";

/** GET /api/environments */
export const EnvironmentsQuery = lazy(() => numberedQuery("environments"));

/** DELETE /api/environments, besides the environment. */
export const EraseQuery = lazy(() =>
  z.strictObject({
    confirm: withMeta(z.string({ error: "Give workspace/environment, if you mean to erase this environment." }), {
      description:
        "The environment once more, as workspace/environment: `acme/Customer`, `acme/Testing` or `acme/untagged`.",
    }),
  }),
);

/** An environment of the list. */
export function environmentBody({ name, location, createdAt }: StoredEnvironment) {
  const { workspace, tag } = parseDirectoryName(name);
  return { workspace, environment: tag, location, created_at: time(createdAt) };
}
