import type { Child } from "hono/jsx";
import * as z from "zod/mini";
import type { Environment } from "../../../../common/environment.ts";
import { DAY_MS } from "../../../../common/limits.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { DAY_FORMAT } from "../../../domain/days.ts";
import type { NewestPage, NewestQuery } from "../../../domain/feed/event.ts";
import { EVENT_TYPES, type StoredKey } from "../../../records.ts";
import type { RequestContext } from "../../app-env.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import { ActorQuery, Since } from "../../resources/events/wire.ts";
import { Label, lazy } from "../../resources/fields.ts";
import { EVENT_WORDS, Feed, SearchedBackTo } from "../components/events.tsx";
import { Filter, Select, TextField } from "../components/form.tsx";
import { List } from "../components/list.tsx";
import { plainText } from "../components/text.tsx";
import type { EnvironmentEnv, SignedInEnv } from "../console-env.ts";
import { DEPLOYMENT_EVENTS, environmentPath } from "../paths.ts";
import { type PageQuery, readPageQuery } from "../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

const ROWS = 50;
/** How many keys and operators the filter offers. */
const ACTORS_OFFERED_MAX = 200;
const ACTOR_UNITS_MAX = 40;
/** For how long a page goes on by itself through events that the filter leaves out. */
const SEARCH_MS_MAX = 3000;

const DAY = "Give a day such as 2026-01-31.";

/** The first millisecond of a day in UTC, or of the day after it. A time with its zone is taken too. */
const dayField = (isEnd: boolean) =>
  z.pipe(
    z.pipe(
      z.string().check(z.refine((text) => DAY_FORMAT.test(text) || Since().safeParse(text).success, { error: DAY })),
      z.transform((text: string) => (DAY_FORMAT.test(text) ? `${text}T00:00:00Z` : text)),
    ),
    z.pipe(
      Since(),
      z.transform((time: number) => (isEnd ? time + DAY_MS : time)),
    ),
  );

/** The filter of a feed, as it stands in the URL. `cursor` is the number before which the page begins. */
const FeedQuery = lazy(() =>
  z.strictObject({
    type: z.optional(z.enum(EVENT_TYPES, { error: "Choose a type of event." })),
    actor: z.optional(ActorQuery()),
    user_group_id: z.optional(Label()),
    since: z.optional(dayField(false)),
    until: z.optional(dayField(true)),
    cursor: z.optional(
      z.pipe(
        z.string().check(z.regex(/^[1-9]\d{0,14}$/, { error: "Open the first page again." })),
        z.transform(Number),
      ),
    ),
  }),
);

type Filtered = PageQuery<z.output<ReturnType<typeof FeedQuery>>>;

/** An actor whom the filter offers: the value of the field, and the text. */
type Offered = [value: string, text: string];

type Feeding = {
  path: string;
  title: string;
  environment: Environment | undefined;
  filtered: Filtered;
  page: NewestPage;
  actors: Offered[];
};

/** Reads pages of a feed until one is full, the feed ends, or the time is over. */
async function readOn<Page extends NewestPage & { hasWaited: boolean }, Failure>(
  query: NewestQuery,
  read: (query: NewestQuery) => Promise<Result<Page, Failure>>,
): Promise<Result<Page, Failure>> {
  const endsAt = Date.now() + SEARCH_MS_MAX;
  const events: NewestPage["events"] = [];
  let { before } = query;
  let hasWaited = false;
  for (;;) {
    const result = await read({ ...query, before, limit: query.limit - events.length });
    if (!result.ok) return result;
    events.push(...result.value.events);
    hasWaited ||= result.value.hasWaited;
    before = result.value.next ?? undefined;
    if (before === undefined || events.length >= query.limit || Date.now() >= endsAt)
      return ok({ ...result.value, events, hasWaited });
  }
}

const toQuery = ({ value }: Filtered): NewestQuery => {
  const { cursor: before, user_group_id: providedId, ...filter } = value ?? {};
  return { ...filter, before, providedId, limit: ROWS };
};

const offered = (kind: string, word: string, keys: StoredKey[]): Offered[] =>
  keys.map(({ id, name }) => [
    `${kind}:${id}`,
    `${plainText(name).slice(0, ACTOR_UNITS_MAX).toWellFormed()} (${word} ${id})`,
  ]);

const BOOTSTRAP_AND_SYSTEM: Offered[] = [
  ["operator:bootstrap", "the bootstrap token"],
  ["system", "the service itself"],
];

/** The operators whom the filter offers. */
async function operatorsOffered(c: RequestContext<SignedInEnv>): Promise<Offered[]> {
  const listed = await registryFor(c).listOperators(c.get("presentedOperator"), {
    start: 0,
    limit: ACTORS_OFFERED_MAX,
  });
  return [...(listed.ok ? offered("operator", "operator", listed.value.keys) : []), ...BOOTSTRAP_AND_SYSTEM];
}

function respondWithFeed(c: RequestContext<SignedInEnv>, feeding: Feeding) {
  const { path, title, environment, filtered, page } = feeding;
  const { type, actor, user_group_id, since, until, cursor } = filtered.fields;
  const fields = { type, actor, user_group_id, since, until };
  return respondWithPage(c, {
    title,
    subline: <SearchedBackTo page={page} rows={ROWS} />,
    issues: filtered.issues,
    children: (
      <List
        label="Events"
        filter={<FeedFilter {...feeding} />}
        isEmpty={page.events.length === 0}
        empty={emptyText(feeding)}
        paging={{
          path,
          fields,
          cursor,
          nextCursor: page.next === null ? null : String(page.next),
          rows: 0,
        }}
      >
        <Feed events={page.events} environment={environment} hasGroups />
      </List>
    ),
  });
}

function emptyText({ page: { next }, filtered }: Feeding): string {
  if (next !== null) return "No event was found yet. The next page searches on.";
  const { cursor, ...filter } = filtered.fields;
  if (cursor !== undefined) return "No older event was found.";
  if (Object.keys(filter).length > 0) return "No event is like that. Choose more types, people or days.";
  return "No events yet. Each change is shown here, as long as events are kept.";
}

/** The part of a time that a field for a date shows. */
const dateOf = (text: string | undefined): string | undefined => text?.slice(0, "2026-01-31".length);

const FeedFilter = ({ path, environment, filtered, actors }: Feeding): Child => {
  const { fields, issues } = filtered;
  const { type, actor, user_group_id: id, since, until } = fields;
  const isOffered = actor === undefined || actors.some(([value]) => value === actor);
  const own = environment ? /^(?:user_group|viewer_sessions|api_key)\./ : /^(?:operator|environment)\./;
  const types = EVENT_TYPES.filter((each) => own.test(each) || each === type);
  return (
    <Filter action={path}>
      <Select
        name="type"
        label="What"
        value={type}
        options={[["", "everything"], ...types.map((each): Offered => [each, EVENT_WORDS[each]])]}
        issues={issues}
      />
      <Select
        name="actor"
        label="By"
        value={actor}
        options={[
          ["", "everybody"],
          ...(isOffered || actor === undefined ? [] : [[actor, actor] as Offered]),
          ...actors,
        ]}
        issues={issues}
      />
      {environment && <TextField name="user_group_id" label="Group's id" value={id} issues={issues} />}
      <TextField name="since" type="date" label="From (UTC)" value={dateOf(since)} issues={issues} />
      <TextField name="until" type="date" label="Until" value={dateOf(until) ?? ""} issues={issues} />
    </Filter>
  );
};

/** The events of an environment, newest first. */
export async function listEvents(c: RequestContext<EnvironmentEnv>): Promise<Response> {
  const environment = c.get("environment");
  const [directory, operator] = [c.get("directory"), c.get("operator")];
  const filtered = readPageQuery(c, FeedQuery());
  const [listed, keys, operators] = await Promise.all([
    readOn(toQuery(filtered), async (query) => directory.listNewestEvents(operator, query)),
    directory.listKeys(operator, { start: 0, limit: ACTORS_OFFERED_MAX }),
    operatorsOffered(c),
  ]);
  const admitted = await admitAgain(c, listed);
  if (!admitted.ok) return refuseWithPage(c, admitted.failure);
  const path = `${environmentPath(environment)}/events`;
  const actors = [...operators, ...(keys.ok ? offered("api_key", "API key", keys.value.keys) : [])];
  return respondWithFeed(c, { path, title: "Events", environment, filtered, page: admitted.value, actors });
}

/** The events of the deployment, newest first. */
export async function listDeploymentEvents(c: RequestContext<SignedInEnv>): Promise<Response> {
  const filtered = readPageQuery(c, FeedQuery());
  const listed = await readOn(toQuery(filtered), async (query) =>
    registryFor(c).listNewestEvents(c.get("presentedOperator"), query),
  );
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const title = "Events of the deployment";
  const actors = await operatorsOffered(c);
  return respondWithFeed(c, {
    path: DEPLOYMENT_EVENTS,
    title,
    environment: undefined,
    filtered,
    page: listed.value,
    actors,
  });
}
