import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import { undoMsOf } from "../../../../../common/settings/settings.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { purgeAtOf } from "../../../../domain/days.ts";
import type { ShownGroup } from "../../../../domain/feed/endings.ts";
import { etagOf, stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { ListedGroup, StoredEvent } from "../../../../records.ts";
import { ifAnswered } from "../../../durable-objects.ts";
import { JSON_FIELDS, labelOf, prettyJson, TEXT_FIELDS } from "../../components/content.ts";
import { Badge, ButtonLink, Done, Facts, Links, Menu, Split, ValueRows } from "../../components/detail.tsx";
import { By, Feed, type Line, Reason } from "../../components/events.tsx";
import { Form } from "../../components/form.tsx";
import { CodeText, Day, Text, Time } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { eventsPath, groupPath } from "../../paths.ts";
import { respondWithPage } from "../../response/respond-with-page.tsx";
import { offeredChanges } from "./changes.tsx";
import { groupCrumbs, withGroup } from "./group-page.ts";

const EVENTS_SHOWN = 10;

/** One group: its state and who decided it, what can be done with it, what happened, and its fields. */
export const showGroup = withGroup(async (c, group) => {
  const environment = c.get("environment");
  const activity = await activityOf(c, group);
  return respondWithPage(c, {
    title: group.name,
    crumbs: groupCrumbs(environment, group).slice(0, -1),
    heading: [<Text value={group.name} />, " ", <Badge state={stateOf(group)} />],
    subline: [<Text in="code" value={group.providedId} />, " · number ", <code>{group.teamId}</code>],
    actions: <Actions c={c} group={group} />,
    children: (
      <>
        <Done done={c.req.query("done")} results={resultsOf(environment, group)} />
        <Banner c={c} group={group} />
        <Split facts={<GroupFacts group={group} />}>
          <h2>Activity</h2>
          <Activity environment={environment} teamId={group.teamId} {...activity} />
          {JSON_FIELDS.map((field) => (
            <>
              <h2>{labelOf(field)}</h2>
              <Json text={group[field]} none={EMPTY[field]} />
            </>
          ))}
        </Split>
      </>
    ),
  });
});

/** What can be done with a group: one primary action, Edit, and the rest in a menu. */
const Actions: FC<{ c: EnvironmentCall; group: ListedGroup }> = ({ c, group }) => {
  const path = groupPath(c.get("environment"), group.teamId);
  const { canEdit, changes } = offeredChanges(group, c.get("operator").role);
  return (
    <>
      {group.deletedAt === null && <ButtonLink path={`${path}/view-as`} text="View as this group" tone="primary" />}
      {canEdit && <ButtonLink path={`${path}/edit`} text="Edit" />}
      {changes.length > 0 && (
        <Menu text="More" label="More changes of this group">
          <Links
            links={changes.map(({ word, title, hint, isDangerous }) => ({
              path: `${path}/${word}`,
              text: [title, <small>{hint}</small>],
              class: isDangerous ? "danger" : "",
            }))}
          />
        </Menu>
      )}
    </>
  );
};

type Shown = { events: StoredEvent[]; hasMore: boolean };

/** The newest events of a group. A directory of 1.0 does not answer. */
async function activityOf(c: EnvironmentCall, { teamId }: ListedGroup): Promise<Shown> {
  const query = { from: undefined, limit: EVENTS_SHOWN };
  const read = await ifAnswered(async () => c.get("directory").history(c.get("operator"), teamId, query));
  return read?.ok ? { events: read.value.events, hasMore: read.value.next !== null } : { events: [], hasMore: true };
}

const Banner: FC<{ c: EnvironmentCall; group: ShownGroup }> = ({ c, group }) => {
  const [environment, isSupport] = [c.get("environment"), allowsRole(c.get("operator").role, "support")];
  const path = groupPath(environment, group.teamId);
  const { deletedAt, suspendedAt, suspendedReason } = group;
  if (deletedAt !== null)
    return (
      <div class="notice warn">
        <p>
          <Decided word="Deleted" at={deletedAt} by={<By actor={group.deletedBy} environment={environment} />} />. It
          can be restored as it was, until it is purged <Time at={purgeAtOf(deletedAt, undoMsOf(c.env))} />.
        </p>
        {isSupport && (
          <Form c={c} action={`${path}/restore`} class="row">
            <input type="hidden" name="etag" value={etagOf(group)} />
            <button type="submit" class="primary">
              Restore
            </button>
            <ButtonLink path={`${path}/restore`} text="With a new token or id…" />
          </Form>
        )}
      </div>
    );
  if (suspendedAt === null) return null;
  return (
    <div class="notice warn">
      <p>
        <Decided word="Suspended" at={suspendedAt} by={<By actor={group.suspendedBy} environment={environment} />} />
        {suspendedReason === null && ", without a reason"}
        <Reason text={suspendedReason} />. Its viewers are refused. Calls with API keys work as before.
      </p>
      {isSupport && <ButtonLink path={`${path}/resume`} text="Resume…" />}
    </div>
  );
};

const Decided: FC<{ word: string; at: number; by: Child }> = ({ word, at, by }) => (
  <b>
    {word} <Time at={at} />
    {by}
  </b>
);

const Activity: FC<Shown & { environment: Environment; teamId: number }> = ({ events, hasMore, ...of }) => {
  const { environment, teamId } = of;
  const lines = events.map((event): Line => [{ ...event, environment }]);
  return [
    lines.length > 0 || hasMore ? (
      <Feed lines={lines} known={{ group: true, environment: true }} isCut={false} />
    ) : (
      <p class="hint">No changes that are still kept.</p>
    ),
    hasMore && (
      <p>
        <a href={eventsPath(environment, { team_id: String(teamId) })}>All events of this group</a>
      </p>
    ),
  ];
};

/** What a change has done, and what undoes it. A group that was suspended or deleted has a banner, which says so. */
function resultsOf(environment: Environment, { teamId }: ListedGroup): Record<string, Child> {
  const path = groupPath(environment, teamId);
  return {
    updated: "The group was changed.",
    rotated: "The token was replaced. Programs with groups:read and tokens:read get the new one.",
    resumed: [
      "The group is active, and its viewers are admitted. To undo it, ",
      <a href={`${path}/suspend`}>suspend it</a>,
    ],
    restored: ["The group is back. To undo it, ", <a href={`${path}/delete`}>delete it</a>],
    "ended-sessions": "The sessions of this group have ended. Its token goes on.",
  };
}

const EMPTY: Record<(typeof JSON_FIELDS)[number], string> = {
  properties: "None. An integrator gives them when it creates or changes the group.",
  mapping: "None: dashboards of this group use each schema's own data source.",
};

const GroupFacts: FC<{ group: ListedGroup }> = ({ group }) => (
  <>
    <h2>About</h2>
    <Facts
      facts={[
        ...TEXT_FIELDS.filter((field) => field !== "name").map((field): [string, Child] => [
          labelOf(field),
          group[field] === null ? "none" : <Text value={group[field]} />,
        ]),
        ["Last viewed", <Day day={group.lastViewedOn} none="never, as far as is known" />],
        ["Created", <Time at={group.createdAt} />],
        ["Edited", [<Time at={group.updatedAt} />, " ", <small>revision {group.revision}</small>]],
      ]}
    />
  </>
);

/** A stored object: a row for each name, or the JSON if a value is long or there are many. */
const Json: FC<{ text: string | null; none: string }> = ({ text, none }) => {
  const values: Record<string, unknown> = JSON.parse(text ?? "{}");
  const texts = Object.values(values).map((value) => JSON.stringify(value));
  if (text === null || texts.length === 0) return <p class="hint">{none}</p>;
  const isSimple = texts.length <= ROWS_MAX && texts.every(({ length }) => length <= SIMPLE_UNITS_MAX);
  if (!isSimple)
    return (
      <pre tabindex={0}>
        <CodeText value={prettyJson(text)} />
      </pre>
    );
  return (
    <table>
      <ValueRows values={values} />
    </table>
  );
};

const SIMPLE_UNITS_MAX = 200;
const ROWS_MAX = 50;
