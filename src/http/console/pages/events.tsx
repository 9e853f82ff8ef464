import type { Child, FC } from "hono/jsx";
import * as z from "zod/mini";
import { directoryName, type Environment, findEnvironment } from "../../../../common/environment.ts";
import { DAY_MS } from "../../../../common/limits.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { DAY_FORMAT, dayOf } from "../../../domain/days.ts";
import type { Failure } from "../../../domain/failure.ts";
import { EVENT_TYPES, type StoredKey } from "../../../records.ts";
import { directoryOf } from "../../durable-objects.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { pathNumber } from "../../request/query.ts";
import { ActorQuery, Since } from "../../resources/events/wire.ts";
import { Label, lazy, refuseValue, transformed } from "../../resources/fields.ts";
import { EnvironmentName } from "../components/detail.tsx";
import { EVENT_WORDS, Feed, type Line, linesOf } from "../components/events.tsx";
import { Filter, Select, TextField } from "../components/form.tsx";
import type { Crumbs } from "../components/layout.tsx";
import { List, NoticeList, type Tab } from "../components/list.tsx";
import { beginningOf, Heading, plainText, utcTime } from "../components/text.tsx";
import type { SignedInCall } from "../console-env.ts";
import { EVENTS, environmentPath, groupPath, withQuery } from "../paths.ts";
import { FIRST_PAGE, type PageQuery, readPageQuery } from "../request/form-fields.ts";
import {
  type FeedQuery,
  type FoundEvents,
  NOTHING_FOUND,
  ONLY_FEED,
  readFeeds,
  type Scope,
} from "../request/read-events.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

/** How many lines a page has, and how many events it reads for them: those of one person are often equal, and are one line then. */
const LINES = 50;
const EVENTS_READ_MAX = 100;
const EVENTS_OF_ACTOR_READ_MAX = 500;
const OFFERED_MAX = 200;
const NAME_UNITS_MAX = 40;

const DAYS: Record<string, string> = { "7": "Last 7 days", "30": "Last 30 days", all: "All days" };
const DEPLOYMENT = "deployment";

const DAY = "Give a day such as 2026-01-31.";

/** The first millisecond of a day in UTC, or of the day after it. A time with its zone is taken too. */
const dayField = (isEnd: boolean) =>
  z.pipe(
    transformed(
      z.string().check(z.refine((text) => DAY_FORMAT.test(text) || Since().safeParse(text).success, DAY)),
      (text) => (DAY_FORMAT.test(text) ? `${text}T00:00:00Z` : text),
    ),
    transformed(Since(), (time) => (isEnd ? time + DAY_MS : time)),
  );

const numberField = () => transformed(z.string().check(z.regex(/^[1-9]\d{0,14}$/, FIRST_PAGE)), Number);

const ENVIRONMENT = "Choose an environment, the deployment or all.";
const WITHOUT_ENVIRONMENT = "Choose an environment: each has a key and a group with this number.";

/**
 * The filter of the events, as it stands in the URL. `cursor` is the place after which the page begins, and the first environment that the
 * page does not have; `further` is the first one that it has. With `each` no changes are put together.
 */
const EventsQuery = lazy(() =>
  z
    .strictObject({
      environment: z.optional(
        z.string().check(z.refine((name) => name === DEPLOYMENT || findEnvironment(name) !== undefined, ENVIRONMENT)),
      ),
      type: z.optional(z.enum(EVENT_TYPES, "Choose a type of event.")),
      actor: z.optional(ActorQuery()),
      user_group_id: z.optional(Label()),
      team_id: z.optional(numberField()),
      days: z.optional(z.enum(Object.keys(DAYS), "Choose days.")),
      since: z.optional(dayField(false)),
      until: z.optional(dayField(true)),
      each: z.optional(z.literal("yes", FIRST_PAGE)),
      further: z.optional(numberField()),
      cursor: z.optional(z.string().check(z.regex(/^\d{1,15}\.\d{1,15}\.\d{1,15}\.\d{0,15}$/, FIRST_PAGE))),
    })
    .check(
      z.check((payload) => {
        const { environment, actor, team_id: teamId } = payload.value;
        const isOfOne = environment !== undefined && environment !== DEPLOYMENT;
        if (!isOfOne && (actor?.kind === "api_key" || teamId !== undefined))
          refuseValue(payload, WITHOUT_ENVIRONMENT, ["environment"]);
      }),
    ),
);

type Filtered = PageQuery<z.output<ReturnType<typeof EventsQuery>>>;

/** What a page shows: its path, its filter, what is fixed in it, and what was found. */
export type Activity = {
  path: string;
  filtered: Filtered;
  query: FeedQuery;
  /** The fields of the filter that the page's path says. */
  fixed: Record<string, string>;
  days: string | undefined;
  found: FoundEvents;
};

/** Reads the events that the query of a page asks for. `fixed` are fields that the page itself decides. */
export async function readActivity(
  c: SignedInCall,
  path: string,
  fixed: Record<string, string> = {},
): Promise<Result<Activity, Failure>> {
  const filtered = readPageQuery(c, EventsQuery(), { fixed });
  const scope = scopeOf(filtered.value?.environment);
  const isWide = scope === "all" || fixed.actor !== undefined;
  const { since, until } = filtered.fields;
  const days = (since ?? until) ? undefined : (filtered.value?.days ?? (isWide ? "30" : "all"));
  const query = queryOf(filtered, scope, days);
  const found = filtered.value ? await readFeeds(c, query) : await readNothing(c);
  return found.ok ? ok({ path, filtered, query, fixed, days, found: found.value }) : found;
}

async function readNothing(c: SignedInCall): Promise<Result<FoundEvents, Failure>> {
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", undefined);
  return admitted.ok ? ok(NOTHING_FOUND) : admitted;
}

const scopeOf = (environment: string | undefined): Scope => {
  if (environment === DEPLOYMENT) return environment;
  return findEnvironment(environment ?? "") ?? "all";
};

function queryOf({ value }: Filtered, scope: Scope, days: string | undefined): FeedQuery {
  const { type, actor, user_group_id: providedId, team_id: teamId, each, since, until, further } = value ?? {};
  const [at = 0, feed = 0, id = 0, end = 0] = (value?.cursor ?? "").split(".").map(Number);
  const limit = each ? LINES : actor ? EVENTS_OF_ACTOR_READ_MAX : EVENTS_READ_MAX;
  const from = days === undefined || days === "all" ? since : Date.parse(dayOf(Date.now() - Number(days) * DAY_MS));
  return {
    scope,
    filter: { type, actor, providedId, teamId, since: from, until, limit },
    place: value?.cursor === undefined ? undefined : { at, feed, id },
    start: further,
    end: end || undefined,
  };
}

export async function showEvents(c: SignedInCall): Promise<Response> {
  const environment = findEnvironment(c.req.query("environment") ?? "");
  if (environment) c.set("environment", environment);
  const activity = await readActivity(c, EVENTS);
  if (!activity.ok) return refuseWithPage(c, activity.failure);
  const { filtered, found } = activity.value;
  const group = groupOf(filtered, found, environment);
  return respondWithPage(c, {
    title: `Events${group ? ` of ${group.name}` : ""}`,
    heading: group && <Heading words="Events of" value={group.name} />,
    crumbs: group ? group.crumbs : [],
    issues: filtered.issues,
    children: (
      <ActivityList
        activity={activity.value}
        filter={<EventsFilter filtered={filtered} {...(await offersOf(c, environment))} />}
      />
    ),
  });
}

/** The group whose events the page has. A purged one has no name any more. */
function groupOf({ fields }: Filtered, { events: [event] }: FoundEvents, environment: Environment | undefined) {
  const teamId = pathNumber(fields.team_id);
  if (!environment || teamId === 0) return undefined;
  const name = event?.groupName ?? event?.providedId ?? String(teamId);
  const crumbs: Crumbs = [
    [`${environmentPath(environment)}/groups`, "Groups"],
    [groupPath(environment, teamId), plainText(name)],
  ];
  return { name, crumbs };
}

type Offer = [value: string, text: string];
type Offers = { environments: Offer[]; actors: Offer[] };

async function offersOf(c: SignedInCall, environment: Environment | undefined): Promise<Offers> {
  const [presented, query] = [c.get("presentedOperator"), { start: 0, limit: OFFERED_MAX }];
  const [operator, registry] = [c.get("operator"), registryFor(c)];
  const [environments, operators, keys] = await Promise.all([
    registry.listEnvironments(presented, { ...query, after: "" }),
    registry.listOperators(presented, query),
    environment && operator && directoryOf(c.env, environment).listKeys(operator, query),
  ]);
  const names = environments.ok ? environments.value.environments.map(({ name }): Offer => [name, name]) : [];
  return {
    environments: [["", "all environments"], [DEPLOYMENT, "the deployment"], ...names],
    actors: [
      ["", "everybody"],
      ...(operators.ok ? offered("operator", operators.value.keys) : []),
      ["operator:bootstrap", "the bootstrap token"],
      ["system", "the service itself"],
      ...(keys?.ok ? offered("api_key", keys.value.keys) : []),
    ],
  };
}

const offered = (kind: "operator" | "api_key", keys: StoredKey[]): Offer[] =>
  keys.map(({ id, name }) => [
    `${kind}:${id}`,
    `${beginningOf(plainText(name), NAME_UNITS_MAX)} (${kind === "operator" ? "operator" : "API key"} ${id})`,
  ]);

/** Adds a value that is chosen, and was not offered. */
const offering = (value: string | undefined, offers: Offer[]): Offer[] =>
  value === undefined || offers.some(([offered]) => offered === value) ? offers : [...offers, [value, value]];

const dateOf = (text: string | undefined): string | undefined => text?.slice(0, "2026-01-31".length);

const EventsFilter: FC<{ filtered: Filtered } & Offers> = ({ filtered: { fields, issues }, environments, actors }) => {
  const { team_id: teamId, days } = fields;
  const field = (name: string) => ({ name, value: fields[name], issues });
  const words = EVENT_TYPES.map(
    (each): Offer => [each, EVENT_WORDS[each].replace(/(?: of)?$/, isOfGroup(each) ? "$& a group" : "")],
  );
  return (
    <Filter action={EVENTS}>
      {teamId && <input type="hidden" name="team_id" value={teamId} />}
      {days && <input type="hidden" name="days" value={days} />}
      <Select {...field("environment")} label="Where" options={offering(fields.environment, environments)} />
      <Select {...field("actor")} label="By" options={offering(fields.actor, actors)} />
      <Select {...field("type")} label="What" options={[["", "everything"], ...words]} />
      {!teamId && <TextField {...field("user_group_id")} label="Group's id" />}
      <TextField {...field("since")} type="date" label="From (UTC)" value={dateOf(fields.since)} />
      <TextField {...field("until")} type="date" label="Until" value={dateOf(fields.until)} />
    </Filter>
  );
};

const isOfGroup = (type: string): boolean => /^(?:user_group|viewer_sessions)\./.test(type);

export const ActivityList: FC<{ activity: Activity; filter?: Child }> = ({ activity, filter }) => {
  const { path, filtered, query, fixed, found } = activity;
  const { cursor, further, ...fields } = filtered.fields;
  const own = Object.fromEntries(Object.entries(fields).filter(([name]) => !(name in fixed)));
  const lines = fields.each ? found.events.map((event): Line => [event]) : linesOf(found.events);
  const shown = lines.slice(0, LINES);
  const isCut = shown.length < lines.length;
  const nextCursor = nextCursorOf(activity, shown, isCut);
  return (
    <List
      tabs={{ label: "Days", tabs: daysOf(activity, own) }}
      filter={[
        filter,
        shown.length > 0 && cursor === undefined && <p class="hint">{summaryOf(activity)}</p>,
        <Unread activity={activity} />,
      ]}
      isEmpty={shown.length === 0}
      empty={emptyText(activity)}
      paging={{ path, fields: { ...own, further }, cursor, nextCursor }}
    >
      <Feed
        lines={shown}
        heading="h2"
        known={{ environment: typeof query.scope === "object", actor: "actor" in fixed, group: "team_id" in fields }}
        pathOfAll={(line) => pathOfAll(activity, line)}
        isCut={nextCursor !== null && !isCut}
      />
    </List>
  );
};

const daysOf = (
  { path, filtered, days }: Activity,
  { since, until, days: _, ...own }: Record<string, string>,
): Tab[] => [
  ...Object.entries(DAYS).map(([value, text]) => ({
    path: withQuery(path, { ...own, days: value }),
    text,
    isCurrent: value === days,
  })),
  ...(path === EVENTS
    ? []
    : [{ path: withQuery(EVENTS, { ...filtered.fields, cursor: undefined }), text: "Choose days…", isCurrent: false }]),
];

/** The changes of a line, each by itself: of its person, its type and its days. */
function pathOfAll({ filtered }: Activity, line: Line): string {
  const [{ environment, type, actor, at, id }] = line;
  const { user_group_id } = filtered.fields;
  return withQuery(EVENTS, {
    environment: environment && directoryName(environment),
    type,
    actor: actor.kind === "system" ? "system" : `${actor.kind}:${actor.id ?? "bootstrap"}`,
    user_group_id,
    since: dayOf(line.at(-1)?.at ?? at),
    each: "yes",
    cursor: `${at}.${ONLY_FEED}.${id + 1}.`,
  });
}

/** The place from where the next page goes on: after the last event of this one, or where one feed was not searched further. */
function nextCursorOf({ query: { scope, end }, found }: Activity, shown: Line[], isCut: boolean): string | null {
  const shownLast = shown.at(-1)?.at(-1);
  const last = found.events.find((event) => event === shownLast);
  const isWhole = !isCut && !found.hasMore && found.found <= found.events.length;
  const [unread] = found.unread;
  if (isWhole && scope !== "all" && unread && !unread.silence) return `0.${ONLY_FEED}.${unread.before}.`;
  if (isWhole || !last) return null;
  return `${last.at}.${last.feed}.${last.id}.${found.next ?? end ?? ""}`;
}

const count = (number: number, word: string): string =>
  `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

function summaryOf({ query: { scope, start }, found }: Activity): string {
  const total = count(found.found, "change");
  const atLeast = found.hasMore ? `More than ${total}` : total;
  if (scope !== "all") return `${atLeast}.`;
  const places = `in ${found.withEvents} of ${count(found.asked, "environment")}`;
  const ofDeployment = found.events.some(({ environment }) => !environment) ? ", and in the deployment" : "";
  const isAll = found.unread.length === 0 && found.next === null && start === undefined;
  return `${atLeast} ${places}${ofDeployment}.${isAll ? " Searched: all." : ""}`;
}

export const SILENCES = { damaged: "is damaged", restoring: "is being restored", silent: "has not answered" };

/** What was not read, each with the way to it. */
const Unread: FC<{ activity: Activity }> = ({ activity: { path, filtered, query, found } }) => {
  const { cursor, further, ...fields } = filtered.fields;
  const next = found.next ?? query.end;
  const parts = found.unread.map((each): Child => {
    const environment = each.environment ? directoryName(each.environment) : DEPLOYMENT;
    const from = each.silence ? cursor : `0.${ONLY_FEED}.${each.before}.`;
    const name = each.environment ? <EnvironmentName of={each.environment} /> : "the deployment";
    const what = each.silence ? SILENCES[each.silence] : `was searched back to ${utcTime(each.searchedBackTo)}`;
    if (query.scope !== "all")
      return `Searched back to ${each.silence ? "" : utcTime(each.searchedBackTo)}. The next page goes on from there.`;
    return [name, ` ${what}. `, <a href={withQuery(EVENTS, { ...fields, environment, cursor: from })}>Search in it</a>];
  });
  if (next !== undefined) {
    const rest = { ...fields, further: String(next), cursor: found.next === null ? undefined : cursor };
    parts.push(["Further environments were not asked. ", <a href={withQuery(path, rest)}>Ask further environments</a>]);
  }
  return parts.length > 0 && <NoticeList parts={parts} />;
};

function emptyText({ found, filtered, query, fixed, days }: Activity): string {
  if (filtered.issues.length > 0) return "Nothing was looked for.";
  const isAll = found.unread.length === 0 && found.next === null && query.start === undefined;
  if (!isAll) return "Nothing was found in what was read.";
  const { cursor, environment, days: _, further, ...filter } = filtered.fields;
  if (cursor !== undefined) return "No older event was found.";
  if ("actor" in fixed) return "No event is like that. Choose more days.";
  if (Object.keys(filter).length > 0 || days !== "all")
    return "No event is like that. Choose more types, people or days.";
  return "No events yet. Each change is shown here, as long as events are kept.";
}
