import { Hono } from "hono";
import type { AppEnv } from "../../app-env.ts";
import { registryOf } from "../../durable-objects.ts";
import { authorizeOperators } from "../../request/authorize.ts";
import { allowMethods } from "../../request/methods.ts";
import { validQuery } from "../../request/query.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { numberCursorOf } from "../cursor.ts";
import { EnvironmentsQuery } from "./schemas.ts";
import { environmentBody } from "./wire.ts";

/** The environments of the deployment. */
export const environments = new Hono<AppEnv>()
  .use(allowMethods("GET"), authorizeOperators)

  .get("/", validQuery(EnvironmentsQuery), async (c) => {
    const listed = await registryOf(c.env).listEnvironments(c.get("presentedOperator"), c.req.valid("query"));
    if (!listed.ok) return refuse(c, listed.failure);
    const { environments: page, next } = listed.value;
    return respond(c, { success: 1, environments: page.map(environmentBody), next_cursor: numberCursorOf(next) });
  });
