import * as z from "zod";
import { SCOPES } from "../../../domain/credentials/rights.ts";
import {
  byId,
  component,
  content,
  DONE,
  field,
  KeyTimes,
  number,
  pageOrLast,
  Tag,
  Workspace,
} from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describe, describeFields, graceOf, pageOf } from "../../openapi/request-fields.ts";
import { ReasonBody, RollKeyBody } from "../fields.ts";
import { type apiKeyBody, IssueKeyBody, KeysQuery, Scopes } from "./wire.ts";

const ApiKey = component("ApiKey", "An API key's properties, without the key itself.", {
  id: number("The key's number in its environment."),
  workspace: Workspace,
  environment: field(Tag, "The environment in which the key acts."),
  name: field(z.string(), "The name of the key in lists.", "backend"),
  access: field(
    z.enum(["read", "write"]).nullable(),
    "The access that was chosen, or null for a key with scopes.",
    "write",
  ),
  scopes: field(z.array(z.enum(SCOPES)).readonly(), "What the key may do.", [...SCOPES]),
  ...KeyTimes,
}) satisfies z.ZodType<ReturnType<typeof apiKeyBody>>;

/** It has the form of a real key, and no service has signed it. */
const EXAMPLE_KEY = "ugk_testing_AQJrMQRhY21lAAAAAAAAAAH1capqLmkHLy3gewcjFy7rxfj97h86DsxjIpgwdztY8A";

const ISSUED_KEY = content("IssuedKey", {
  api_key: field(ApiKey, "The key's properties."),
  key: field(z.string(), "The key itself. No other answer shows it.", EXAMPLE_KEY),
});

const AN_ENVIRONMENT = { workspace: "acme", environment: "Testing" };

const BY_ID = byId("The key's number, as the list shows it.");

describe(Scopes(), { uniqueItems: true });

/** The calls of operators on API keys. */
export const apiKeyOperations = {
  "POST /api/keys": {
    id: "issueKey",
    summary: "Issue an API key",
    description:
      "Issues a key for one workspace and environment, which the first key creates. The answer is the only one that shows the key.",
    body: {
      name: "IssueKeyBody",
      schema: describeFields(IssueKeyBody(), {
        environment: "The environment in which the key acts; null is the one without a tag.",
        access: "All scopes (write, the default), or groups:read and events:read (read). Not together with scopes.",
        scopes: "The scopes of the key. Not together with access.",
        location:
          "Where to place a new environment, near its integrator: a location hint of Durable Objects. Only with the first key.",
      }),
      example: { ...AN_ENVIRONMENT, name: "backend", access: "write", expires_in_seconds: 7_776_000 },
    },
    answer: { status: 201, description: "The key.", content: ISSUED_KEY },
  },
  "GET /api/keys": {
    id: "listKeys",
    summary: "List API keys",
    description:
      "The keys of an environment, revoked and expired ones included, page by page. The list never shows a key itself.",
    query: { schema: describeFields(KeysQuery(), pageOf("keys")), example: { limit: 10 } },
    answer: pageOrLast("ListedKeys", { api_keys: field(z.array(ApiKey), "One page of keys, oldest first.") }),
  },
  "POST /api/keys/:id/roll": {
    id: "rollKey",
    summary: "Roll an API key",
    description:
      "Issues a key with the same name, scopes and expiry. The old key ends after the grace, or at once without one.",
    ...BY_ID,
    body: {
      name: "RollKeyBody",
      schema: describeFields(RollKeyBody(), { grace_seconds: graceOf("key") }),
      example: { grace_seconds: 3600 },
    },
    answer: { status: 201, description: "The new key.", content: ISSUED_KEY },
    refusals: ["api_key_not_found"],
  },
  "DELETE /api/keys/:id": {
    id: "revokeKey",
    summary: "Revoke an API key",
    description: "The key is refused from the answer on. A second call changes nothing.",
    destroys: "A revoked key never becomes valid again.",
    ...BY_ID,
    body: { name: "ReasonBody", schema: ReasonBody(), example: { reason: "found in a public repository" } },
    answer: { description: "The key is revoked.", content: DONE },
    refusals: ["api_key_not_found"],
  },
} satisfies Operations;
