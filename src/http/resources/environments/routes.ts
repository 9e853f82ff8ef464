import { createMiddleware } from "hono/factory";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { AppEnv, OperatorEnv, With } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { eraseEnvironmentIn } from "../../operations/erase-environment.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { authorizeOperators } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { requiredEnvironment, validQuery } from "../../request/query.ts";
import { refuse, refuseField, refuseRequest } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { numberCursorOf } from "../cursor.ts";
import { ReasonBody } from "../fields.ts";
import { EnvironmentsQuery, EraseQuery, environmentBody } from "./wire.ts";

/** Reads the environment before the confirmation, which repeats its name. */
const environmentToErase = createMiddleware<With<OperatorEnv, { environment: Environment }>>(async (c, next) => {
  const environment = requiredEnvironment(c);
  if (!environment.ok) return refuseRequest(c, environment.failure);
  c.set("environment", environment.value);
  return next();
});

/** The environments of the deployment. */
export const environments = new Hono<AppEnv>()
  .use(authorizeOperators)

  .get("/", validQuery(EnvironmentsQuery), async (c) => {
    const listed = await registryFor(c).listEnvironments(c.get("presentedOperator"), c.req.valid("query"));
    if (!listed.ok) return refuse(c, listed.failure);
    const { environments: page, next } = listed.value;
    return respond(c, { success: 1, environments: page.map(environmentBody), next_cursor: numberCursorOf(next) });
  })

  .delete("/", environmentToErase, validQuery(EraseQuery), jsonBody(ReasonBody), async (c) => {
    const environment = c.get("environment");
    const name = directoryName(environment);
    if (c.req.valid("query").confirm !== name)
      return refuseField(c, "confirm", `Give ${name}, if you mean to erase this environment.`);
    const erased = await eraseEnvironmentIn(c, environment);
    if (!erased.ok) return refuse(c, erased.failure);
    return respond(c, { success: 1 });
  });
