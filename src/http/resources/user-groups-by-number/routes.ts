import { type Context, Hono } from "hono";
import { daysToMs } from "../../../domain/days.ts";
import type { Outcome } from "../../../domain/user-groups/responses.ts";
import { etagOf } from "../../../domain/user-groups/user-group.ts";
import { UNDO_DAYS_DEFAULT } from "../../../limits.ts";
import type { ListedGroup } from "../../../records.ts";
import { admitAgain } from "../../admit-again.ts";
import type { AppEnv } from "../../app-env.ts";
import { authorize } from "../../request/authorize.ts";
import { checkCaller } from "../../request/check-caller.ts";
import { conditionsOf } from "../../request/conditions.ts";
import { idempotencyOf, markReplay } from "../../request/idempotency.ts";
import { ifMatchOf } from "../../request/if-match.ts";
import { jsonBody } from "../../request/json-body.ts";
import { allowMethods } from "../../request/methods.ts";
import { pathNumber } from "../../request/path-number.ts";
import { validQuery } from "../../request/validate.ts";
import { deleteLeases } from "../../response/ended-leases.ts";
import { refuse } from "../../response/failures.ts";
import { respond, respondWithJson } from "../../response/respond.ts";
import {
  EnsureBody,
  ListQuery,
  RestoreBody,
  RotateByNumberBody,
  ShowQuery,
  UpdateByNumberBody,
} from "../../schemas.ts";
import { groupBody, type ListOptions, listBody } from "../../wire.ts";
import { cursorOf } from "../cursor.ts";
import { ensureGroup } from "../user-groups/routes.ts";

/**
 * The groups of an environment for integrators and operators: a page at a time, or one by its number, and never a token; and for
 * integrators, GET /api/user under a method that has a body.
 */
export const userGroupsByNumber = new Hono<AppEnv>()
  .use("/", allowMethods("GET", "POST"))
  .use("/:team_id", allowMethods("GET", "PUT", "DELETE"))
  .use("/:team_id/rotate", allowMethods("POST"))
  .use("/:team_id/restore", allowMethods("POST"))
  .use("/:team_id/purge", allowMethods("POST"))
  .use(authorize)

  .get("/", validQuery(ListQuery), async (c) => {
    const query = c.req.valid("query");
    const listed = await c.get("directory").list(c.get("caller"), query);
    if (!listed.ok) return refuse(c, listed.failure);
    const failure = await admitAgain(c, listed.value);
    if (failure) return refuse(c, failure);
    const { groups, next } = listed.value;
    const nextCursor = next === null ? null : cursorOf({ start: next, prefix: query.prefix });
    return respondWithJson(c, listBody(groups, listOptions(c), nextCursor));
  })

  .post("/", jsonBody(EnsureBody), (c) => ensureGroup(c, c.req.valid("json"), { createdStatus: 201 }))

  .get("/:team_id", validQuery(ShowQuery), async (c) => {
    const from = c.req.valid("query").state ?? "existing";
    const shown = await c.get("directory").show(c.get("caller"), pathNumber(c.req.param("team_id")), from);
    return shown.ok ? respondWithGroup(c, shown.value) : refuse(c, shown.failure);
  })

  .put("/:team_id", jsonBody(UpdateByNumberBody), async (c) => {
    const { new_user_group_id: newProvidedId, ...changes } = c.req.valid("json");
    const ifMatch = ifMatchOf(c);
    if (!ifMatch.ok) return refuse(c, (await checkCaller(c)) ?? ifMatch.failure);
    const teamId = pathNumber(c.req.param("team_id"));
    const updated = await c
      .get("directory")
      .updateByNumber(c.get("caller"), teamId, { newProvidedId, ...changes }, { ifMatch: ifMatch.value });
    if (!updated.ok) return refuse(c, updated.failure);
    c.set("teamId", teamId);
    deleteLeases(c, updated.value);
    return respondWithGroup(c, updated.value);
  })

  .post("/:team_id/rotate", jsonBody(RotateByNumberBody), async (c) => {
    const body = c.req.valid("json");
    const conditions = await conditionsOf(c, body);
    if (!conditions.ok) return refuse(c, (await checkCaller(c)) ?? conditions.failure);
    const teamId = pathNumber(c.req.param("team_id"));
    const { grace_seconds: graceSeconds } = body;
    const rotated = await c.get("directory").rotateByNumber(c.get("caller"), teamId, graceSeconds, conditions.value);
    return rotated.ok ? respondWithOutcome(c, rotated.value) : refuse(c, rotated.failure);
  })

  .delete("/:team_id", async (c) => {
    const conditions = await conditionsOf(c, {});
    if (!conditions.ok) return refuse(c, (await checkCaller(c)) ?? conditions.failure);
    const teamId = pathNumber(c.req.param("team_id"));
    const removed = await c.get("directory").removeByNumber(c.get("caller"), teamId, conditions.value);
    return removed.ok ? respondWithOutcome(c, removed.value) : refuse(c, removed.failure);
  })

  .post("/:team_id/restore", jsonBody(RestoreBody), async (c) => {
    const body = c.req.valid("json");
    const idempotency = await idempotencyOf(c, body);
    if (!idempotency.ok) return refuse(c, (await checkCaller(c)) ?? idempotency.failure);
    const teamId = pathNumber(c.req.param("team_id"));
    const options = { newProvidedId: body.new_user_group_id, rotateToken: body.rotate_token };
    const conditions = { idempotency: idempotency.value };
    const restored = await c.get("directory").restore(c.get("caller"), teamId, options, conditions);
    return restored.ok ? respondWithOutcome(c, restored.value) : refuse(c, restored.failure);
  })

  .post("/:team_id/purge", async (c) => {
    const idempotency = await idempotencyOf(c, {});
    if (!idempotency.ok) return refuse(c, (await checkCaller(c)) ?? idempotency.failure);
    const teamId = pathNumber(c.req.param("team_id"));
    const purged = await c.get("directory").purge(c.get("caller"), teamId, { idempotency: idempotency.value });
    if (!purged.ok) return refuse(c, purged.failure);
    c.set("teamId", teamId);
    return respond(c, { success: 1 });
  });

/** A group after a call that can have an Idempotency-Key. */
function respondWithOutcome(c: Context<AppEnv>, outcome: ListedGroup & Outcome): Response {
  c.set("teamId", outcome.teamId);
  deleteLeases(c, outcome);
  markReplay(c, outcome);
  return respondWithGroup(c, outcome);
}

/** What of a group's JSON comes from its environment and from the settings. */
const listOptions = (c: Context<AppEnv>): ListOptions => ({
  tag: c.get("environment").tag,
  undoMs: daysToMs(c.env.UNDO_DAYS, UNDO_DAYS_DEFAULT),
});

/** A group as the list shows it, with the ETag of its state. */
const respondWithGroup = (c: Context<AppEnv>, group: ListedGroup): Response =>
  respondWithJson(c, groupBody(group, listOptions(c)), { ETag: etagOf(group) });
