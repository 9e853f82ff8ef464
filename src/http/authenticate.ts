import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { verifyCredential } from "../domain/credential.ts";
import type { GroupDirectory } from "../domain/group-directory.ts";
import type { Environment } from "../domain/user-group.ts";
import type { AppEnv } from "./app-env.ts";
import { log } from "./log.ts";
import { refuse } from "./refusals.ts";

/** Lets pass whoever shows an API key that this service signed. The directory judges the rest within the call's own RPC. */
export const integratorOnly = createMiddleware<AppEnv>(async (c, next) => {
  const claim = await verifyCredential(c.var.ring, "api_key", shownCredential(c));
  if (!claim) return refuse(c, { code: "unauthenticated" });

  const caller = { id: claim.id, nonce: claim.nonce };
  const directory = directoryOf(c.env, claim.environment);
  c.set("keyId", claim.id);
  c.set("environment", claim.environment);
  c.set("caller", caller);
  c.set("directory", directory);
  c.set("vet", async (access) => {
    const vetted = await directory.checkAccess(caller, access);
    return vetted.ok ? undefined : vetted.failure;
  });
  return next();
});

/** Lets pass whoever shows `OPERATOR_TOKEN`, and nobody while there is none. */
export const operatorOnly = createMiddleware<AppEnv>(async (c, next) => {
  const { OPERATOR_TOKEN } = c.env;
  if (!OPERATOR_TOKEN)
    log.warn({
      request_id: c.var.requestId,
      message:
        "OPERATOR_TOKEN is not set, so nobody can manage API keys. Set it with: npx wrangler secret put OPERATOR_TOKEN",
    });
  if (!OPERATOR_TOKEN || !(await sameText(OPERATOR_TOKEN, shownCredential(c))))
    return refuse(c, { code: "unauthenticated" });
  c.set("vet", async () => undefined);
  return next();
});

/** The directory of an environment, by the name that DESIGN.md gives it. */
export const directoryOf = (env: Env, { workspace, tag }: Environment): DurableObjectStub<GroupDirectory> =>
  env.GROUP_DIRECTORY.getByName(`${workspace}/${tag ?? "untagged"}`);

/** What stands behind the scheme `Token` (in any case, as RFC 9110 has it), or an empty string. */
const shownCredential = (c: Context<AppEnv>): string =>
  /^token +(\S+)$/i.exec(c.req.header("Authorization") ?? "")?.[1] ?? "";

/** Compares digests, so that neither content nor length shows in the time it takes. */
async function sameText(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all(
    [one, other].map((text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
  );
  return a !== undefined && b !== undefined && crypto.subtle.timingSafeEqual(a, b);
}
