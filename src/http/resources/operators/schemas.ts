import * as z from "zod/mini";
import { BOOTSTRAP_NAME } from "../../../domain/credentials/caller.ts";
import { ROLES } from "../../../domain/credentials/rights.ts";
import { Expiry, KeyName, lazy, numberedQuery, Reason, visiblePart, withMeta } from "../fields.ts";

/** GET /api/operators */
export const OperatorsQuery = lazy(() => numberedQuery("operators"));

/** The name of an operator. */
export const OperatorName = lazy(() =>
  KeyName().check(
    z.refine((name) => visiblePart(name).toLowerCase() !== BOOTSTRAP_NAME, {
      error: `Give another name: ${BOOTSTRAP_NAME} is the name of OPERATOR_TOKEN.`,
    }),
  ),
);

/** POST /api/operators */
export const IssueOperatorBody = lazy(() =>
  z.strictObject({
    name: OperatorName(),
    role: withMeta(z.enum(ROLES, { error: 'Give "viewer", "support", "admin" or "backup".' }), {
      description:
        "A viewer reads everything but tokens; support also updates groups, but does not rename them, and rotates tokens, without seeing them; an admin does everything. The role backup lists environments and takes backups, and does nothing else.",
    }),
    expires_in_seconds: Expiry(),
    reason: Reason(),
  }),
);
