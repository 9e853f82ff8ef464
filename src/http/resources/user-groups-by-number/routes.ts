import { directoryName } from "../../../../common/environment.ts";
import { undoMsOf } from "../../../../common/settings/settings.ts";
import type { ShownGroup } from "../../../domain/feed/endings.ts";
import type { Outcome } from "../../../domain/user-groups/responses.ts";
import { etagOf } from "../../../domain/user-groups/user-group.ts";
import type { AppEnv, CallerEnv, RequestContext } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { listGroups } from "../../operations/user-groups.ts";
import { admitAgain } from "../../request/admit-caller.ts";
import { authorizeCallers } from "../../request/authorize.ts";
import { isOfType } from "../../request/body/body-bytes.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { conditionsOf, idempotencyKey, ifMatch, markReplay } from "../../request/conditions.ts";
import { pathNumber, validQuery } from "../../request/query.ts";
import { deleteLeases } from "../../response/ended-leases.ts";
import { refuse, refuseField } from "../../response/failures.ts";
import { respond, respondWithJson } from "../../response/respond.ts";
import { historyCursorOf, listCursorOf, parseHistoryCursor } from "../cursor.ts";
import { eventBody } from "../events/wire.ts";
import { ReasonBody, time } from "../fields.ts";
import { ensureGroup } from "../user-groups/routes.ts";
import { changesIn, EnsureBody, groupBody, type ListOptions, listBody } from "../user-groups/wire.ts";
import {
  HISTORY_CURSOR_MESSAGE,
  HistoryQuery,
  ListQuery,
  PatchByNumberBody,
  RestoreBody,
  RotateByNumberBody,
  ShowQuery,
  UpdateByNumberBody,
} from "./wire.ts";

/**
 * The groups of an environment for integrators and operators: a page at a time, or one by its number, and never a token; and for
 * integrators, GET /api/user under a method that has a body.
 */
export const userGroupsByNumber = new Hono<AppEnv>()
  .use(authorizeCallers)

  .get("/", validQuery(ListQuery), async (c) => {
    const query = c.req.valid("query");
    const listed = await admitAgain(c, await listGroups(c.get("directory"), c.get("caller"), query));
    if (!listed.ok) return refuse(c, listed.failure);
    const { groups, next } = listed.value;
    return respondWithJson(c, listBody(groups, listOptions(c), listCursorOf(next, query)));
  })

  .post("/", jsonBody(EnsureBody), (c) => ensureGroup(c, c.req.valid("json"), { createdStatus: 201 }))

  .get("/:team_id", validQuery(ShowQuery), async (c) => {
    const from = c.req.valid("query").state ?? "existing";
    const shown = await c.get("directory").show(c.get("caller"), pathNumber(c.req.param("team_id")), from);
    return shown.ok ? respondWithGroup(c, shown.value) : refuse(c, shown.failure);
  })

  .get("/:team_id/events", validQuery(HistoryQuery), async (c) => {
    const { cursor, limit } = c.req.valid("query");
    const teamId = pathNumber(c.req.param("team_id"));
    const feed = directoryName(c.get("environment"));
    const from = cursor === undefined ? undefined : parseHistoryCursor(cursor, feed, teamId);
    if (cursor !== undefined && from === undefined) return refuseField(c, "cursor", HISTORY_CURSOR_MESSAGE);
    const read = await admitAgain(c, await c.get("directory").history(c.get("caller"), teamId, { from, limit }));
    if (!read.ok) return refuse(c, read.failure);
    c.set("teamId", teamId);
    const { events, next, searchedBackTo } = read.value;
    return respond(c, {
      success: 1,
      events: events.map(eventBody),
      next_cursor: next === null ? null : historyCursorOf(feed, teamId, next),
      searched_back_to: time(searchedBackTo),
    });
  })

  .put("/:team_id", jsonBody(UpdateByNumberBody, PatchByNumberBody), ifMatch, async (c) => {
    const changes = changesIn(c.req.valid("json"));
    const teamId = pathNumber(c.req.param("team_id"));
    const options = { ifMatch: c.get("ifMatch"), isMergePatch: isOfType(c.req.header("Content-Type"), "merge-patch") };
    const updated = await c.get("directory").updateByNumber(c.get("caller"), teamId, changes, options);
    if (!updated.ok) return refuse(c, updated.failure);
    c.set("teamId", teamId);
    deleteLeases(c, updated.value);
    return respondWithGroup(c, updated.value);
  })

  .post("/:team_id/rotate", jsonBody(RotateByNumberBody), ifMatch, idempotencyKey, async (c) => {
    const teamId = pathNumber(c.req.param("team_id"));
    const { grace_seconds: graceSeconds } = c.req.valid("json");
    const rotated = await c.get("directory").rotateByNumber(c.get("caller"), teamId, graceSeconds, conditionsOf(c));
    return rotated.ok ? respondWithOutcome(c, rotated.value) : refuse(c, rotated.failure);
  })

  .delete("/:team_id", jsonBody(ReasonBody), ifMatch, idempotencyKey, async (c) => {
    const teamId = pathNumber(c.req.param("team_id"));
    const removed = await c.get("directory").removeByNumber(c.get("caller"), teamId, conditionsOf(c));
    return removed.ok ? respondWithOutcome(c, removed.value) : refuse(c, removed.failure);
  })

  .post("/:team_id/restore", jsonBody(RestoreBody), ifMatch, idempotencyKey, async (c) => {
    const body = c.req.valid("json");
    const teamId = pathNumber(c.req.param("team_id"));
    const options = { newProvidedId: body.new_user_group_id, rotateToken: body.rotate_token };
    const restored = await c.get("directory").restore(c.get("caller"), teamId, options, conditionsOf(c));
    return restored.ok ? respondWithOutcome(c, restored.value) : refuse(c, restored.failure);
  })

  .post("/:team_id/purge", jsonBody(ReasonBody), ifMatch, idempotencyKey, async (c) => {
    const teamId = pathNumber(c.req.param("team_id"));
    const purged = await c.get("directory").purge(c.get("caller"), teamId, conditionsOf(c));
    if (!purged.ok) return refuse(c, purged.failure);
    c.set("teamId", teamId);
    return respond(c, { success: 1 });
  });

/** Responds to a call that can have an Idempotency-Key, with the group as the call has left it. */
function respondWithOutcome(c: RequestContext<CallerEnv>, outcome: ShownGroup & Outcome): Response {
  c.set("teamId", outcome.teamId);
  deleteLeases(c, outcome);
  markReplay(c, outcome);
  return respondWithGroup(c, outcome);
}

const listOptions = (c: RequestContext<CallerEnv>): ListOptions => ({
  tag: c.get("environment").tag,
  undoMs: undoMsOf(c.env),
});

/** Responds with a group as the list shows it, and the ETag of its state. */
const respondWithGroup = (c: RequestContext<CallerEnv>, group: ShownGroup): Response =>
  respondWithJson(c, groupBody(group, listOptions(c)), { ETag: etagOf(group) });
