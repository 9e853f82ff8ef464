import * as z from "zod/mini";
import { parseDirectoryName } from "../../../../common/environment.ts";
import type { StoredEnvironment } from "../../../records.ts";
import { lazy, numberedQuery, time } from "../fields.ts";

/** GET /api/environments */
export const EnvironmentsQuery = lazy(() => numberedQuery());

/** DELETE /api/environments, besides the environment. */
export const EraseQuery = lazy(() =>
  z.strictObject({ confirm: z.string("Give workspace/environment, if you mean to erase this environment.") }),
);

/** An environment of the list. */
export function environmentBody({ name, location, createdAt }: StoredEnvironment) {
  const { workspace, tag } = parseDirectoryName(name);
  return { workspace, environment: tag, location, created_at: time(createdAt) };
}
