import type { PageInput } from "../transport/paged-list.ts";
import type { ResponseBody } from "../transport/response-body.ts";

const ROLES = ["viewer", "support", "admin"] as const;

/**
 * What an operator may do. `viewer` reads everything but tokens; `support` also updates, suspends, resumes and restores groups, but
 * does not rename them, and rotates their tokens without seeing them; `admin` does everything.
 */
export type Role = (typeof ROLES)[number];

/** An operator to add. Without `expiresInSeconds` the key never expires. */
export type IssueOperatorInput = {
  /** The person or the job, by which events name each change. */
  name: string;
  role: Role;
  expiresInSeconds?: number | undefined;
};

/** An operator to replace. */
export type RollOperatorInput = {
  id: number;
  /** For how many seconds the old key stays valid; 0 by default, 604800 (a week) at most. */
  graceSeconds?: number | undefined;
};

/** An operator without the text of the key. Times are ISO 8601 in UTC; a `revokedAt` in the future is the end of a grace. */
export type Operator = {
  id: number;
  name: string;
  role: Role;
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
};

/** Selects operators; all of them by default. */
export type OperatorsInput = PageInput;

/** Some operators, and the cursor of the next page; `null` on the last page. */
export type OperatorPage = { operators: Operator[]; nextCursor: string | null };

/** An operator with the secret text of the key, which the service shows only here. */
export type IssuedOperator = { operator: Operator; key: string };

export const roleOf = (body: ResponseBody): Role => body.oneOf("role", ROLES);

export const toOperator = (operator: ResponseBody): Operator => ({
  id: operator.number("id"),
  name: operator.text("name"),
  role: roleOf(operator),
  createdAt: operator.text("created_at"),
  expiresAt: operator.textOrNull("expires_at"),
  lastUsedAt: operator.textOrNull("last_used_at"),
  revokedAt: operator.textOrNull("revoked_at"),
});

export const toIssuedOperator = (body: ResponseBody): IssuedOperator => ({
  operator: toOperator(body.object("operator")),
  key: body.text("key"),
});
