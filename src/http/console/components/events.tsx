import type { FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import { CHANGED_PROPERTIES_MAX } from "../../../../common/limits.ts";
import { dayOf } from "../../../domain/days.ts";
import { changedIn } from "../../../domain/feed/event.ts";
import type { Actor, EventType, StoredEvent } from "../../../records.ts";
import { environmentPath, groupPath, keyPath, operatorPath } from "../paths.ts";
import { Dotted, EnvironmentName } from "./detail.tsx";
import { Clock, DayName, HOUR_MS, Text, utcTime } from "./text.tsx";

export const EVENT_WORDS: Record<EventType, string> = {
  "user_group.created": "Created",
  "user_group.updated": "Changed",
  "user_group.token_rotated": "Rotated the token of",
  "user_group.suspended": "Suspended",
  "user_group.resumed": "Resumed",
  "user_group.deleted": "Deleted",
  "user_group.restored": "Restored",
  "user_group.purged": "Purged",
  "viewer_sessions.ended": "Ended viewer sessions of",
  "api_key.issued": "Issued the API key",
  "api_key.rolled": "Rolled the API key",
  "api_key.revoked": "Revoked the API key",
  "operator.issued": "Issued the operator",
  "operator.rolled": "Rolled the operator",
  "operator.revoked": "Revoked the operator",
  "environment.created": "Created the environment",
  "environment.restored": "Restored the environment",
  "environment.erased": "Erased the environment",
};

const TONES: Partial<Record<EventType, string>> = {
  "user_group.suspended": "warn",
  "user_group.deleted": "bad",
  "user_group.purged": "bad",
  "api_key.revoked": "warn",
  "operator.revoked": "warn",
  "environment.erased": "bad",
};

/** An event, the environment whose feed has it, if it is not the deployment's, and the name of its group, as far as it is known. */
export type FeedEvent = StoredEvent & { environment: Environment | undefined; groupName?: string | undefined };

/** A name that somebody else wrote, with a link if it has a page. */
export const Named: FC<{ path: string | undefined; name: string }> = ({ path, name }) => {
  const text = <Text value={name} />;
  return path === undefined ? text : <a href={path}>{text}</a>;
};

/** Who made a change, with a link to them. API keys have pages in their environment alone. */
const ActorLink: FC<{ actor: Actor; environment: Environment | undefined }> = ({ actor, environment }) => {
  const { kind, id, name } = actor;
  if (kind === "system") return "the service itself";
  if (kind === "operator") return id === null ? "the bootstrap token" : <Named path={operatorPath(id)} name={name} />;
  const path = environment && id !== null ? keyPath(environment, id) : undefined;
  return ["the API key ", <Named path={path} name={name} />];
};

export const By: FC<{ actor: Actor | null | undefined; environment: Environment | undefined }> = ({
  actor,
  environment,
}) => (actor ? [" by ", <ActorLink actor={actor} environment={environment} />] : null);

/** Why somebody made a change, in their words, after a colon; nothing without a reason. */
export const Reason: FC<{ text: string | null | undefined }> = ({ text }) =>
  typeof text === "string" ? [": ", <Text in="q" value={text} />] : null;

/** Changes that one line shows: equal ones of groups, newest first. */
export type Line = [newest: FeedEvent, ...older: FeedEvent[]];

/** What changes must share to be in one line. Each may have changed other properties. */
const kindOf = ({ type, actor, environment, details, at }: FeedEvent): string =>
  JSON.stringify([type, actor, environment, { ...details, changed: changedIn(details).fields }, dayOf(at)]);

/** Puts equal changes of groups that follow each other within an hour into one line. */
export function linesOf(events: readonly FeedEvent[]): Line[] {
  const lines: Line[] = [];
  for (const event of events) {
    const line = lines.at(-1);
    const last = line?.at(-1);
    const isNext = last && last.at - event.at <= HOUR_MS && event.teamId !== null && kindOf(last) === kindOf(event);
    if (line && isNext) line.push(event);
    else lines.push([event]);
  }
  return lines;
}

/** What a feed leaves out, because its page says it. */
type Known = { actor?: boolean; group?: boolean; environment?: boolean };
type FeedProps = {
  lines: Line[];
  known?: Known;
  heading?: "h2" | "h3";
  pathOfAll?: (line: Line) => string;
  /** Whether the last line may have further changes, which were not read. */
  isCut: boolean;
};

export const Feed: FC<FeedProps> = ({ lines, heading: Heading = "h3", isCut, ...props }) =>
  [...Map.groupBy(lines, ([{ at }]) => dayOf(at))].map(([day, ofDay]) => (
    <>
      <Heading class="day">
        <DayName day={day} />
      </Heading>
      <ol class="feed">
        {ofDay.map((line) => (
          <Item line={line} isCut={isCut && line === lines.at(-1)} {...props} />
        ))}
      </ol>
    </>
  ));

/** How many groups a line is about; of one group, how often it was changed. */
function countOf(line: Line, isCut: boolean): string {
  const groups = new Set(line.map(({ teamId }) => teamId)).size;
  return `${isCut ? " at least" : ""} ${groups === 1 ? `${line.length} times` : `${groups} groups`}`;
}

const Item: FC<{ line: Line } & Omit<FeedProps, "lines" | "heading">> = ({ line, known = {}, pathOfAll, isCut }) => {
  const [event] = line;
  const { type, actor, environment, details, at } = event;
  const oldest = line.at(-1)?.at ?? at;
  const isOfOne = line.every(({ teamId }) => teamId === event.teamId);
  return (
    <li class={TONES[type] ?? ""}>
      <div>
        <b>{wordOf(event, known)}</b>
        {isOfOne && <Subject event={event} isOfPage={known.group === true} />}
        {line.length > 1 && [countOf(line, isCut), pathOfAll && [" ", <a href={pathOfAll(line)}>show all</a>]]}
        {!known.actor && <By actor={actor} environment={environment} />}
        <Reason text={details.reason} />
        <Details line={line} isNamed={isOfOne && !known.group} known={known} />
      </div>
      <span>
        {utcTime(oldest) !== utcTime(at) && [<Clock at={oldest} />, "–"]}
        <Clock at={at} />
      </span>
    </li>
  );
};

/** What was done. On the page of its group, the group is not named again. */
function wordOf({ type, details }: FeedEvent, known: Known): string {
  const names = changedIn(details).fields.map((name) => (name === "provided_id" ? "id" : name.replaceAll("_", " ")));
  const word = type === "user_group.updated" && names.length > 0 ? `Changed ${names.join(", ")} of` : EVENT_WORDS[type];
  return known.group ? word.replace(/ of$/, "") : word;
}

const Subject: FC<{ event: FeedEvent; isOfPage: boolean }> = ({ event, isOfPage }) => {
  const { details, environment, teamId, providedId, groupName } = event;
  const { api_key: key, operator, environment: subject, successor_id: successor } = details;
  const pathOf = (id: number) => (operator ? operatorPath(id) : environment && keyPath(environment, id));
  const named = key ?? operator;
  if (named) {
    const replaced = successor !== undefined && [", replaced by ", <a href={pathOf(successor)}>its successor</a>];
    return [" ", <Named path={pathOf(named.id)} name={named.name} />, replaced];
  }
  if (subject) {
    const of = { workspace: subject.workspace, tag: subject.environment as Environment["tag"] };
    return [" ", <Named path={environmentPath(of)} name={directoryName(of)} />];
  }
  if (!environment || teamId === null || isOfPage) return null;
  return [" ", <Named path={groupPath(environment, teamId)} name={groupName ?? providedId ?? String(teamId)} />];
};

/** Where a change was made, and what else is known of it, as short texts that others may have written. */
const Details: FC<{ line: Line; isNamed: boolean; known: Known }> = ({ line, isNamed, known }) => {
  const [{ environment, providedId, details, groupName }] = line;
  const properties = [...new Set(line.flatMap((each) => changedIn(each.details).properties))];
  const texts = [
    isNamed && groupName !== undefined && groupName !== providedId && providedId,
    properties.slice(0, CHANGED_PROPERTIES_MAX).join(", ") + (properties.length < CHANGED_PROPERTIES_MAX ? "" : ", …"),
    details.previous_provided_id !== undefined && `previously ${details.previous_provided_id}`,
    details.session_id !== undefined && `session ${details.session_id}`,
    details.viewer_id !== undefined && `viewer ${details.viewer_id}`,
    details.unsigned && "signatures not checked",
  ].filter((text) => typeof text === "string" && text !== "");
  const place = environment ? <EnvironmentName of={environment} /> : "the deployment";
  const parts = [...(known.environment ? [] : [place]), ...texts.map((text) => <Text value={String(text)} />)];
  return (
    parts.length > 0 && (
      <small>
        <Dotted parts={parts} />
      </small>
    )
  );
};
