import type { Child, FC } from "hono/jsx";
import { CONTENT, CONTENT_FIELDS, type ContentField } from "../../../../../common/content.ts";
import type { Issue } from "../../../../../common/issue.ts";
import { BODY_BYTES_MAX } from "../../../../../common/limits.ts";
import { fail, ok, type Result } from "../../../../../common/result.ts";
import { utf8 } from "../../../../domain/bytes.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { FailureOf } from "../../../../domain/failure.ts";
import { parseIfMatch } from "../../../../domain/user-groups/entity-tag.ts";
import { etagOf } from "../../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../../records.ts";
import { changesIn } from "../../../resources/user-groups/wire.ts";
import { UpdateByNumberBody } from "../../../resources/user-groups-by-number/wire.ts";
import { deleteLeases } from "../../../response/ended-leases.ts";
import { JSON_FIELDS, labelOf, prettyJson, TEXT_FIELDS } from "../../components/content.ts";
import { TextArea, TextField } from "../../components/form.tsx";
import { CodeText, Heading } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { groupPath, withQuery } from "../../paths.ts";
import { issuesOf, jsonIn, linesOf, parseForm, schemaIssues } from "../../request/form-fields.ts";
import { respondWithForm } from "../../response/respond-with-form.tsx";
import { redirect, respondWithMessage } from "../../response/respond-with-page.tsx";
import { groupCrumbs, withGroup } from "./group-page.ts";

type Values = Record<ContentField, string>;

const nameOf = (field: ContentField): string => (field === "providedId" ? "new_user_group_id" : CONTENT[field].column);

const show = withGroup((c, group) => respondWithEdit(c, group, valuesOf(group), []));

/** Edits a group. If it has changed since the page was opened, both values of each field are shown, and nothing is changed. */
const send = withGroup(async (c, group) => {
  const given = givenValues(c, group);
  if (c.get("form").get("etag") !== etagOf(group)) return respondWithEdit(c, group, given, [CONFLICT]);
  const body = bodyOf(c, group, given);
  if (!body.ok) return respondWithEdit(c, group, given, body.failure.issues);
  const options = { ifMatch: parseIfMatch(etagOf(group)), isMergePatch: false };
  const updated = await c
    .get("directory")
    .updateByNumber(c.get("operator"), group.teamId, changesIn(body.value), options);
  if (!updated.ok)
    return respondWithEdit(c, group, given, issuesOf(updated.failure, { user_group_id_taken: "new_user_group_id" }));
  c.set("teamId", group.teamId);
  deleteLeases(c, updated.value);
  return redirect(c, withQuery(groupPath(c.get("environment"), group.teamId), { done: "updated" }));
});

export const editGroup = { show, send };

const CONFLICT: Issue = {
  path: [],
  message:
    "The group has changed since you opened this page, and nothing was saved. Below each field that differs is what is stored " +
    "now. Take over what you need, and save again.",
};

const UNCHANGED: Issue = { path: [], message: "Nothing differs, and nothing was saved." };

const valuesOf = (group: ListedGroup): Values =>
  mapped((field) => (CONTENT[field].kind === "text" ? (group[field] ?? "") : prettyJson(group[field])));

/** What the operator has typed. A field that the form did not offer is as it is stored. */
function givenValues(c: EnvironmentCall, group: ListedGroup): Values {
  const form = c.get("form");
  const stored = valuesOf(group);
  return mapped((field) => linesOf(form.get(nameOf(field)) ?? stored[field]));
}

const mapped = (textOf: (field: ContentField) => string): Values =>
  Object.fromEntries(CONTENT_FIELDS.map((field) => [field, textOf(field)])) as Values;

/**
 * The body that the API would take for these values. Unchanged fields are left out: not every role may change the id, and this release may
 * refuse a value that an earlier one has stored.
 */
function bodyOf(c: EnvironmentCall, group: ListedGroup, given: Values) {
  const stored = valuesOf(group);
  const changed = CONTENT_FIELDS.filter((field) => given[field] !== linesOf(stored[field]));
  if (changed.length === 0) return refusalOf([UNCHANGED]);
  const values = changed.map((field) => [nameOf(field), valueIn(field, given[field])] as const);
  const inexact = values.flatMap(([, value]) => (value.ok ? [] : value.failure));
  const exact = values.flatMap(([name, value]) => (value.ok ? [[name, value.value]] : []));
  const body = parseForm(c, UpdateByNumberBody(), ["reason"], Object.fromEntries(exact));
  const issues = [...inexact, ...schemaIssues(body)].toSorted((one, other) => placeOf(one) - placeOf(other));
  return body.ok && issues.length === 0 ? body : refusalOf(issues);
}

/** Where the field of an issue is on the page. The reason comes last. */
function placeOf({ path: [name] }: Issue): number {
  const place = [...TEXT_FIELDS, "providedId" as const, ...JSON_FIELDS].findIndex((field) => nameOf(field) === name);
  return place === -1 ? Number.POSITIVE_INFINITY : place;
}

function valueIn(field: ContentField, text: string): Result<unknown, Issue[]> {
  const { kind, isNullable } = CONTENT[field];
  if (kind !== "text") return jsonIn(text, nameOf(field));
  return ok(isNullable && text === "" ? null : text);
}

const refusalOf = (issues: Issue[]): Result<never, FailureOf<"invalid_body">> => fail({ code: "invalid_body", issues });

function respondWithEdit(c: EnvironmentCall, group: ListedGroup, values: Values, issues: Issue[]): Promise<Response> {
  if (group.deletedAt !== null)
    return respondWithMessage(c, 409, "Edit: not now", "The group is deleted. Restore it first.");
  const stored = valuesOf(group);
  const isConflict = issues.includes(CONFLICT);
  const propsOf = (field: ContentField) => ({
    name: nameOf(field),
    label: labelOf(field),
    value: values[field],
    issues,
    note: isConflict && values[field] !== stored[field] ? <Stored value={stored[field]} /> : undefined,
  });
  return respondWithForm(c, {
    title: `Edit: ${group.name}`,
    crumbs: groupCrumbs(c.get("environment"), group),
    heading: <Heading words="Edit" value={group.name} />,
    ...(isConflict && { status: 412 }),
    issues,
    effects: EFFECTS,
    button: "Save",
    fields: (
      <>
        <input type="hidden" name="etag" value={etagOf(group)} />
        {TEXT_FIELDS.map((field) => (
          <TextField required={!CONTENT[field].isNullable} {...propsOf(field)} />
        ))}
        {allowsRole(c.get("operator").role, "admin") && (
          <TextField hint="The id decides whose data the group's token shows." required {...propsOf("providedId")} />
        )}
        {JSON_FIELDS.map((field) =>
          fitsForm(values[field]) ? (
            <TextArea {...AREAS[CONTENT[field].kind]} {...propsOf(field)} />
          ) : (
            <p>The {CONTENT[field].column} is too long for a form, and stays as it is. Change it with the API.</p>
          ),
        )}
      </>
    ),
  });
}

const AREAS = {
  object: { hint: "A JSON object, or nothing.", rows: 12 },
  mapping: { hint: "A JSON object from schema ids to data sources, or nothing.", rows: 6 },
};

/** Whether a form can send a value back. Merge patches can make a mapping that no single body holds. */
const fitsForm = (value: string): boolean => utf8.encode(value).length <= BODY_BYTES_MAX;

const EFFECTS: Child[] = [
  "Viewers and programs see the new values at once; a viewer that accepts stale answers, after the seconds that it allows.",
];

const Stored: FC<{ value: string }> = ({ value }) => (
  <>
    <p class="hint">Stored now:</p>
    {value === "" ? (
      <p>None.</p>
    ) : (
      <pre>
        <CodeText value={value} />
      </pre>
    )}
  </>
);
