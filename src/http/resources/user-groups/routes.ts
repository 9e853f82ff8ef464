import type * as z from "zod/mini";
import type { PresentedToken } from "../../../domain/credentials/caller.ts";
import { mintToken, verifyCredential } from "../../../domain/credentials/credential.ts";
import { etagOf } from "../../../domain/user-groups/user-group.ts";
import type { AppEnv, CallerEnv, RequestContext } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { authorizeKeys } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { conditionsOf, idempotencyKey, ifMatch, markReplay } from "../../request/conditions.ts";
import { deleteLeases } from "../../response/ended-leases.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import {
  changesIn,
  contentIn,
  EnsureBody,
  getBody,
  postBody,
  putBody,
  RemoveBody,
  RotateBody,
  UpdateBody,
} from "./wire.ts";

/** The four calls on user groups. */
export const userGroups = new Hono<AppEnv>()
  .use(authorizeKeys)

  .get("/", jsonBody(EnsureBody), (c) => ensureGroup(c, c.req.valid("json"), { createdStatus: 200 }))

  .put("/", jsonBody(UpdateBody), ifMatch, async (c) => {
    const body = c.req.valid("json");
    const updated = await c
      .get("directory")
      .update(c.get("caller"), body.user_group_id, changesIn(body), { ifMatch: c.get("ifMatch") });
    if (!updated.ok) return refuse(c, updated.failure);
    const group = updated.value;
    c.set("teamId", group.teamId);
    deleteLeases(c, group);
    const userGroup = putBody(group, await tokenOf(c, group), c.get("environment").tag);
    return respond(c, { success: 1, user_group: userGroup }, { ETag: etagOf(group) });
  })

  .post("/", jsonBody(RotateBody), ifMatch, idempotencyKey, async (c) => {
    const body = c.req.valid("json");
    const current = await presentedToken(c, body.current_token);
    const rotated = await c.get("directory").rotateToken(c.get("caller"), current, body.grace_seconds, conditionsOf(c));
    if (!rotated.ok) return refuse(c, rotated.failure);
    const group = rotated.value;
    c.set("teamId", group.teamId);
    deleteLeases(c, group);
    markReplay(c, group);
    const userGroup = postBody(group, await tokenOf(c, group), c.get("environment").tag);
    return respond(c, { success: 1, user_group: userGroup }, { ETag: etagOf(group) });
  })

  .delete("/", jsonBody(RemoveBody), ifMatch, idempotencyKey, async (c) => {
    const body = c.req.valid("json");
    const current = await presentedToken(c, body.current_token);
    const guards = { providedId: body.user_group_id, dataSource: body.data_source_provided_id };
    const removed = await c.get("directory").remove(c.get("caller"), current, guards, conditionsOf(c));
    if (!removed.ok) return refuse(c, removed.failure);
    if (current) c.set("teamId", current.id);
    deleteLeases(c, removed.value);
    markReplay(c, removed.value);
    return respond(c, { success: 1 });
  });

/** Gets the group, or creates it, and responds with it and its token. */
export async function ensureGroup(
  c: RequestContext<CallerEnv>,
  given: z.output<ReturnType<typeof EnsureBody>>,
  { createdStatus }: { createdStatus: 200 | 201 },
): Promise<Response> {
  const ensured = await c
    .get("directory")
    .ensure(c.get("caller"), { providedId: given.user_group_id, ...contentIn(given) });
  if (!ensured.ok) return refuse(c, ensured.failure);
  const { created, group } = ensured.value;
  if (created) c.set("teamId", group.teamId);
  const body = { success: 1, new_user_group: created, user_group: getBody(group, await tokenOf(c, group)) };
  return respond(c, body, { ETag: etagOf(group) }, created ? createdStatus : 200);
}

/** Derives the group's token, which is not stored; `undefined` if the caller may not read it. */
function tokenOf(
  c: RequestContext<CallerEnv>,
  { teamId: id, nonce, signingId }: { teamId: number; nonce: ArrayBuffer | undefined; signingId?: string | undefined },
): Promise<string> | undefined {
  if (!nonce) return undefined;
  const claim = { kind: "token", environment: c.get("environment"), id, nonce: new Uint8Array(nonce) } as const;
  return mintToken(c.get("ring"), claim, signingId);
}

/**
 * The part of a token that the directory checks. `undefined` for a forged token and for one of another environment, which
 * the caller must not be able to tell apart.
 */
async function presentedToken(c: RequestContext<CallerEnv>, token: string): Promise<PresentedToken | undefined> {
  const claim = await verifyCredential(c.get("ring"), token);
  const { workspace, tag } = c.get("environment");
  if (claim?.kind !== "token" || claim.environment.workspace !== workspace || claim.environment.tag !== tag)
    return undefined;
  return { id: claim.id, nonce: claim.nonce };
}
