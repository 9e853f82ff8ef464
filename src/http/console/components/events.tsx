import type { Child, FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { Actor, EventType, StoredEvent } from "../../../records.ts";
import { environmentPath, groupPath, keyPath, operatorPath } from "../paths.ts";
import { Text, Time, utcTime } from "./text.tsx";

/** What has happened, in words. */
export const EVENT_WORDS: Record<EventType, string> = {
  "user_group.created": "Group created",
  "user_group.updated": "Group changed",
  "user_group.token_rotated": "Token rotated",
  "user_group.suspended": "Group suspended",
  "user_group.resumed": "Group resumed",
  "user_group.deleted": "Group deleted",
  "user_group.restored": "Group restored",
  "user_group.purged": "Group purged",
  "viewer_sessions.ended": "Viewer sessions ended",
  "api_key.issued": "API key issued",
  "api_key.rolled": "API key rolled",
  "api_key.revoked": "API key revoked",
  "operator.issued": "Operator issued",
  "operator.rolled": "Operator rolled",
  "operator.revoked": "Operator revoked",
  "environment.created": "Environment created",
  "environment.restored": "Environment restored",
  "environment.erased": "Environment erased",
};

const TONES: Partial<Record<EventType, string>> = {
  "user_group.suspended": "warn",
  "user_group.deleted": "bad",
  "user_group.purged": "bad",
  "api_key.revoked": "warn",
  "operator.revoked": "warn",
  "environment.erased": "bad",
};

/** Who made a change, with a link to them. API keys have pages in their environment alone. */
export const ActorLink: FC<{ actor: Actor; environment: Environment | undefined }> = ({ actor, environment }) => {
  const { kind, id, name } = actor;
  if (kind === "system") return <>the service itself</>;
  if (kind === "operator")
    return id === null ? <>the bootstrap token</> : <NamedLink path={operatorPath(id)} name={name} />;
  const path = environment && id !== null ? keyPath(environment, id) : undefined;
  return (
    <>
      the API key <NamedLink path={path} name={name} />
    </>
  );
};

const NamedLink: FC<{ path: string | undefined; name: string }> = ({ path, name }) =>
  path === undefined ? (
    <Text value={name} />
  ) : (
    <a href={path}>
      <Text value={name} />
    </a>
  );

/** The keys, operators and environments that an event names. */
function Subjects({ event: { details }, environment }: FeedItem): Child {
  const { api_key: key, operator, environment: subject, successor_id: successor } = details;
  const of = subject && { workspace: subject.workspace, tag: subject.environment as Environment["tag"] };
  const pathOf = (id: number) => (operator ? operatorPath(id) : environment && keyPath(environment, id));
  const named = key ?? operator;
  return (
    <>
      {named && (
        <>
          {" "}
          <NamedLink path={pathOf(named.id)} name={named.name} />
        </>
      )}
      {of && (
        <>
          {" "}
          <NamedLink path={environmentPath(of)} name={directoryName(of)} />
        </>
      )}
      {successor !== undefined && (
        <>
          , replaced by <NamedLink path={pathOf(successor)} name={`number ${successor}`} />
        </>
      )}
    </>
  );
}

/** What else an event says, as short texts that others may have written. */
const detailsOf = (details: StoredEvent["details"]) => [
  ...(details.changed ? [details.changed.map((name) => (name === "provided_id" ? "id" : name)).join(", ")] : []),
  ...(details.previous_provided_id === undefined ? [] : [`previously ${details.previous_provided_id}`]),
  ...(details.session_id === undefined ? [] : [`session ${details.session_id}`]),
  ...(details.viewer_id === undefined ? [] : [`viewer ${details.viewer_id}`]),
  ...(details.unsigned ? ["signatures not checked"] : []),
];

type FeedItem = { event: StoredEvent; environment: Environment | undefined };

const Item: FC<FeedItem & { hasGroups: boolean }> = ({ event, environment, hasGroups }) => {
  const { type, teamId, providedId, actor, details, at } = event;
  const word = EVENT_WORDS[type];
  const extras = detailsOf(details);
  return (
    <li class={TONES[type] ?? ""}>
      <div>
        <b>{hasGroups ? word : word.replace(/^Group (.)/, (_, letter: string) => letter.toUpperCase())}</b>
        {hasGroups && environment && teamId !== null && (
          <>
            {" "}
            <NamedLink path={groupPath(environment, teamId)} name={providedId ?? String(teamId)} />
          </>
        )}
        <Subjects event={event} environment={environment} /> by <ActorLink actor={actor} environment={environment} />
        <Reason text={details.reason} />
        {extras.length > 0 && (
          <>
            <br />
            <small>
              <Text value={extras.join("; ")} />
            </small>
          </>
        )}
      </div>
      <Time at={at} />
    </li>
  );
};

/** Why somebody made a change, in their words, after a colon; nothing without a reason. */
export const Reason: FC<{ text: string | null | undefined }> = ({ text }) =>
  typeof text === "string" ? (
    <>
      :{" "}
      <q>
        <Text value={text} />
      </q>
    </>
  ) : null;

type FeedProps = { events: StoredEvent[]; environment: Environment | undefined; hasGroups?: boolean };

/** Events in the order of `events`: of one group, or, with `hasGroups`, of an environment. The deployment's have no environment. */
export const Feed: FC<FeedProps> = ({ events, environment, hasGroups = false }) => (
  <ol class="feed">
    {events.map((event) => (
      <Item event={event} environment={environment} hasGroups={hasGroups} />
    ))}
  </ol>
);

type SearchedPage = { events: StoredEvent[]; next: unknown; searchedBackTo?: number | null | undefined };

/** Up to when a page of events was searched that has fewer rows than it could have, though there are older events. */
export const SearchedBackTo: FC<{ page: SearchedPage; rows: number }> = ({ page, rows }) => {
  const { events, next, searchedBackTo } = page;
  if (next === null || events.length >= rows || typeof searchedBackTo !== "number") return null;
  return (
    <>
      Searched back to {utcTime(searchedBackTo)} (<Time at={searchedBackTo} />
      ). The next page goes on from there.
    </>
  );
};
