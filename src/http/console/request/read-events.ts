import type { Environment } from "../../../../common/environment.ts";
import { ok, type Result } from "../../../../common/result.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { NewestPage, NewestQuery } from "../../../domain/feed/event.ts";
import type { StoredEvent } from "../../../records.ts";
import { directoryOf } from "../../durable-objects.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import type { FeedEvent } from "../components/events.tsx";
import type { SignedInCall } from "../console-env.ts";
import { askEnvironments, type Silence } from "./ask-environments.ts";

/** Whose events a page has: those of one environment, the deployment's own, or all. */
export type Scope = Environment | "deployment" | "all";

/** A place in the events of several feeds, newest first: after the event with this time and number of this feed. */
type Place = { at: number; feed: number; id: number };

/** Asks for events after a place, from the environment with the number `start` on, and without that with the number `end`. */
export type FeedQuery = {
  scope: Scope;
  filter: Omit<NewestQuery, "before">;
  place: Place | undefined;
  start: number | undefined;
  end: number | undefined;
};

/** A feed that was not read, or only back to a time, from where the event with the number `before` goes on. */
type Unread = { environment: Environment | undefined } & (
  | { silence: Silence }
  | { silence?: never; searchedBackTo: number; before: number }
);

/** Some events, newest first, each with the number of its feed. */
export type FoundEvents = {
  events: (FeedEvent & { feed: number })[];
  /** How many events were found, of which these are the newest, and whether some feed has more. */
  found: number;
  hasMore: boolean;
  /** How many environments were asked, and how many of them have events. */
  asked: number;
  withEvents: number;
  unread: Unread[];
  /** The first environment that was not asked; `null` after the last. */
  next: number | null;
};

export const NOTHING_FOUND: Readonly<FoundEvents> = {
  events: [],
  found: 0,
  hasMore: false,
  asked: 0,
  withEvents: 0,
  unread: [],
  next: null,
};

type Feed = { feed: number; environment: Environment | undefined };

/** The number of the deployment's feed; those of environments are their numbers in the registry. */
const DEPLOYMENT_FEED = 0;
/** The number of a feed that is read alone. */
export const ONLY_FEED = 1;

/** For how long one feed is read through events that the filter leaves out, and how many calls all feeds of a page cost. */
const READ_MS_MAX = 2500;
const CALLS_MAX = 640;

type Waited = NewestPage & { hasWaited: boolean };
type Read = (query: NewestQuery) => Promise<Result<Waited, Failure>>;

/** Reads events of one feed or of several. A feed that is read alone has to answer. */
export function readFeeds(c: SignedInCall, query: FeedQuery): Promise<Result<FoundEvents, Failure>> {
  const { scope } = query;
  if (scope === "all") return readAll(c, query);
  return scope === "deployment" ? readOne(c, query, undefined) : readOne(c, query, scope);
}

const readDeployment =
  (c: SignedInCall): Read =>
  (query) =>
    registryFor(c).listNewestEvents(c.get("presentedOperator"), query);

async function readOne(
  c: SignedInCall,
  { filter, place }: FeedQuery,
  environment: Environment | undefined,
): Promise<Result<FoundEvents, Failure>> {
  let read = readDeployment(c);
  if (environment) {
    const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", environment);
    if (!admitted.ok) return admitted;
    const directory = directoryOf(c.env, environment);
    read = (query) => directory.listNewestEvents(admitted.value, query);
  }
  const page = await admitAgain(c, await readOn({ ...filter, ...after(place, ONLY_FEED) }, { calls: 0 }, read));
  if (!page.ok) return page;
  const found = { ...NOTHING_FOUND, unread: [] };
  add(found, page.value, { feed: ONLY_FEED, environment }, filter.limit);
  return ok(found);
}

async function readAll(
  c: SignedInCall,
  { filter, place, start, end }: FeedQuery,
): Promise<Result<FoundEvents, Failure>> {
  const found: FoundEvents = { ...NOTHING_FOUND, unread: [] };
  const budget = { calls: 0 };
  if (start === undefined) {
    const page = await readOn({ ...filter, ...after(place, DEPLOYMENT_FEED) }, budget, readDeployment(c));
    if (!page.ok) return page;
    add(found, page.value, { feed: DEPLOYMENT_FEED, environment: undefined }, filter.limit);
  }
  const answers = await askEnvironments<Waited>(c, {
    start: start ?? 0,
    end,
    ask: (directory, operator, { id }) =>
      readOn({ ...filter, ...after(place, id) }, budget, (query) => directory.listNewestEvents(operator, query)),
    keep: (page, { id, environment }) => {
      add(found, page, { feed: id, environment }, filter.limit);
      return { events: [], next: null, hasWaited: page.hasWaited };
    },
  });
  if (!answers.ok) return answers;
  const { asked, next } = answers.value;
  const silent = asked.flatMap(({ environment, silence }) => (silence ? [{ environment, silence }] : []));
  return ok({ ...found, asked: asked.length, unread: [...silent, ...found.unread], next });
}

/** The part of a feed that comes after a place: events of one time are in the order of their feeds. */
function after(place: Place | undefined, feed: number): { before?: number; until?: number } {
  if (!place) return {};
  if (feed === place.feed) return { before: place.id };
  return { until: feed < place.feed ? place.at : place.at + 1 };
}

/** Reads pages of a feed until one is full, the feed ends, or the time or the calls are over. */
async function readOn(query: NewestQuery, budget: { calls: number }, read: Read): Promise<Result<Waited, Failure>> {
  const endsAt = Date.now() + READ_MS_MAX;
  const events: StoredEvent[] = [];
  const names: Record<number, string> = {};
  let { before } = query;
  let hasWaited = false;
  for (;;) {
    budget.calls += 1;
    const result = await read({ ...query, before, limit: query.limit - events.length, withNames: true });
    if (!result.ok) return result;
    events.push(...result.value.events);
    Object.assign(names, result.value.names);
    hasWaited ||= result.value.hasWaited;
    before = result.value.next ?? undefined;
    const isOver = events.length >= query.limit || Date.now() >= endsAt || budget.calls >= CALLS_MAX;
    if (before === undefined || isOver) return ok({ ...result.value, events, names, hasWaited });
  }
}

/** Adds the page of a feed to what was found. No more events are kept than a page needs. */
function add(found: FoundEvents, { events, next, names, searchedBackTo }: NewestPage, of: Feed, limit: number): void {
  const added = events.map((event) => ({ ...event, ...of, groupName: names?.[event.teamId ?? 0] }));
  found.events = [...found.events, ...added].toSorted(inOrder).slice(0, limit);
  found.found += events.length;
  if (of.environment && events.length > 0) found.withEvents += 1;
  if (next === null) return;
  if (events.length >= limit) found.hasMore = true;
  else found.unread.push({ environment: of.environment, searchedBackTo: searchedBackTo ?? 0, before: next });
}

type Ordered = { at: number; feed: number; id: number };
const inOrder = (one: Ordered, other: Ordered): number =>
  other.at - one.at || one.feed - other.feed || other.id - one.id;
