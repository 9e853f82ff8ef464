import type { StoredEvent } from "../../../records.ts";
import { time } from "../times.ts";

/** An event. Its group, key, operator or environment stands under its own name, and only where the event has one. */
export const eventBody = ({ id, at, type, actor, requestId, teamId, providedId, details }: StoredEvent) => ({
  id,
  at: time(at),
  type,
  actor,
  request_id: requestId,
  ...(teamId !== null && { user_group: { team_id: teamId, provided_id: providedId } }),
  ...details,
});
