import * as z from "zod/mini";
import { EMAIL_UNITS_MAX } from "../../../../common/limits.ts";
import { BOOTSTRAP_NAME } from "../../../domain/credentials/caller.ts";
import { hasKey, normalizeEmail } from "../../../domain/credentials/operators.ts";
import { ROLES, roleOf } from "../../../domain/credentials/rights.ts";
import type { StoredKey } from "../../../records.ts";
import type { OperatorDraft } from "../../operations/keys.ts";
import {
  Expiry,
  KeyName,
  lazy,
  numberedQuery,
  Reason,
  refuseValue,
  timesOf,
  transformed,
  visiblePart,
} from "../fields.ts";

/** GET /api/operators */
export const OperatorsQuery = lazy(() => numberedQuery());

/** The name of an operator. */
export const OperatorName = lazy(() =>
  KeyName().check(
    z.refine(
      (name) => visiblePart(name).toLowerCase() !== BOOTSTRAP_NAME,
      `Give another name: ${BOOTSTRAP_NAME} is the name of OPERATOR_TOKEN.`,
    ),
  ),
);

const EMAIL_MESSAGE = `Give an address such as ada@example.com: ASCII, and at most ${EMAIL_UNITS_MAX} characters.`;

/** An address, which becomes lower case. */
export const Email = lazy(() =>
  transformed(
    z.string(EMAIL_MESSAGE).check(z.refine((text) => normalizeEmail(text) !== undefined, EMAIL_MESSAGE)),
    (text) => text.toLowerCase(),
  ),
);

/** POST /api/operators */
export const IssueOperatorBody = lazy(() =>
  z
    .strictObject({
      name: OperatorName(),
      role: z.enum(ROLES, 'Give "viewer", "support", "admin" or "backup".'),
      email: z.optional(Email()),
      key: z._default(z.boolean("Give true or false."), true),
      expires_in_seconds: Expiry(),
      reason: Reason(),
    })
    .check(
      z.check((payload) => {
        const { role, email, key } = payload.value;
        if (email === undefined && !key)
          refuseValue(payload, "Give an email too: without it, nobody could sign in without a key.", ["key"]);
        if (email !== undefined && role === "backup")
          refuseValue(payload, "Leave it out: the role backup has a key, and does not sign in to the console.", [
            "email",
          ]);
      }),
    ),
);

/** The operator that a body asks for. */
export const operatorDraftOf = (body: z.output<ReturnType<typeof IssueOperatorBody>>): OperatorDraft => ({
  name: body.name,
  rights: body.role,
  hasKey: body.key,
  expiresInSeconds: body.expires_in_seconds,
  ...(body.email !== undefined && { email: body.email }),
});

/** `operator`, with times in ISO 8601, and never the key itself. */
export const operatorBody = (operator: StoredKey) => ({
  id: operator.id,
  name: operator.name,
  role: roleOf(operator.rights),
  email: operator.email ?? null,
  has_key: hasKey(operator),
  ...timesOf(operator),
});
