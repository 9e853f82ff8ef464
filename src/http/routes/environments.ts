import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { numberCursorOf } from "../cursor.ts";
import { registryOf } from "../durable-objects.ts";
import { refuse } from "../failures.ts";
import { authorize } from "../middleware/authorize.ts";
import { allowMethods } from "../middleware/methods.ts";
import { validQuery } from "../middleware/validate.ts";
import { respond } from "../responses.ts";
import { EnvironmentsQuery } from "../schemas.ts";
import { environmentBody } from "../wire.ts";

/** The environments of the deployment. */
export const environments = new Hono<AppEnv>()
  .use(allowMethods("GET"), authorize)

  .get("/", validQuery(EnvironmentsQuery), async (c) => {
    const listed = await registryOf(c.env).listEnvironments(c.get("presentedOperator"), c.req.valid("query"));
    if (!listed.ok) return refuse(c, listed.failure);
    const { environments: page, next } = listed.value;
    return respond(c, { success: 1, environments: page.map(environmentBody), next_cursor: numberCursorOf(next) });
  });
