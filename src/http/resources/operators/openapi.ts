import * as z from "zod";
import { EMAIL_UNITS_MAX } from "../../../../common/limits.ts";
import { EMAIL } from "../../../domain/credentials/operators.ts";
import { ROLES } from "../../../domain/credentials/rights.ts";
import { byId, component, content, DONE, field, KeyTimes, number, pageOrLast } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describe, describeFields, pageOf } from "../../openapi/request-fields.ts";
import { ReasonBody, RollKeyBody } from "../fields.ts";
import { Email, IssueOperatorBody, OperatorsQuery, type operatorBody } from "./wire.ts";

const Operator = component("Operator", "An operator, without the key.", {
  id: number("The operator's number."),
  name: field(z.string(), "The operator's name, as events show it.", "ada"),
  role: field(z.enum(ROLES), "What the operator may do.", "support"),
  email: field(
    z.string().nullable(),
    "The address by which the operator signs in with its company, in lower case, or null.",
    "ada@example.com",
  ),
  has_key: field(z.boolean(), "Whether the operator has a key.", true),
  ...KeyTimes,
}) satisfies z.ZodType<ReturnType<typeof operatorBody>>;

describe(Email(), { maxLength: EMAIL_UNITS_MAX, pattern: EMAIL.source, examples: ["ada@example.com"] });

/** It has the form of a real key, and no service has signed it. */
const EXAMPLE_KEY = "ugo_AQJrMQAAAAAAAAAAAfVxqmouaQcvLeB7ByMXLuvF-P3sfzoOzGMimDB3O1jw";

const ISSUED_OPERATOR = content("IssuedOperator", {
  operator: field(Operator, "The operator, without the key."),
  key: field(z.string().optional(), "The operator's key, if it has one. No other answer shows it.", EXAMPLE_KEY),
});

const BY_ID = byId("The operator's number, as the list shows it.");

/** The calls on operators. */
export const operatorOperations = {
  "POST /api/operators": {
    id: "issueOperator",
    summary: "Issue the key of an operator",
    description:
      "Names a person or a job that runs the deployment. The answer is the only one that shows the key. The first operator " +
      "is issued with OPERATOR_TOKEN, the admin named bootstrap. An operator with an email may sign in to the console with its company, " +
      "and then needs no key. Of all operators that are valid, only one may have an email.",
    body: {
      name: "IssueOperatorBody",
      schema: describeFields(IssueOperatorBody(), {
        role: "A viewer reads everything but tokens; support also updates groups, but does not rename them, and rotates tokens, without seeing them; an admin does everything. The role backup lists environments and takes backups, and does nothing else.",
        email:
          "The address, in ASCII, by which the operator signs in to the console with its company, as the company's provider has it. It is compared and stored in lower case, and cannot be changed.",
        key: "With false, the operator has no key, and signs in by its email alone.",
      }),
      example: { name: "ada", role: "support", expires_in_seconds: 7_776_000 },
    },
    answer: { status: 201, description: "The key.", content: ISSUED_OPERATOR },
    refusals: ["email_taken"],
  },
  "GET /api/operators": {
    id: "listOperators",
    summary: "List operators",
    description: "The operators, revoked and expired ones included, page by page. The list never shows a key itself.",
    query: { schema: describeFields(OperatorsQuery(), pageOf("operators")), example: { limit: 10 } },
    answer: pageOrLast("ListedOperators", {
      operators: field(z.array(Operator), "One page of operators, oldest first."),
    }),
  },
  "POST /api/operators/:id/roll": {
    id: "rollOperator",
    summary: "Roll the key of an operator",
    description:
      "Issues a key with the same name, role, expiry and email. The old key ends after the grace, or at once without one.",
    ...BY_ID,
    body: { name: "RollOperatorBody", schema: RollKeyBody(), example: { grace_seconds: 3600 } },
    answer: { status: 201, description: "The new key.", content: ISSUED_OPERATOR },
    refusals: ["operator_not_found", "operator_without_key", "email_taken"],
  },
  "DELETE /api/operators/:id": {
    id: "revokeOperator",
    summary: "Revoke the key of an operator",
    description: "The key is refused from the answer on. A second call changes nothing.",
    destroys: "A revoked key never becomes valid again.",
    ...BY_ID,
    body: { name: "ReasonBody", schema: ReasonBody(), example: { reason: "left the company" } },
    answer: { description: "The key is revoked.", content: DONE },
    refusals: ["operator_not_found"],
  },
} satisfies Operations;
