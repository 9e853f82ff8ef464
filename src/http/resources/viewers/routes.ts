import { directoryName } from "../../../../common/environment.ts";
import { SQL_BOUND_AT_ONCE_UNITS_MAX, SQL_TEMPLATE_BYTES_MAX } from "../../../../common/limits.ts";
import type { FailureOf } from "../../../domain/failure.ts";
import { bindTemplate } from "../../../domain/sql/template.ts";
import { templateVariables, variablesOf } from "../../../domain/sql/variables.ts";
import type { AppEnv, RequestContext, Viewer } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { authorizeViewers } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { LARGE_ANSWERS } from "../../request/large-answers.ts";
import { inTurn } from "../../request/long-work.ts";
import { validQuery } from "../../request/query.ts";
import { refuse } from "../../response/failures.ts";
import { respondWithJson } from "../../response/respond.ts";
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
    return respondToViewer(c, viewer, {
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

  .post("/query", jsonBody(QueryBody), async (c) => {
    const { sql, placeholders, values, audience } = c.req.valid("json");
    const viewer = c.get("viewer");
    const mismatch = audienceMismatch(viewer, audience);
    if (mismatch) return refuse(c, mismatch);
    const bind = () => bindTemplate(sql, templateVariables(viewer.group, viewer, values), placeholders);
    const bound = await inTurn(c, shareOf(sql, viewer), bind);
    if (!bound.ok) return refuse(c, bound.failure);
    return respondToViewer(c, viewer, bound.value);
  });

/** How long it takes to bind a template, as a share of the longest; 0 if that is short. A value takes a tenth of its template's time. */
function shareOf(sql: string, { group }: Viewer): number {
  const units = sql.length + (group.properties?.length ?? 0) / 10;
  return units <= SQL_BOUND_AT_ONCE_UNITS_MAX ? 0 : units / SQL_TEMPLATE_BYTES_MAX;
}

/** Responds with `fields`, unless the viewers of this environment have had too many large answers. */
function respondToViewer(c: RequestContext, { environment }: Viewer, fields: object): Response {
  const audience = directoryName(environment);
  const json = JSON.stringify({ success: 1, audience, ...fields });
  return LARGE_ANSWERS.take(audience, json) ? respondWithJson(c, json) : refuse(c, { code: "overloaded" });
}

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
