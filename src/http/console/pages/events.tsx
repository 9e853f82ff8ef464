import { createFactory } from "hono/factory";
import type { Child } from "hono/jsx";
import * as z from "zod/mini";
import type { NewestPage, NewestQuery } from "../../../domain/feed/newest-events.ts";
import { EVENT_TYPES } from "../../../records.ts";
import type { RequestContext } from "../../app-env.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import { ActorQuery, Since } from "../../resources/events/schemas.ts";
import { Label, lazy } from "../../resources/fields.ts";
import { EventTable } from "../components/events.tsx";
import { Select, TextField } from "../components/fields.tsx";
import { Filter } from "../components/form.tsx";
import { Paging } from "../components/paging.tsx";
import type { EnvironmentEnv, SignedInEnv } from "../console-env.ts";
import { DEPLOYMENT_EVENTS, environmentPath } from "../paths.ts";
import { type PageQuery, readPageQuery } from "../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

const ROWS = 50;

/** The filter of a feed, as it stands in the URL. `cursor` is the number before which the page begins. */
const FeedQuery = lazy(() =>
  z.strictObject({
    type: z.optional(z.enum(EVENT_TYPES, { error: "Choose a type of event." })),
    actor: z.optional(ActorQuery()),
    user_group_id: z.optional(Label()),
    since: z.optional(Since()),
    cursor: z.optional(
      z.pipe(
        z.string().check(z.regex(/^[1-9]\d{0,14}$/, { error: "Open the first page again." })),
        z.transform(Number),
      ),
    ),
  }),
);

type Filtered = PageQuery<z.output<ReturnType<typeof FeedQuery>>>;

const toQuery = ({ value }: Filtered): NewestQuery => {
  const { cursor: before, user_group_id: providedId, ...filter } = value ?? {};
  return { ...filter, before, providedId, limit: ROWS };
};

type Feed = { path: string; hasGroups: boolean; filtered: Filtered; page: NewestPage };

function respondWithFeed(c: RequestContext<SignedInEnv>, { path, hasGroups, filtered, page }: Feed) {
  const { fields, issues } = filtered;
  const { type, actor, user_group_id: id, since, cursor } = fields;
  const groupField: Child = hasGroups && (
    <TextField name="user_group_id" label="Group's id" value={id} issues={issues} />
  );
  return respondWithPage(c, {
    title: hasGroups ? "Events" : "Events of the deployment",
    issues,
    children: (
      <>
        <Filter action={path}>
          <Select
            name="type"
            label="Type"
            value={type}
            options={[["", "all"], ...EVENT_TYPES.map((each): [string, string] => [each, each])]}
            issues={issues}
          />
          <TextField name="actor" label="By" hint="api_key:3, operator:1 or system" value={actor} issues={issues} />
          {groupField}
          <TextField name="since" label="Since" hint="2026-01-31T09:00:00Z" value={since} issues={issues} />
        </Filter>
        {page.events.length > 0 ? (
          <EventTable events={page.events} hasGroups={hasGroups} />
        ) : (
          <p>{page.next === null ? "No events." : "No events on this page; the search goes on."}</p>
        )}
        <Paging
          path={path}
          fields={{ type, actor, user_group_id: id, since }}
          cursor={cursor}
          nextCursor={page.next === null ? null : String(page.next)}
        />
      </>
    ),
  });
}

/** The events of an environment, newest first. */
export const listEvents = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const filtered = readPageQuery(c, FeedQuery());
  const listed = await c.get("directory").listNewestEvents(c.get("operator"), toQuery(filtered));
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const failure = await admitAgain(c, listed.value);
  if (failure) return refuseWithPage(c, failure);
  const path = `${environmentPath(c.get("environment"))}/events`;
  return respondWithFeed(c, { path, hasGroups: true, filtered, page: listed.value });
});

/** The events of the deployment, newest first. */
export const listDeploymentEvents = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const filtered = readPageQuery(c, FeedQuery());
  const listed = await registryFor(c).listNewestEvents(c.get("presentedOperator"), toQuery(filtered));
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  return respondWithFeed(c, { path: DEPLOYMENT_EVENTS, hasGroups: false, filtered, page: listed.value });
});
