import { log } from "../../domain/log.ts";
import type { EndedLeases } from "../../domain/user-groups/lease-requests.ts";
import { tokenIndexOf } from "../../storage/token-index.ts";
import type { RequestContext } from "../app-env.ts";

/**
 * Deletes the leases of tokens that a call has ended, after its answer. The bound on stale answers does not depend on it:
 * a lease that stays is ignored once it is too old.
 */
export function deleteLeases(c: RequestContext, { endedLeases }: EndedLeases): void {
  const index = tokenIndexOf(c.env);
  if (!index) return;
  for (const nonce of endedLeases)
    c.executionCtx.waitUntil(
      index.delete(nonce).catch((error: unknown) => {
        log.warn({ request_id: c.get("requestId"), message: "A lease could not be deleted.", error: String(error) });
      }),
    );
}
