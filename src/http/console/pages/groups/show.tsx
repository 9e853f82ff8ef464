import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import { undoMsOf } from "../../../../../common/settings/settings.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { purgeAtOf } from "../../../../domain/days.ts";
import type { ShownGroup } from "../../../../domain/feed/endings.ts";
import type { InspectedGroup } from "../../../../domain/user-groups/overview.ts";
import { etagOf, stateOf } from "../../../../domain/user-groups/user-group.ts";
import type { Actor, ListedGroup, StoredEvent } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { ifAnswered } from "../../../durable-objects.ts";
import { JSON_FIELDS, labelOf, prettyJson, TEXT_FIELDS } from "../../components/content.ts";
import { Badge, Done, Facts, Menu, Split, ValueRows } from "../../components/detail.tsx";
import { ActorLink, Feed, Reason } from "../../components/events.tsx";
import { Form } from "../../components/form.tsx";
import { CodeText, Day, Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { groupPath } from "../../paths.ts";
import { respondWithPage } from "../../response/respond-with-page.tsx";
import { offeredChanges } from "./changes.tsx";
import { groupCrumbs, inspectGroup } from "./inspect.ts";

type Call = RequestContext<EnvironmentEnv>;

const EVENTS_SHOWN = 10;

/** One group: its state and who decided it, what can be done with it, what happened, and its fields. */
export async function showGroup(c: Call): Promise<Response> {
  const inspected = await inspectGroup(c);
  if (inspected instanceof Response) return inspected;
  const { group } = inspected;
  const environment = c.get("environment");
  const activity = await activityOf(c, inspected);
  return respondWithPage(c, {
    title: group.name,
    crumbs: groupCrumbs(environment, group).slice(0, -1),
    heading: (
      <>
        <Text value={group.name} /> <Badge state={stateOf(group)} />
      </>
    ),
    subline: (
      <>
        <code>
          <Text value={group.providedId} />
        </code>{" "}
        · number <code>{group.teamId}</code>
      </>
    ),
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
}

/** What can be done with a group: one primary action, Edit, and the rest in a menu. */
const Actions: FC<{ c: Call; group: ListedGroup }> = ({ c, group }) => {
  const path = groupPath(c.get("environment"), group.teamId);
  const { canEdit, changes } = offeredChanges(group, c.get("operator").role);
  return (
    <>
      {group.deletedAt === null && (
        <a class="button primary" href={`${path}/view-as`}>
          View as this group
        </a>
      )}
      {canEdit && (
        <a class="button" href={`${path}/edit`}>
          Edit
        </a>
      )}
      {changes.length > 0 && (
        <Menu text="More" label="More changes of this group">
          <ul>
            {changes.map(({ word, title, hint, isDangerous }) => (
              <li>
                <a href={`${path}/${word}`} class={isDangerous ? "danger" : ""}>
                  {title}
                  <small>{hint}</small>
                </a>
              </li>
            ))}
          </ul>
        </Menu>
      )}
    </>
  );
};

/** What has changed of a group lately, and whether there may be more. */
type Shown = { events: StoredEvent[]; hasMore: boolean };

/** The newest events of a group, wherever they are in the feed. A directory of 1.0 shows those among the newest of the environment. */
async function activityOf(c: Call, { group, events }: InspectedGroup): Promise<Shown> {
  const query = { from: undefined, limit: EVENTS_SHOWN };
  const read = await ifAnswered(async () => c.get("directory").history(c.get("operator"), group.teamId, query));
  if (!read?.ok) return { events: events.slice(0, EVENTS_SHOWN), hasMore: true };
  return { events: read.value.events, hasMore: read.value.next !== null };
}

/** Why a group is not active, who decided it, and the way back. */
const Banner: FC<{ c: Call; group: ShownGroup }> = ({ c, group }) => {
  const isSupport = allowsRole(c.get("operator").role, "support");
  const path = groupPath(c.get("environment"), group.teamId);
  if (group.deletedAt !== null) return <DeletedBanner c={c} group={group} />;
  if (group.suspendedAt === null) return null;
  return (
    <div class="notice warn">
      <p>
        <b>
          Suspended <Time at={group.suspendedAt} />
          <By actor={group.suspendedBy} environment={c.get("environment")} />
        </b>
        {group.suspendedReason === null && ", without a reason"}
        <Reason text={group.suspendedReason} />. Its viewers are refused. Calls with API keys work as before.
      </p>
      {isSupport && (
        <a class="button" href={`${path}/resume`}>
          Resume…
        </a>
      )}
    </div>
  );
};

const By: FC<{ actor: Actor | null | undefined; environment: Environment }> = ({ actor, environment }) =>
  actor ? (
    <>
      {" "}
      by <ActorLink actor={actor} environment={environment} />
    </>
  ) : null;

/** A deleted group is restored from its own page: the form asks for nothing. */
const DeletedBanner: FC<{ c: Call; group: ShownGroup }> = ({ c, group }) => {
  const environment = c.get("environment");
  const path = `${groupPath(environment, group.teamId)}/restore`;
  return (
    <div class="notice warn">
      <p>
        <b>
          Deleted <Time at={group.deletedAt} />
          <By actor={group.deletedBy} environment={environment} />
        </b>
        . It can be restored as it was, until it is purged{" "}
        <Time at={group.deletedAt === null ? null : purgeAtOf(group.deletedAt, undoMsOf(c.env))} />.
      </p>
      {allowsRole(c.get("operator").role, "support") && (
        <Form ring={c.get("ring")} session={c.get("session")} action={path} class="row">
          <input type="hidden" name="etag" value={etagOf(group)} />
          <button type="submit" class="primary">
            Restore
          </button>
          <a class="button" href={path}>
            With a new token or id…
          </a>
        </Form>
      )}
    </div>
  );
};

const Activity: FC<Shown & { environment: Environment; teamId: number }> = ({
  events,
  hasMore,
  environment,
  teamId,
}) => (
  <>
    {events.length === 0 && !hasMore ? (
      <p class="hint">No changes that are still kept.</p>
    ) : (
      <Feed events={events} environment={environment} />
    )}
    {hasMore && (
      <p>
        <a href={`${groupPath(environment, teamId)}/events`}>Older events of this group</a>
      </p>
    )}
  </>
);

/** What a change has done, and what undoes it. A group that was suspended or deleted has a banner, which says so. */
function resultsOf(environment: Environment, { teamId }: ListedGroup): Record<string, Child> {
  const path = groupPath(environment, teamId);
  return {
    updated: "The group was changed.",
    rotated: "The token was replaced. Programs with groups:read and tokens:read get the new one.",
    resumed: (
      <>
        The group is active, and its viewers are admitted. To undo it, <a href={`${path}/suspend`}>suspend it</a>.
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

/** What stands in place of an object that a group lacks. */
const EMPTY: Record<(typeof JSON_FIELDS)[number], string> = {
  properties: "None. An integrator gives them when it creates or changes the group.",
  mapping: "None: dashboards of this group use each schema's own data source.",
};

const GroupFacts: FC<{ group: ListedGroup }> = ({ group }) => (
  <>
    <h2>About</h2>
    <Facts
      facts={[
        [
          "Id",
          <code>
            <Text value={group.providedId} />
          </code>,
        ],
        ["Number (team_id)", <code>{group.teamId}</code>],
        ...TEXT_FIELDS.filter((field) => field !== "name").map((field): [string, Child] => [
          labelOf(field),
          group[field] === null ? "none" : <Text value={group[field]} />,
        ]),
        ["Last viewed", <Day day={group.lastViewedOn} none="never, as far as is known" />],
        ["Created", <Time at={group.createdAt} />],
        [
          "Edited",
          <>
            <Time at={group.updatedAt} /> <small>revision {group.revision}</small>
          </>,
        ],
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
