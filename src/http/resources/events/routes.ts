import { Hono } from "hono";
import { directoryName } from "../../../domain/environment.ts";
import type { EventQuery } from "../../../domain/event.ts";
import { admitAgain } from "../../admit-again.ts";
import type { AppEnv } from "../../app-env.ts";
import { registryOf } from "../../durable-objects.ts";
import { authorize } from "../../request/authorize.ts";
import { checkCaller } from "../../request/check-caller.ts";
import { allowMethods } from "../../request/methods.ts";
import { validQuery } from "../../request/validate.ts";
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
  .use(allowMethods("GET"), authorize)

  .get("/", validQuery(EventsQuery), async (c) => {
    const { cursor, limit, type, user_group_id: providedId } = c.req.valid("query");
    const environment = c.get("environment");
    const feed = environment ? directoryName(environment) : DEPLOYMENT_FEED;
    const from: EventQuery["from"] =
      cursor === undefined || cursor === "latest" ? cursor : parseEventCursor(cursor, feed);
    if (cursor !== undefined && from === undefined) {
      const issues = [{ path: ["cursor"], message: CURSOR_MESSAGE }];
      return refuse(c, (await checkCaller(c)) ?? { code: "invalid_body", issues });
    }
    const query = { from, limit, type, providedId };
    const listed = environment
      ? await c.get("directory").listEvents(c.get("caller"), query)
      : await registryOf(c.env).listEvents(c.get("presentedOperator"), query);
    if (!listed.ok) return refuse(c, listed.failure);
    const failure = environment && (await admitAgain(c, listed.value));
    if (failure) return refuse(c, failure);
    const { events: page, next, hasMore } = listed.value;
    return respond(c, {
      success: 1,
      events: page.map(eventBody),
      next_cursor: eventCursorOf(feed, next),
      has_more: hasMore,
    });
  });
