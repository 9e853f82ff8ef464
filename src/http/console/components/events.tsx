import type { FC } from "hono/jsx";
import type { StoredEvent } from "../../../records.ts";
import { Text, Time } from "./text.tsx";
import { Wide } from "./wide.tsx";

/** What an event says besides its type, as short texts. */
function detailsOf({ details }: StoredEvent): string[] {
  const { changed, previous_provided_id: previous, session_id, viewer_id, successor_id } = details;
  return [
    ...(changed ? [`changed ${changed.join(", ")}`] : []),
    ...(previous === undefined ? [] : [`previously ${previous}`]),
    ...(session_id === undefined ? [] : [`session ${session_id}`]),
    ...(viewer_id === undefined ? [] : [`viewer ${viewer_id}`]),
    ...(details.api_key ? [`API key ${details.api_key.id} ${details.api_key.name}`] : []),
    ...(details.environment
      ? [`${details.environment.workspace}/${details.environment.environment ?? "untagged"}`]
      : []),
    ...(details.operator ? [`operator ${details.operator.id} ${details.operator.name}`] : []),
    ...(successor_id === undefined ? [] : [`replaced by ${successor_id}`]),
    ...(details.unsigned ? ["signatures not checked"] : []),
  ];
}

/** A table of events, in the order of `events`. */
export const EventTable: FC<{ events: StoredEvent[]; hasGroups?: boolean }> = ({ events, hasGroups = false }) => (
  <Wide label="Events">
    <table>
      <thead>
        <tr>
          <th>Time</th>
          <th>What</th>
          {hasGroups && <th>Group</th>}
          <th>Details</th>
          <th>By</th>
          <th>Reason</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr>
            <td>
              <Time at={event.at} />
            </td>
            <td class="nowrap">{event.type}</td>
            {hasGroups && <td>{event.providedId === null ? "–" : <Text value={event.providedId} />}</td>}
            <td>
              <Text value={detailsOf(event).join("; ") || "–"} />
            </td>
            <td>
              <Text value={event.actor.name} /> <small>({event.actor.kind.replace("_", " ")})</small>
            </td>
            <td>{event.details.reason === undefined ? "–" : <Text value={event.details.reason} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Wide>
);
