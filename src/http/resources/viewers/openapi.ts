import * as z from "zod";
import {
  QUERY_VALUES_BYTES_MAX,
  QUERY_VALUES_ITEMS_MAX,
  QUERY_VALUES_MAX,
  SQL_TEMPLATE_BYTES_MAX,
} from "../../../../common/limits.ts";
import { VALUE_NAME } from "../../../domain/sql/variables.ts";
import { Audience, component, content, field } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describeFields } from "../../openapi/request-fields.ts";
import { SeenGroup } from "../user-groups/openapi.ts";
import type { viewBody } from "../user-groups/wire.ts";
import { CheckQuery, QueryBody, SCALAR_TYPES, ViewerQuery } from "./wire.ts";

const UserGroup = component(
  "UserGroup",
  "A group as its viewers see it, without its token.",
  SeenGroup,
) satisfies z.ZodType<ReturnType<typeof viewBody>>;

const VIEWED = content("Viewed", {
  audience: Audience,
  user_group: field(UserGroup, "The group."),
  variables: field(
    z.record(z.string(), z.unknown()),
    "What dashboards read: user_group_id, user_group_name, user_group.<key> for each property, and from a session viewer_id and " +
      "viewer.<key> for each of viewer_properties.",
    { user_group_id: "acme", user_group_name: "Acme Inc.", "user_group.region": "eu" },
  ),
});

const BOUND = content("Bound", {
  audience: Audience,
  sql: field(z.string(), "The template's SQL, with placeholders for variables.", "region IN (?, ?)"),
  params: field(
    z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]),
    "The values of the placeholders: a list in their order, of which the first is that of $1 and @p1; with {p1:String} an object by their names.",
    ["eu", "us"],
    { p1: "eu", p2: "us" },
  ),
  dropped: field(
    z.array(z.string()),
    "The missing variables and values for which clauses in [[ ]] were dropped, in the order of the template; empty when none was dropped.",
    ["user_group.tier"],
  ),
});

const ANSWER_HEADERS = ["X-Answered-By", "Age", "Access-Control-Allow-Origin"];

/** The calls of dashboards. */
export const viewerOperations = {
  "GET /api/viewer": {
    id: "viewUserGroup",
    summary: "View the user group",
    description:
      "The group of the session or the token, and its variables. Browsers may make this call from any origin. After a rotation, " +
      "suspension or deletion it is refused at once, unless the caller of a token accepts a stale answer, or the session was minted with max_stale_seconds.",
    headers: ["Cache-Control"],
    query: { schema: ViewerQuery(), example: {} },
    answer: { description: "The group, without its token.", content: VIEWED, headers: ANSWER_HEADERS },
    refusals: ["audience_mismatch"],
  },
  "GET /api/viewer/check": {
    id: "checkViewer",
    summary: "Check a viewer, for a gateway",
    description:
      "For gateways, which ask with the credential of each request whether to pass it on, and to whom it belongs. Ids are percent-encoded " +
      "(RFC 3986), and X-Viewer-Id is empty if the credential is of no person. The gateway must remove these headers from what clients " +
      "send. HEAD is answered as well.",
    headers: ["Cache-Control"],
    query: { schema: CheckQuery(), example: { audience: "acme/Testing" } },
    answer: {
      status: 204,
      description: "The credential is valid in this environment.",
      headers: ["X-User-Group-Team-Id", "X-User-Group-Id", "X-Viewer-Id", "X-User-Group-Audience", ...ANSWER_HEADERS],
    },
    refusals: ["audience_mismatch"],
  },
  "POST /api/viewer/query": {
    id: "bindQuery",
    summary: "Bind an SQL template",
    description:
      "Binds the template to the group and the viewer; it does not run the SQL. Each `{{variable}}` becomes a placeholder and its value a " +
      "parameter, never text of the SQL. A list becomes one placeholder for each item, and must be in parentheses or brackets. `[[ ... ]]` " +
      "is an optional clause: it is dropped if a variable of the group in it is missing, and `dropped` names that variable. A clause that names " +
      "the viewer is never dropped. `{{value.name}}` is one of the call's own `values`; if it is missing, a clause that names only values is " +
      "dropped. Any other missing variable, and a template that could lose a filter, is refused.",
    headers: ["Cache-Control"],
    body: {
      name: "QueryBody",
      schema: describeFields(QueryBody(), {
        sql: {
          maxLength: SQL_TEMPLATE_BYTES_MAX,
          description: `An SQL template with {{variables}} and optional clauses in [[ ]], of at most ${SQL_TEMPLATE_BYTES_MAX} bytes in UTF-8.`,
        },
        values: {
          type: "object",
          maxProperties: QUERY_VALUES_MAX,
          propertyNames: { pattern: VALUE_NAME.source },
          additionalProperties: {
            anyOf: [
              { type: ["string", "number", "boolean", "null"] },
              ...SCALAR_TYPES.map((type) => ({ type: "array", maxItems: QUERY_VALUES_ITEMS_MAX, items: { type } })),
            ],
          },
          description:
            `Values of the page, such as the dates of a filter, which the template names {{value.name}}: at most ${QUERY_VALUES_MAX}, of ` +
            `${QUERY_VALUES_BYTES_MAX} bytes of JSON in total. One that is missing, or an empty list, drops its clause. They only filter: ` +
            "the person at the page can choose any.",
          examples: [{ from: "2026-10-01", currencies: ["EUR", "USD"] }],
        },
        placeholders:
          "How placeholders are written, and by which database the template is read: ? each; $1, $2 and so on (PostgreSQL); %s each (psycopg, " +
          "PyMySQL; a % of the template becomes %%); @p1, @p2 and so on (SQL Server); {p1:String}, {p2:Int64} and so on (ClickHouse).",
      }),
      example: {
        sql: "plan IN ({{user_group.plans}}) [[AND tier = {{user_group.tier}}]] [[AND at >= {{value.from}}]]",
        values: { from: "2026-10-01" },
        placeholders: "?",
      },
    },
    answer: {
      description: "The SQL, its parameters, and the missing variables.",
      content: BOUND,
      headers: ANSWER_HEADERS,
    },
    refusals: ["audience_mismatch", "unknown_variable", "unusable_variable", "variables_too_large", "invalid_template"],
  },
} satisfies Operations;
