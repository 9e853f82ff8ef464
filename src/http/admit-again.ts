import type { Context } from "hono";
import type { Failure } from "../domain/failure.ts";
import type { AppEnv } from "./app-env.ts";
import { registryOf } from "./durable-objects.ts";

/**
 * Admits an operator again whose list of an environment has waited for its turn: the key may have been revoked meanwhile. The
 * directory admits API keys again itself.
 */
export async function admitAgain(
  c: Context<AppEnv>,
  { hasWaited }: { hasWaited: boolean },
): Promise<Failure | undefined> {
  if (!hasWaited || c.get("caller").kind !== "operator") return undefined;
  const role = c.get("access")?.role ?? "admin";
  const admitted = await registryOf(c.env).admit(c.get("presentedOperator"), role, c.get("environment"));
  return admitted.ok ? undefined : admitted.failure;
}
