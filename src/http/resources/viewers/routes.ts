import { Hono } from "hono";
import { bindTemplate } from "../../../domain/sql/template.ts";
import { variablesOf } from "../../../domain/sql/variables.ts";
import type { AppEnv } from "../../app-env.ts";
import { authorizeViewers } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { viewBody } from "../user-groups/wire.ts";
import { QueryBody } from "./schemas.ts";

/** The calls of dashboards with a viewer session or a group token, from browsers too. */
export const viewers = new Hono<AppEnv>()
  .use("/", allowMethods("GET"))
  .use("/query", allowMethods("POST"))
  .use(authorizeViewers)

  .get("/", (c) => {
    const viewer = c.get("viewer");
    const { group, environment } = viewer;
    const userGroup = viewBody(group, environment.tag);
    return respond(c, {
      success: 1,
      user_group: userGroup,
      variables: variablesOf(group, viewer, userGroup.properties),
    });
  })

  .post("/query", jsonBody(QueryBody), (c) => {
    const { sql, placeholders } = c.req.valid("json");
    const viewer = c.get("viewer");
    const variables = new Map(Object.entries(variablesOf(viewer.group, viewer)));
    const bound = bindTemplate(sql, variables, placeholders);
    if (!bound.ok) return refuse(c, bound.failure);
    return respond(c, { success: 1, ...bound.value });
  });
