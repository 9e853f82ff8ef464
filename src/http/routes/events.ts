import { Hono } from "hono";
import { directoryName } from "../../domain/environment.ts";
import type { AppEnv } from "../app-env.ts";
import { eventCursorOf, parseEventCursor } from "../cursor.ts";
import { refuse } from "../failures.ts";
import { checkCaller, integratorOnly, limitLists } from "../middleware/authenticate.ts";
import { allowMethods } from "../middleware/methods.ts";
import { validQuery } from "../middleware/validate.ts";
import { respond } from "../responses.ts";
import { EventsQuery } from "../schemas.ts";
import { eventBody } from "../wire.ts";

const CURSOR_MESSAGE = "Give a next_cursor of this environment's events as it came, or latest.";

/** The feed of changes in the key's environment, oldest first. */
export const events = new Hono<AppEnv>()
  .use(allowMethods("GET"), integratorOnly, limitLists)

  .get("/", validQuery(EventsQuery, { access: "read" }), async (c) => {
    const { cursor, limit, type, user_group_id: providedId } = c.req.valid("query");
    const feed = directoryName(c.get("environment"));
    const from = cursor === undefined || cursor === "latest" ? cursor : parseEventCursor(cursor, feed);
    if (cursor !== undefined && from === undefined) {
      const issues = [{ path: ["cursor"], message: CURSOR_MESSAGE }];
      return refuse(c, (await checkCaller(c, "read")) ?? { code: "invalid_body", issues });
    }
    const listed = await c.get("directory").listEvents(c.get("caller"), { from, limit, type, providedId });
    if (!listed.ok) return refuse(c, listed.failure);
    const { events: page, next, hasMore } = listed.value;
    return respond(c, {
      success: 1,
      events: page.map(eventBody),
      next_cursor: eventCursorOf(feed, next),
      has_more: hasMore,
    });
  });
