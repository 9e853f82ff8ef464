import type { ChangeEvent } from "../../../client/src/index.ts";

/** The events before a time, and whether there is one at that time or later. A feed is in the order of time. */
export function eventsBefore(
  until: Date | undefined,
  events: ChangeEvent[],
): { events: ChangeEvent[]; isEnd: boolean } {
  const end = until ? events.findIndex(({ at }) => Date.parse(at) >= until.getTime()) : -1;
  return end === -1 ? { events, isEnd: false } : { events: events.slice(0, end), isEnd: true };
}
