import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { cursorOf } from "../cursor.ts";
import { refuse } from "../failures.ts";
import { integratorOnly, limitLists } from "../middleware/authenticate.ts";
import { allowMethods } from "../middleware/methods.ts";
import { validQuery } from "../middleware/validate.ts";
import { pathNumber } from "../path-number.ts";
import { respondWithJson } from "../responses.ts";
import { ListQuery } from "../schemas.ts";
import { groupBody, listBody } from "../wire.ts";

/** The groups of the key's environment, a page at a time or one by its number, and never a token. */
export const userGroupList = new Hono<AppEnv>()
  .use(allowMethods("GET"), integratorOnly)

  .get("/", limitLists, validQuery(ListQuery, { access: "read" }), async (c) => {
    const query = c.req.valid("query");
    const listed = await c.get("directory").list(c.get("caller"), query);
    if (!listed.ok) return refuse(c, listed.failure);
    const { groups, next } = listed.value;
    const nextCursor = next === null ? null : cursorOf({ start: next, prefix: query.prefix });
    return respondWithJson(c, listBody(groups, c.get("environment").tag, nextCursor));
  })

  .get("/:teamId", async (c) => {
    const shown = await c.get("directory").show(c.get("caller"), pathNumber(c.req.param("teamId")));
    if (!shown.ok) return refuse(c, shown.failure);
    return respondWithJson(c, groupBody(shown.value, c.get("environment").tag));
  });
