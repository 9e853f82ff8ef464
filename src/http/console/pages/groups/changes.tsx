import type { Child } from "hono/jsx";
import type { Issue } from "../../../../../common/issue.ts";
import type { Result } from "../../../../../common/result.ts";
import { undoMsOf } from "../../../../../common/settings/settings.ts";
import { allowsRole, type Role } from "../../../../domain/credentials/rights.ts";
import { purgeAtOf } from "../../../../domain/days.ts";
import type { Failure } from "../../../../domain/failure.ts";
import { parseIfMatch } from "../../../../domain/user-groups/entity-tag.ts";
import type { EndedLeases } from "../../../../domain/user-groups/lease-requests.ts";
import { etagOf, stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { GroupState, ListedGroup } from "../../../../records.ts";
import { ReasonBody } from "../../../resources/fields.ts";
import { RestoreBody, RotateByNumberBody } from "../../../resources/user-groups-by-number/wire.ts";
import { deleteLeases } from "../../../response/ended-leases.ts";
import { Checkbox, ConfirmationField, TextField } from "../../components/form.tsx";
import { GraceField } from "../../components/key-details.tsx";
import { Heading, Text, utcTime } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { GROUP_PATTERN, type GroupChange, pageAccessOf } from "../../page-access.ts";
import { environmentPath, groupPath, withQuery } from "../../paths.ts";
import {
  confirmationIssues,
  fieldsOf,
  issuesOf,
  numberIn,
  parseForm,
  schemaIssues,
} from "../../request/form-fields.ts";
import { respondWithForm } from "../../response/respond-with-form.tsx";
import { redirect, respondWithMessage } from "../../response/respond-with-page.tsx";
import { groupCrumbs, withGroup } from "./group-page.ts";

/** A change of a group that is not an edit of its fields. */
type Change = {
  title: string;
  hint: string;
  states: GroupState[];
  isDangerous?: boolean;
  effects: (c: EnvironmentCall, group: ListedGroup) => Child[];
  fields?: (c: EnvironmentCall, group: ListedGroup, issues: Issue[]) => Child;
  check?: (c: EnvironmentCall, group: ListedGroup) => Issue[];
  run: (c: EnvironmentCall, group: ListedGroup) => Promise<Result<Partial<EndedLeases> | undefined, Failure>>;
  failureFields?: Partial<Record<Failure["code"], string>>;
  /** The word by which the next page says what was done. After a purge there is no group. */
  done: string;
};

/** What an operator types to confirm a change: the group's id, or its number if the id is long or hard to type. */
const confirmationOf = ({ providedId, teamId }: ListedGroup): string =>
  /^\w(?:[\w .@-]{0,38}\w)?$/.test(providedId) ? providedId : String(teamId);

const conditions = (c: EnvironmentCall) => ({ ifMatch: parseIfMatch(c.get("form").get("etag") ?? "") ?? [] });

const update = (c: EnvironmentCall, { teamId }: ListedGroup, suspended: boolean) => {
  const { directory, operator } = c.var;
  return directory.updateByNumber(operator, teamId, { suspended }, { ...conditions(c), isMergePatch: false });
};

const CHANGES: Record<GroupChange, Change> = {
  rotate: {
    title: "Rotate the token",
    hint: "replaces the token that pages have",
    states: ["active", "suspended"],
    effects: () => [
      "The group gets a new token, which is not shown here. Programs of the integrator get it from the API.",
      "The old token does nothing more, and its viewer sessions end; but within the grace, viewers may go on with both.",
    ],
    fields: (c, _, issues) => (
      <GraceField label="Grace for the old token" {...fieldsOf(c.get("form"), issues)("grace_seconds", "0")} />
    ),
    check: (c) =>
      schemaIssues(parseForm(c, RotateByNumberBody(), ["reason"], { grace_seconds: numberIn(c, "grace_seconds") })),
    run: (c, { teamId }) => {
      const graceSeconds = Number(numberIn(c, "grace_seconds") ?? 0);
      return c.get("directory").rotateByNumber(c.get("operator"), teamId, graceSeconds, conditions(c));
    },
    done: "rotated",
  },
  suspend: {
    title: "Suspend",
    hint: "refuses its viewers until you resume it",
    states: ["active"],
    effects: () => [
      "Viewers of this group are refused from now on, with tokens and with sessions. Stale answers end within 5 minutes.",
      "Nothing is deleted, and calls with API keys work as before. Resuming the group admits its viewers again.",
    ],
    run: (c, group) => update(c, group, true),
    done: "suspended",
  },
  resume: {
    title: "Resume",
    hint: "admits its viewers again",
    states: ["suspended"],
    effects: () => ["Viewers of this group are admitted again, with the tokens and sessions that they have."],
    run: (c, group) => update(c, group, false),
    done: "resumed",
  },
  "end-sessions": {
    title: "End its viewer sessions",
    hint: "pages ask for new ones",
    states: ["active", "suspended"],
    effects: () => [
      "All viewer sessions of this group end now. Pages ask their servers for new ones.",
      "The group's token goes on. To end that too, rotate it.",
    ],
    run: (c, { providedId }) => c.get("directory").endSessions(c.get("operator"), { kind: "group", providedId }),
    done: "ended-sessions",
  },
  delete: {
    title: "Delete",
    hint: "can be undone until it is purged",
    states: ["active", "suspended"],
    isDangerous: true,
    effects: (c, group) => [
      "The group's viewers find nothing more, and its token and sessions end. Stale answers end within 5 minutes.",
      <>
        Its id, <Text value={group.providedId} />, is free for another group.
      </>,
      <>Until {utcTime(purgeAtOf(Date.now(), undoMsOf(c.env)))} it can be restored as it was; then it is purged.</>,
    ],
    run: (c, { teamId }) => c.get("directory").removeByNumber(c.get("operator"), teamId, conditions(c)),
    done: "deleted",
  },
  restore: {
    title: "Restore",
    hint: "brings it back as it was",
    states: ["deleted"],
    effects: () => ["The group is back as it was, with its id, its token and its state."],
    fields: (c, _, issues) => (
      <>
        <div class="field">
          <Checkbox
            name="rotate_token"
            label="Give the group a new token. The old token stays refused."
            checked={c.get("form").has("rotate_token")}
          />
        </div>
        {allowsRole(c.get("operator").role, "admin") && (
          <TextField
            {...fieldsOf(c.get("form"), issues)("new_user_group_id")}
            label="New id (optional)"
            hint="If another group has its id now. The id decides whose data the token shows."
          />
        )}
      </>
    ),
    check: (c) => schemaIssues(restoreBody(c)),
    run: (c, { teamId }) => {
      const body = restoreBody(c);
      if (!body.ok) return Promise.resolve(body);
      const options = { newProvidedId: body.value.new_user_group_id, rotateToken: body.value.rotate_token };
      return c.get("directory").restore(c.get("operator"), teamId, options, {});
    },
    failureFields: { user_group_id_taken: "new_user_group_id" },
    done: "restored",
  },
  purge: {
    title: "Purge",
    hint: "erases it for good",
    states: ["deleted"],
    isDangerous: true,
    effects: () => [
      "The group is erased now and for good. Nobody can restore it, and a restored backup does not bring it back.",
      "Only its events remain, with its number, its id and the reasons that people gave.",
    ],
    fields: (_, group, issues) => <ConfirmationField expected={confirmationOf(group)} issues={issues} />,
    check: (c, group) => confirmationIssues(c, confirmationOf(group)),
    run: (c, { teamId }) => c.get("directory").purge(c.get("operator"), teamId, {}),
    done: "purged",
  },
};

/** A change that a page offers: the last word of its path, and its texts. */
export type OfferedChange = { word: string; title: string; hint: string; isDangerous?: boolean };

/** What an operator with this role may do with the group. */
export function offeredChanges(group: ListedGroup, role: Role): { canEdit: boolean; changes: OfferedChange[] } {
  const isAllowed = (word: string) =>
    allowsRole(role, pageAccessOf("POST", `${GROUP_PATTERN}/${word}`)?.role ?? "admin");
  const changes = Object.entries(CHANGES).filter(
    ([word, { states }]) => states.includes(stateOf(group)) && isAllowed(word),
  );
  return {
    canEdit: group.deletedAt === null && isAllowed("edit"),
    changes: changes.map(([word, { title, hint, isDangerous = false }]) => ({ word, title, hint, isDangerous })),
  };
}

const restoreBody = (c: EnvironmentCall) =>
  parseForm(c, RestoreBody(), ["reason", "new_user_group_id"], { rotate_token: c.get("form").has("rotate_token") });

/** Makes a change, and leads to the group. A group that has changed since the page was opened is left as it is. */
async function makeChange(c: EnvironmentCall, change: Change, group: ListedGroup): Promise<Response> {
  const isAsSeen = c.get("form").get("etag") === etagOf(group);
  const issues = isAsSeen
    ? [...(change.check?.(c, group) ?? []), ...schemaIssues(parseForm(c, ReasonBody(), ["reason"]))]
    : issuesOf({ code: "revision_mismatch" });
  if (issues.length > 0) return respondWithChange(c, change, group, issues);
  const made = await change.run(c, group);
  if (!made.ok) return respondWithChange(c, change, group, issuesOf(made.failure, change.failureFields));
  c.set("teamId", group.teamId);
  deleteLeases(c, { endedLeases: made.value?.endedLeases ?? [] });
  const environment = c.get("environment");
  const deleted = withQuery(`${environmentPath(environment)}/groups`, { state: "deleted" });
  const own = withQuery(groupPath(environment, group.teamId), { done: change.done });
  return redirect(c, change.done === "purged" ? deleted : own);
}

export const GROUP_CHANGE_PAGES = Object.entries(CHANGES).map(([word, change]) => ({
  word,
  show: withGroup((c, group) => respondWithChange(c, change, group, [])),
  send: withGroup((c, group) => makeChange(c, change, group)),
}));

function respondWithChange(c: EnvironmentCall, change: Change, group: ListedGroup, issues: Issue[]): Promise<Response> {
  if (!change.states.includes(stateOf(group)))
    return respondWithMessage(c, 409, `${change.title}: not now`, `The group is ${stateOf(group)}.`);
  return respondWithForm(c, {
    title: `${change.title}: ${group.name}`,
    crumbs: groupCrumbs(c.get("environment"), group),
    heading: <Heading words={`${change.title}:`} value={group.name} />,
    issues,
    effects: change.effects(c, group),
    button: change.title,
    isDangerous: change.isDangerous,
    fields: (
      <>
        <input type="hidden" name="etag" value={etagOf(group)} />
        {change.fields?.(c, group, issues)}
      </>
    ),
  });
}
