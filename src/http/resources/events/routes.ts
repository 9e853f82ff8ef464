import { directoryName } from "../../../../common/environment.ts";
import { undoMsOf } from "../../../../common/settings/settings.ts";
import type { EventPage, EventQuery } from "../../../domain/feed/event.ts";
import type { AppEnv, RequestContext } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import { authorizeFeedReaders } from "../../request/authorize.ts";
import { validQuery } from "../../request/query.ts";
import { refuse, refuseField } from "../../response/failures.ts";
import { respond, respondWithJson } from "../../response/respond.ts";
import { eventCursorOf, parseEventCursor } from "../cursor.ts";
import { bodyWithGroups } from "../user-groups/wire.ts";
import { EventsQuery, eventBody } from "./wire.ts";

const CURSOR_MESSAGE = "Give a next_cursor of this feed's events as it came, or latest.";

/** The name of the deployment's feed in cursors. No environment has it. */
const DEPLOYMENT_FEED = "deployment";

/** The feed of changes, oldest first: of an environment, or for an operator who names none, of the deployment. */
export const events = new Hono<AppEnv>()
  .use(authorizeFeedReaders)

  .get("/", validQuery(EventsQuery), async (c) => {
    const { cursor, limit, type, user_group_id: providedId, actor, since, include } = c.req.valid("query");
    const reader = c.get("feedReader");
    const feed = reader.environment ? directoryName(reader.environment) : DEPLOYMENT_FEED;
    const start = since === undefined ? undefined : { since };
    const from: EventQuery["from"] =
      cursor === undefined || cursor === "latest" ? (cursor ?? start) : parseEventCursor(cursor, feed);
    if (cursor !== undefined && from === undefined) return refuseField(c, "cursor", CURSOR_MESSAGE);
    const withGroups = include !== undefined;
    const query = { from, limit, type, providedId, actor, withGroups };
    if (!reader.environment) {
      const listed = await registryFor(c).listEvents(reader.presentedOperator, query);
      if (!listed.ok) return refuse(c, listed.failure);
      return respondWithPage(c, feed, { ...listed.value, ...(withGroups && { groups: [] }) });
    }
    const listed = await admitAgain(c, await reader.directory.listEvents(reader.caller, query));
    return listed.ok ? respondWithPage(c, feed, listed.value) : refuse(c, listed.failure);
  });

function respondWithPage(
  c: RequestContext,
  feed: string,
  { events: page, next, hasMore, groups }: EventPage,
): Response {
  const nextCursor = eventCursorOf(feed, next);
  const body = { success: 1, events: page.map(eventBody), next_cursor: nextCursor, has_more: hasMore };
  if (!groups) return respond(c, body);
  const options = { tag: c.get("environment")?.tag ?? null, undoMs: undoMsOf(c.env) };
  return respondWithJson(c, bodyWithGroups(body, groups, options));
}
