import type { Context } from "hono";
import type { Failure } from "../../domain/failure.ts";
import type { AppEnv } from "../app-env.ts";

/**
 * Checks the caller before a call is refused for its content, so that a caller without a valid key learns nothing about it.
 * Only the directory knows whether an API key is valid and has the scope of the call; other callers were checked before.
 */
export async function checkCaller(c: Context<AppEnv>): Promise<Failure | undefined> {
  const scope = c.get("access")?.scope;
  if (c.get("credential").kind !== "api_key") return undefined;
  const checked = await c.get("directory").checkCaller(c.get("caller"), scope === "any" ? undefined : scope);
  return checked.ok ? undefined : checked.failure;
}
