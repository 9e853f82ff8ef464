import { parseDirectoryName } from "../../../../common/environment.ts";
import type { StoredEnvironment } from "../../../records.ts";
import { time } from "../times.ts";

/** An environment of the list. */
export function environmentBody({ name, location, createdAt }: StoredEnvironment) {
  const { workspace, tag } = parseDirectoryName(name);
  return { workspace, environment: tag, location, created_at: time(createdAt) };
}
