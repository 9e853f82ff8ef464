/** An event in one line: as JSON, or for people. */
import type { ChangeEvent } from "../../../client/src/index.ts";
import { environmentName } from "../command.ts";
import { escapeInvisible, jsonLineOf, quoted } from "../support/printable.ts";
import { toWire } from "../wire.ts";

/** The longest type of event that there is. */
const TYPE_WIDTH = "user_group.token_rotated".length;
const FEED_WIDTH = "deployment".length;

/** The line of an event of one feed. */
export const lineOf = (event: ChangeEvent, json: boolean | undefined): string =>
  json ? jsonLineOf(toWireEvent(event)) : textLineOf(event);

/** The line of an event among those of several feeds: it begins with the name of its feed. */
export const lineInFeed = (feed: string, event: ChangeEvent, json: boolean | undefined): string =>
  json
    ? jsonLineOf({ feed, ...toWireEvent(event) })
    : `${escapeInvisible(feed).padEnd(FEED_WIDTH)}  ${textLineOf(event)}`;

/** An event with the names of the wire. */
const toWireEvent = ({ group, previousUserGroupId, ...event }: ChangeEvent) => ({
  ...toWire(event),
  ...(group && { user_group: { team_id: group.teamId, provided_id: group.userGroupId } }),
  ...(previousUserGroupId !== undefined && { previous_provided_id: previousUserGroupId }),
});

function subjectOf(event: ChangeEvent): string {
  const { group, previousUserGroupId, apiKey, operator, environment, successorId } = event;
  const kind = apiKey ? "key" : "operator";
  const named = apiKey ?? operator;
  if (named) {
    const successor = successorId === undefined ? "" : ` -> ${kind} ${successorId}`;
    return `${kind} ${named.id} ${quoted(named.name)}${successor}`;
  }
  if (environment)
    return `environment ${escapeInvisible(environmentName(environment))}${event.unsigned ? " (unsigned)" : ""}`;
  if (!group) return "-";
  const before = previousUserGroupId === undefined ? "" : `${quoted(previousUserGroupId)} -> `;
  return `${before}${quoted(group.userGroupId)}`;
}

function textLineOf(event: ChangeEvent): string {
  const { at, type, actor, changed, reason } = event;
  const subject = subjectOf(event) + (changed ? ` (${escapeInvisible(changed.join(", "))})` : "");
  const kind = escapeInvisible(actor.kind) + (actor.id === null ? "" : ` ${actor.id}`);
  return [
    escapeInvisible(at),
    escapeInvisible(type).padEnd(TYPE_WIDTH),
    subject,
    `by ${kind} ${quoted(actor.name)}`,
    ...(reason === undefined ? [] : [`because ${quoted(reason)}`]),
  ].join("  ");
}
