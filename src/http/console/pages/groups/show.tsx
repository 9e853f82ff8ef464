import { createFactory } from "hono/factory";
import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import { undoMsOf } from "../../../../../common/settings/settings.ts";
import { purgeAtOf } from "../../../../domain/days.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../../records.ts";
import { JSON_FIELDS, labelOf, TEXT_FIELDS } from "../../components/content.ts";
import { Done } from "../../components/done.tsx";
import { EventTable } from "../../components/events.tsx";
import { prettyJson } from "../../components/json.ts";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { groupPath } from "../../paths.ts";
import { respondWithPage } from "../../response/respond-with-page.tsx";
import { offeredChanges } from "./changes.tsx";
import { inspectGroup } from "./inspect.ts";

/** One group: its fields, what can be done with it, and its newest events. */
export const showGroup = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const inspected = await inspectGroup(c, c.req.param("team_id") ?? "");
  if (inspected instanceof Response) return inspected;
  const { group, events } = inspected;
  const path = groupPath(c.get("environment"), group.teamId);
  const links = [
    ...(group.deletedAt === null ? [["view-as", "View as this group"] as const] : []),
    ...offeredChanges(group, c.get("operator").role),
  ];
  return respondWithPage(c, {
    title: `Group ${group.teamId}`,
    heading: (
      <>
        <Text value={group.name} /> <small class="mark">{stateOf(group)}</small>
      </>
    ),
    children: (
      <>
        <Done done={c.req.query("done")} results={resultsOf(c.get("environment"), group)} />
        <ul class="actions">
          {links.map(([word, text]) => (
            <li>
              <a href={`${path}/${word}`}>{text}</a>
            </li>
          ))}
        </ul>
        <Fields group={group} purgeAt={group.deletedAt === null ? null : purgeAtOf(group.deletedAt, undoMsOf(c.env))} />
        {JSON_FIELDS.map((field) => (
          <>
            <h2>{labelOf(field)}</h2>
            <Json text={group[field]} />
          </>
        ))}
        <h2>Newest events</h2>
        {events.length === 0 ? <p>None among the newest 1,000 of the environment.</p> : <EventTable events={events} />}
      </>
    ),
  });
});

/** What a change has done, and what undoes it. */
function resultsOf(environment: Environment, { teamId }: ListedGroup): Record<string, Child> {
  const path = groupPath(environment, teamId);
  return {
    updated: "The group was changed.",
    rotated: "The token was replaced. Programs with groups:read and tokens:read get the new one.",
    suspended: (
      <>
        The group is suspended, and its viewers are refused. To undo it, <a href={`${path}/resume`}>resume it</a>.
      </>
    ),
    resumed: (
      <>
        The group is active, and its viewers are admitted. To undo it, <a href={`${path}/suspend`}>suspend it</a>.
      </>
    ),
    deleted: (
      <>
        The group is deleted. To undo it, <a href={`${path}/restore`}>restore it</a>.
      </>
    ),
    restored: (
      <>
        The group is back. To undo it, <a href={`${path}/delete`}>delete it</a>.
      </>
    ),
    "ended-sessions": "The sessions of this group have ended. Its token goes on.",
  };
}

const Fields: FC<{ group: ListedGroup; purgeAt: number | null }> = ({ group, purgeAt }) => (
  <dl>
    <Field name="Id">
      <Text value={group.providedId} />
    </Field>
    <Field name="Number (team_id)">{group.teamId}</Field>
    {TEXT_FIELDS.filter((field) => field !== "name").map((field) => (
      <Field name={labelOf(field)}>{group[field] === null ? "none" : <Text value={group[field]} />}</Field>
    ))}
    {group.suspendedAt !== null && (
      <Field name="Suspended">
        <Time at={group.suspendedAt} />
        {group.suspendedReason !== null && (
          <>
            : <Text value={group.suspendedReason} />
          </>
        )}
      </Field>
    )}
    {group.deletedAt !== null && (
      <>
        <Field name="Deleted">
          <Time at={group.deletedAt} />
        </Field>
        <Field name="Can be restored until">
          <Time at={purgeAt} />
        </Field>
      </>
    )}
    <Field name="Last viewed">{group.lastViewedOn ?? "never, as far as is known"}</Field>
    <Field name="Created">
      <Time at={group.createdAt} />
    </Field>
    <Field name="Updated">
      <Time at={group.updatedAt} />
    </Field>
    <Field name="Revision">{group.revision}</Field>
  </dl>
);

const Field: FC<{ name: string; children?: Child }> = ({ name, children }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

/** A stored object, with line breaks. */
const Json: FC<{ text: string | null }> = ({ text }) =>
  text === null ? (
    <p>None.</p>
  ) : (
    <pre tabindex={0}>
      <Text value={prettyJson(text)} />
    </pre>
  );
