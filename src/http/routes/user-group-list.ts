import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { cursorOf } from "../cursor.ts";
import { refuse } from "../failures.ts";
import { integratorOnly, limitLists } from "../middleware/authenticate.ts";
import { allowMethods } from "../middleware/methods.ts";
import { validQuery } from "../middleware/validate.ts";
import { ListQuery } from "../schemas.ts";
import { listBody } from "../wire.ts";

/** The groups of the key's environment, a page at a time, and never a token. */
export const userGroupList = new Hono<AppEnv>()
  .use(allowMethods("GET"), integratorOnly, limitLists)

  .get("/", validQuery(ListQuery, { access: "read" }), async (c) => {
    const query = c.req.valid("query");
    const listed = await c.get("directory").list(c.get("caller"), query);
    if (!listed.ok) return refuse(c, listed.failure);
    const { groups, next } = listed.value;
    const nextCursor = next === null ? null : cursorOf({ start: next, prefix: query.prefix });
    const body = listBody(groups, c.get("environment").tag, nextCursor);
    return new Response(body, { headers: { ...c.get("headers"), "Content-Type": "application/json" } });
  });
