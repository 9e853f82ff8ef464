import { Hono } from "hono";
import { directoryName } from "../../../../common/environment.ts";
import type { FailureOf } from "../../../domain/failure.ts";
import { bindTemplate } from "../../../domain/sql/template.ts";
import { templateVariables, variablesOf } from "../../../domain/sql/variables.ts";
import type { AppEnv, Viewer } from "../../app-env.ts";
import { authorizeViewers } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { validQuery } from "../../request/query.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { viewBody } from "../user-groups/wire.ts";
import { CheckQuery, QueryBody, ViewerQuery } from "./wire.ts";

/** The calls of dashboards with a viewer session or a group token, from browsers too. */
export const viewers = new Hono<AppEnv>()
  .use(authorizeViewers)

  .get("/", validQuery(ViewerQuery), (c) => {
    const viewer = c.get("viewer");
    const mismatch = audienceMismatch(viewer, c.req.valid("query").audience);
    if (mismatch) return refuse(c, mismatch);
    const { group, environment } = viewer;
    const userGroup = viewBody(group, environment.tag);
    return respond(c, {
      success: 1,
      audience: directoryName(environment),
      user_group: userGroup,
      variables: variablesOf(group, viewer, userGroup.properties),
    });
  })

  .get("/check", validQuery(CheckQuery), (c) => {
    const viewer = c.get("viewer");
    const mismatch = audienceMismatch(viewer, c.req.valid("query").audience);
    return mismatch
      ? refuse(c, mismatch)
      : new Response(null, { status: 204, headers: { ...c.get("headers"), ...identityOf(viewer) } });
  })

  .post("/query", jsonBody(QueryBody), (c) => {
    const { sql, placeholders, values, audience } = c.req.valid("json");
    const viewer = c.get("viewer");
    const mismatch = audienceMismatch(viewer, audience);
    if (mismatch) return refuse(c, mismatch);
    const bound = bindTemplate(sql, templateVariables(viewer.group, viewer, values), placeholders);
    if (!bound.ok) return refuse(c, bound.failure);
    return respond(c, { success: 1, audience: directoryName(viewer.environment), ...bound.value });
  });

/**
 * Who the viewer is, for the service behind a gateway. Ids are percent-encoded as UTF-8, but for unreserved characters (RFC 3986,
 * section 2.3), because header values are ASCII.
 */
const identityOf = ({ group, environment, viewerId }: Viewer) => ({
  "X-User-Group-Team-Id": String(group.teamId),
  "X-User-Group-Id": percentEncode(group.providedId),
  // Empty, and not absent, without a person: some gateways pass the client's own header on where an answer has none.
  "X-Viewer-Id": percentEncode(viewerId ?? ""),
  "X-User-Group-Audience": directoryName(environment),
});

const percentEncode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** The failure of a viewer who is not of the `expected` environment. Without one, the caller takes those of any. */
function audienceMismatch(
  { environment }: Viewer,
  expected: string | undefined,
): FailureOf<"audience_mismatch"> | undefined {
  const audience = directoryName(environment);
  return expected === undefined || expected === audience
    ? undefined
    : { code: "audience_mismatch", audience, expected_audience: expected };
}
