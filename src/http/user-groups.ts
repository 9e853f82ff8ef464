import { type Context, Hono } from "hono";
import { mintCredential, verifyCredential } from "../domain/credential.ts";
import type { Proof } from "../domain/group-directory.ts";
import { etagOf, type ShownGroup } from "../domain/user-group.ts";
import { answer } from "./answer.ts";
import type { AppEnv } from "./app-env.ts";
import { integratorOnly, vet } from "./authenticate.ts";
import { repeatableOf } from "./idempotency.ts";
import { jsonBody } from "./json-body.ts";
import { allowMethods } from "./methods.ts";
import { refuse } from "./refusals.ts";
import { EnsureBody, RemoveBody, RotateBody, UpdateBody } from "./schemas.ts";
import { onGet, onPost, onPut } from "./wire.ts";

/** The four operations on user groups. */
export const userGroups = new Hono<AppEnv>()
  .use(allowMethods("GET", "PUT", "POST", "DELETE"), integratorOnly)

  .get("/", jsonBody(EnsureBody, { access: "read" }), async (c) => {
    const { user_group_id: providedId, ...draft } = c.req.valid("json");
    const ensured = await c.get("directory").ensure(c.get("caller"), { providedId, ...draft });
    if (!ensured.ok) return refuse(c, ensured.failure);
    const { created, group } = ensured.value;
    const token = await tokenOf(c, group);
    return answer(c, { success: 1, new_user_group: created, user_group: onGet(group, token) }, { ETag: etagOf(group) });
  })

  .put("/", jsonBody(UpdateBody, { access: "write" }), async (c) => {
    const { user_group_id: providedId, new_user_group_id: newProvidedId, ...changes } = c.req.valid("json");
    const ifMatch = c.req.header("If-Match");
    const updated = await c
      .get("directory")
      .update(c.get("caller"), providedId, { newProvidedId, ...changes }, ifMatch);
    if (!updated.ok) return refuse(c, updated.failure);
    const group = updated.value;
    const token = await tokenOf(c, group);
    const shown = onPut(group, token, c.get("environment").tag);
    return answer(c, { success: 1, user_group: shown }, { ETag: etagOf(group) });
  })

  .post("/", jsonBody(RotateBody, { access: "write" }), async (c) => {
    const body = c.req.valid("json");
    const repeatable = await repeatableOf(c, body);
    if (!repeatable.ok) return refuse(c, (await vet(c, "write")) ?? repeatable.failure);
    const current = await proofOf(c, body.current_token);
    const rotated = await c
      .get("directory")
      .rotateToken(c.get("caller"), current, body.grace_seconds, repeatable.value);
    if (!rotated.ok) return refuse(c, rotated.failure);
    const group = rotated.value;
    const token = await tokenOf(c, group, group.signingId);
    const shown = onPost(group, token, c.get("environment").tag);
    return answer(c, { success: 1, user_group: shown }, { ETag: etagOf(group) });
  })

  .delete("/", jsonBody(RemoveBody, { access: "write" }), async (c) => {
    const body = c.req.valid("json");
    const repeatable = await repeatableOf(c, body);
    if (!repeatable.ok) return refuse(c, (await vet(c, "write")) ?? repeatable.failure);
    const current = await proofOf(c, body.current_token);
    const guards = { providedId: body.user_group_id, dataSource: body.data_source_provided_id };
    const removed = await c.get("directory").remove(c.get("caller"), current, guards, repeatable.value);
    if (!removed.ok) return refuse(c, removed.failure);
    return answer(c, { success: 1 });
  });

/** The group's token, made anew: nobody keeps it. */
const tokenOf = (c: Context<AppEnv>, { teamId, nonce }: Pick<ShownGroup, "teamId" | "nonce">, signingId?: string) =>
  mintCredential(
    c.get("ring"),
    "token",
    { environment: c.get("environment"), id: teamId, nonce: new Uint8Array(nonce) },
    signingId,
  );

/**
 * What the directory judges of a token; `undefined` for one that it cannot have given out: forged, or of another
 * environment, which the caller must not be able to tell apart.
 */
async function proofOf(c: Context<AppEnv>, token: string): Promise<Proof | undefined> {
  const claim = await verifyCredential(c.get("ring"), "token", token);
  const { workspace, tag } = c.get("environment");
  if (claim?.environment.workspace !== workspace || claim.environment.tag !== tag) return undefined;
  return { id: claim.id, nonce: claim.nonce };
}
