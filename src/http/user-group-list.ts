import { Hono } from "hono";
import type { AppEnv } from "./app-env.ts";
import { integratorOnly } from "./authenticate.ts";
import { cursorOf } from "./cursor.ts";
import { allowMethods } from "./methods.ts";
import { refuse } from "./refusals.ts";
import { ListQuery } from "./schemas.ts";
import { validQuery } from "./validate.ts";
import { onList } from "./wire.ts";

/** The groups of the key's environment, a page at a time, and never a token. */
export const userGroupList = new Hono<AppEnv>()
  .use(allowMethods("GET"), integratorOnly)

  .get("/", validQuery(ListQuery, { access: "read" }), async (c) => {
    const query = c.req.valid("query");
    const listed = await c.get("directory").list(c.get("caller"), query);
    if (!listed.ok) return refuse(c, listed.failure);
    const { groups, next } = listed.value;
    const texts = groups.map((group) => onList(group, c.get("environment").tag));
    const nextCursor = JSON.stringify(next === null ? null : cursorOf(next, query.filter));
    const json = `{"success":1,"user_groups":[${texts.join(",")}],"next_cursor":${nextCursor}}`;
    return new Response(json, { headers: { ...c.get("headers"), "Content-Type": "application/json" } });
  });
