import { type CallOptions, type Connection, numberedPath, refuseUndefined } from "../transport/connection.ts";
import { type PageInput, pagedList } from "../transport/paged-list.ts";
import type { ResponseBody } from "../transport/response-body.ts";
import { type Because, type Grace, type Lifetime, reasonBodyOf, toLifetime } from "./credential.ts";

const ROLES = ["viewer", "support", "admin", "backup"] as const;

/**
 * What an operator may do. `viewer` reads everything but tokens; `support` also updates, suspends, resumes and restores groups, but
 * does not rename them, and rotates their tokens without seeing them; `admin` does everything. `backup` lists environments and takes
 * backups, and does nothing else.
 */
export type Role = (typeof ROLES)[number];

/** An operator to add. Without `expiresInSeconds` the key never expires. */
export type IssueOperatorInput = Because & {
  /** The person or the job. Events name it with each of its changes. */
  name: string;
  role: Role;
  /** By this address the operator signs in to the console with its company. Only one valid operator may have it. */
  email?: string | undefined;
  expiresInSeconds?: number;
};

/** An operator to add who signs in to the console with its company alone, and has no key. */
export type IssueOperatorWithoutKeyInput = IssueOperatorInput & { email: string };

/** An operator to replace. */
export type RollOperatorInput = Grace & RevokeOperatorInput;

/** An operator whose key to revoke. */
export type RevokeOperatorInput = Because & { id: number };

/** An operator without the text of the key. */
export type Operator = Lifetime & {
  id: number;
  name: string;
  role: Role;
  /** In lower case; `null` for none, and from release 1.0. */
  email: string | null;
  hasKey: boolean;
};

/** Selects operators; all of them by default. */
export type OperatorsInput = PageInput;

/** Some operators, and the cursor of the next page; `null` on the last page. */
export type OperatorPage = { operators: Operator[]; nextCursor: string | null };

/** An operator with the secret text of the key, which the service shows only here. */
export type IssuedOperator = { operator: Operator; key: string };

export const roleOf = (body: ResponseBody): Role => body.oneOf("role", ROLES);

const toOperator = (operator: ResponseBody): Operator => ({
  id: operator.number("id"),
  name: operator.text("name"),
  role: roleOf(operator),
  email: operator.textOrNull("email"),
  // Release 1.0 does not say so.
  hasKey: !operator.has("has_key") || operator.oneOf("has_key", [true, false]),
  ...toLifetime(operator),
});

const toIssuedOperator = (body: ResponseBody): IssuedOperator => ({
  operator: toOperator(body.object("operator")),
  key: body.text("key"),
});

const PATH = "/api/operators";

export type Operators = ReturnType<typeof operatorsOf>;

/** The calls of an operator on the deployment's operators. */
export function operatorsOf(connection: Connection) {
  const operators = pagedList(connection, { path: PATH, field: "operators", toItem: toOperator });

  async function issue(input: IssueOperatorInput, options: CallOptions | undefined, fields: { key?: false } = {}) {
    refuseUndefined(input, ["expiresInSeconds"]);
    const { name, role, email, expiresInSeconds, reason } = input;
    const body = { name, role, email, ...fields, expires_in_seconds: expiresInSeconds, reason };
    return (await connection.send({ method: "POST", path: PATH, body }, options)).body;
  }

  return {
    /**
     * Issues the key of a new operator. It is not retried after a lost response: find the operator with `listOperators`, and
     * revoke the key that nobody has.
     *
     * @example
     * const issued = await operator.issueOperator({ name: "example", role: "viewer", expiresInSeconds: 3600 });
     * console.info(issued.operator.role, issued.key.slice(0, 4));
     * // viewer ugo_
     * await operator.revokeOperator({ id: issued.operator.id, reason: "It was an example." });
     */
    async issueOperator(input: IssueOperatorInput, options?: CallOptions): Promise<IssuedOperator> {
      return toIssuedOperator(await issue(input, options));
    },

    /**
     * Issues an operator without a key, who signs in to the console with its company alone.
     *
     * @example
     * const grace = { name: "grace", role: "viewer", email: "Grace@example.org" } as const;
     * const { id, email, hasKey } = await operator.issueOperatorWithoutKey(grace);
     * console.info(email, hasKey);
     * // grace@example.org false
     * await operator.revokeOperator({ id, reason: "It was an example." });
     */
    async issueOperatorWithoutKey(input: IssueOperatorWithoutKeyInput, options?: CallOptions): Promise<Operator> {
      return toOperator((await issue(input, options, { key: false })).object("operator"));
    },

    /** Gets one page of the operators. */
    async operatorPage(input: OperatorsInput = {}, options?: CallOptions): Promise<OperatorPage> {
      const { items, nextCursor } = await operators.page(input, options);
      return { operators: items, nextCursor };
    },

    /**
     * Yields all operators, including those that are revoked or expired, and requests the next page when the one before is
     * used up. The bootstrap token is not among them.
     */
    listOperators(input: OperatorsInput = {}, options?: CallOptions): AsyncGenerator<Operator, void, undefined> {
      return operators.items(input, options);
    },

    /** Revokes an operator's key at once. A second revocation changes nothing. */
    async revokeOperator({ id, reason }: RevokeOperatorInput, options?: CallOptions): Promise<void> {
      const call = { path: numberedPath(PATH, "id", id), body: reasonBodyOf({ reason }), retryable: true };
      await connection.send({ method: "DELETE", ...call }, options);
    },

    /**
     * Issues a key to replace an operator's, which stays valid for the grace. The successor has another id and the same name,
     * role, expiry and email. It is not retried after a lost response.
     */
    async rollOperator(
      { id, graceSeconds, reason }: RollOperatorInput,
      options?: CallOptions,
    ): Promise<IssuedOperator> {
      const call = { path: `${numberedPath(PATH, "id", id)}/roll`, body: { grace_seconds: graceSeconds, reason } };
      return toIssuedOperator((await connection.send({ method: "POST", ...call }, options)).body);
    },
  };
}
