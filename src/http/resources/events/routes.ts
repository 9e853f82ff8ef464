import { Hono } from "hono";
import { directoryName } from "../../../domain/environment.ts";
import type { EventQuery } from "../../../domain/event.ts";
import type { AppEnv } from "../../app-env.ts";
import { registryOf } from "../../durable-objects.ts";
import { admitAgain } from "../../request/admit-caller.ts";
import { authorizeFeedReaders } from "../../request/authorize.ts";
import { allowMethods } from "../../request/methods.ts";
import { validQuery } from "../../request/query.ts";
import { refuseRequest } from "../../request/refuse-request.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { eventCursorOf, parseEventCursor } from "../cursor.ts";
import { EventsQuery } from "./schemas.ts";
import { eventBody } from "./wire.ts";

const CURSOR_MESSAGE = "Give a next_cursor of this feed's events as it came, or latest.";

/** The name of the deployment's feed in cursors. No environment has it. */
const DEPLOYMENT_FEED = "deployment";

/** The feed of changes, oldest first: of an environment, or for an operator who names none, of the deployment. */
export const events = new Hono<AppEnv>()
  .use(allowMethods("GET"), authorizeFeedReaders)

  .get("/", validQuery(EventsQuery), async (c) => {
    const { cursor, limit, type, user_group_id: providedId } = c.req.valid("query");
    const reader = c.get("feedReader");
    const feed = reader.environment ? directoryName(reader.environment) : DEPLOYMENT_FEED;
    const from: EventQuery["from"] =
      cursor === undefined || cursor === "latest" ? cursor : parseEventCursor(cursor, feed);
    if (cursor !== undefined && from === undefined) {
      const issues = [{ path: ["cursor"], message: CURSOR_MESSAGE }];
      return refuseRequest(c, { code: "invalid_body", issues });
    }
    const query = { from, limit, type, providedId };
    const listed = reader.environment
      ? await reader.directory.listEvents(reader.caller, query)
      : await registryOf(c.env).listEvents(reader.presentedOperator, query);
    if (!listed.ok) return refuse(c, listed.failure);
    const failure = reader.environment && (await admitAgain(c, reader.presentedOperator, listed.value));
    if (failure) return refuse(c, failure);
    const { events: page, next, hasMore } = listed.value;
    return respond(c, {
      success: 1,
      events: page.map(eventBody),
      next_cursor: eventCursorOf(feed, next),
      has_more: hasMore,
    });
  });
