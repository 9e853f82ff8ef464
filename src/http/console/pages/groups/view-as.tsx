import type { Child, FC } from "hono/jsx";
import * as z from "zod/mini";
import type { Issue } from "../../../../../common/issue.ts";
import { fail, ok, type Result } from "../../../../../common/result.ts";
import type { BindFailure } from "../../../../domain/sql/sql-writer.ts";
import {
  type BoundQuery,
  bindTemplate,
  droppedClauses,
  variablesThatSortNothing,
} from "../../../../domain/sql/template.ts";
import { type Person, templateVariables, variablesOf } from "../../../../domain/sql/variables.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../../records.ts";
import { personOf } from "../../../operations/viewer-sessions.ts";
import { lazy } from "../../../resources/fields.ts";
import { personFields } from "../../../resources/viewer-sessions/wire.ts";
import { QueryBody } from "../../../resources/viewers/wire.ts";
import { Notice, ValueRows } from "../../components/detail.tsx";
import { Form, Select, TextArea, TextField } from "../../components/form.tsx";
import { CodeText, Heading, Text } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { issuesOf, jsonIn, linesOf, parseForm, schemaIssues } from "../../request/form-fields.ts";
import { respondWithMessage, respondWithPage } from "../../response/respond-with-page.tsx";
import { groupCrumbs, withGroup } from "./group-page.ts";

/** A bound template, the parts of it that were dropped, and the variables that sort nothing. */
type Bound = BoundQuery & { template: string; droppedParts: { start: number; end: number }[]; unsorted: string[] };

/** A property whose name can also be that of a column. */
const COLUMN = /^user_group\.([a-z_]\w{0,30})$/i;

function exampleOf(group: ListedGroup): string {
  const variables = Object.entries(variablesOf(group, {}));
  const fitting = variables.filter(([name, value]) => COLUMN.test(name) && isBindable(value)).slice(0, 2);
  const clauses = fitting.map(([name, value]) => {
    const [, column] = COLUMN.exec(name) ?? [];
    return `\n[[AND ${column} ${Array.isArray(value) ? `IN ({{${name}}})` : `= {{${name}}}`}]]`;
  });
  return `SELECT * FROM orders\nWHERE customer = {{user_group_id}}${clauses.join("")}`;
}

/** Whether a value is one that a template can have, or a list of them. */
const isBindable = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every((each) => typeof each === typeof value[0] && typeof each !== "object")
    : value !== null && typeof value !== "object";

/** The page that shows what viewers of a group get: its variables. It mints nothing, and does not count as a view. */
const show = withGroup((c, group) => respondWithView(c, group, {}, []));

/** The same page with the variables of a person, and an SQL template that is bound as viewers get it. */
const send = withGroup((c, group) => {
  const found = personIn(c);
  if (!found.ok) return respondWithView(c, group, {}, found.failure);
  const person = found.value;
  const given = jsonIn(linesOf(c.get("form").get("values") ?? ""), "values");
  if (!given.ok) return respondWithView(c, group, { person }, given.failure);
  const query = parseForm(c, QueryBody(), ["placeholders"], { sql: templateIn(c), values: given.value ?? undefined });
  if (!query.ok) return respondWithView(c, group, { person }, query.failure.issues);
  const { sql: template, placeholders, values } = query.value;
  if (template.trim() === "") return respondWithView(c, group, { person }, []);
  const variables = templateVariables(group, person, values);
  const bound = bindTemplate(template, variables, placeholders);
  if (!bound.ok) {
    return respondWithView(c, group, { person }, [{ path: ["sql"], message: detailOf(bound.failure) }]);
  }
  const droppedParts = droppedClauses(template, variables, placeholders);
  const unsorted = variablesThatSortNothing(template, placeholders);
  return respondWithView(c, group, { person, bound: { ...bound.value, template, droppedParts, unsorted } }, []);
});

export const viewAs = { show, send };

function detailOf(failure: BindFailure): string {
  if (failure.code === "invalid_template") return `At position ${failure.position}: ${failure.reason}`;
  const [issue] = issuesOf(failure);
  return "variable" in failure ? `${failure.variable}: ${issue?.message}` : (issue?.message ?? "");
}

const templateIn = (c: EnvironmentCall): string => linesOf(c.get("form").get("sql") ?? "");

/** The fields of a mint that name the person. */
const PersonBody = lazy(() => z.strictObject(personFields()));

/** The person of a session that would be minted with these fields. */
function personIn(c: EnvironmentCall): Result<Person, Issue[]> {
  const properties = jsonIn(linesOf(c.get("form").get("viewer_properties") ?? ""), "viewer_properties");
  const others = properties.ok ? { viewer_properties: properties.value ?? undefined } : {};
  const body = parseForm(c, PersonBody(), ["viewer_id"], others);
  if (!body.ok || !properties.ok) return fail([...schemaIssues(body), ...(properties.ok ? [] : properties.failure)]);
  return ok(personOf({ viewerId: body.value.viewer_id, viewerProperties: body.value.viewer_properties }));
}

function respondWithView(
  c: EnvironmentCall,
  group: ListedGroup,
  { person = {}, bound }: { person?: Person; bound?: Bound },
  issues: Issue[],
): Promise<Response> {
  if (group.deletedAt !== null)
    return respondWithMessage(c, 409, "View as: not now", "The group is deleted, and its viewers find nothing.");
  return respondWithPage(c, {
    title: `View as: ${group.name}`,
    crumbs: groupCrumbs(c.get("environment"), group),
    heading: <Heading words="View as" value={group.name} />,
    issues,
    children: (
      <>
        <p>What viewers of this group get. Nothing is minted here.</p>
        {stateOf(group) === "suspended" && (
          <Notice>The group is suspended: its viewers are refused until it is resumed.</Notice>
        )}
        <div class="halves">
          <div>
            <TemplateForm c={c} group={group} issues={issues} />
          </div>
          <div>
            {bound && <BoundSql bound={bound} />}
            <h2>Variables</h2>
            <table>
              <ValueRows values={variablesOf(group, person)} />
            </table>
          </div>
        </div>
      </>
    ),
  });
}

const PLACEHOLDERS: [value: string, text: string][] = [
  ["?", "? (MySQL, SQLite, DuckDB)"],
  ["$1", "$1, $2 … (PostgreSQL)"],
  ["%s", "%s (drivers of Python)"],
  ["@p1", "@p1, @p2 … (SQL Server)"],
  ["{p1:String}", "{p1:String}, {p2:Int64} … (ClickHouse)"],
];

const PERSON_FIELDS = ["viewer_id", "viewer_properties"];

const TemplateForm: FC<{ c: EnvironmentCall; group: ListedGroup; issues: Issue[] }> = ({ c, group, issues }) => {
  const field = (name: string, initial = "") => ({ name, value: linesOf(c.get("form").get(name) ?? initial), issues });
  const isOpen =
    PERSON_FIELDS.some((name) => field(name).value !== "") ||
    issues.some(({ path }) => PERSON_FIELDS.includes(String(path[0])));
  return (
    <Form c={c} action={c.req.path} class="page">
      <TextArea {...field("sql", exampleOf(group))} label="SQL template" rows={6} />
      <Select {...field("placeholders", "?")} label="Placeholders" options={PLACEHOLDERS} />
      <TextArea {...field("values")} label="values (optional)" hint={VALUES_HINT} rows={2} />
      <details class="field" open={isOpen}>
        <summary>As one person (optional)</summary>
        <TextField {...field("viewer_id")} label="viewer_id" hint="As if a session were minted for this person." />
        <TextArea {...field("viewer_properties")} label="viewer_properties" hint={PROPERTIES_HINT} rows={3} />
      </details>
      <button type="submit" class="primary">
        Bind
      </button>
    </Form>
  );
};

const VALUES_HINT =
  'A JSON object, such as {"from": "2026-10-01"}: what the page chooses, {{value.from}} in the template.';
const PROPERTIES_HINT = 'A JSON object, such as {"region": "eu"}: what only this person may see.';

const BoundSql: FC<{ bound: Bound }> = ({ bound: { sql, params, dropped, template, droppedParts, unsorted } }) => (
  <>
    <h2>Bound SQL</h2>
    {unsorted.map((name) => (
      <Notice>
        <Text value={`ORDER BY {{${name}}}`} /> sorts nothing: a parameter has one value for all rows. Name the columns
        in a CASE, such as <Text value={`ORDER BY CASE {{${name}}} WHEN 'amount' THEN amount END`} />.
      </Notice>
    ))}
    <pre tabindex={0}>
      {sql.trim() === "" ? "Nothing is left: every clause was dropped." : <CodeText value={sql} />}
    </pre>
    <h2>Parameters</h2>
    <Params params={params} />
    {dropped.length > 0 && (
      <>
        <h2>Dropped clauses</h2>
        <p>
          Missing: <Text value={dropped.join(", ")} />. What is struck through is not in the SQL above.
        </p>
        <pre tabindex={0}>{markedTemplate(template, droppedParts)}</pre>
      </>
    )}
  </>
);

/** The values of the placeholders: in their order, or by their names. */
const Params: FC<{ params: BoundQuery["params"] }> = ({ params }) => {
  const entries = Object.entries(params);
  if (entries.length === 0) return <p>None.</p>;
  const items = entries.map(([name, value]) => (
    <li>
      <code>
        {Array.isArray(params) ? "" : `${name}: `}
        <Text value={JSON.stringify(value)} />
      </code>
    </li>
  ));
  return Array.isArray(params) ? <ol>{items}</ol> : <ul>{items}</ul>;
};

function markedTemplate(template: string, parts: { start: number; end: number }[]): Child[] {
  let at = 0;
  const marked = parts.flatMap(({ start, end }) => {
    const before = template.slice(at, start);
    at = end;
    return [
      <CodeText value={before} />,
      <del>
        <CodeText value={template.slice(start, end)} />
      </del>,
    ];
  });
  return [...marked, <CodeText value={template.slice(at)} />];
}
