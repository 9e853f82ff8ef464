import * as z from "zod";
import { LEASE_SECONDS_MAX, STALE_SECONDS_MIN } from "../../limits.ts";
import {
  EnsureBody,
  EnvironmentQuery,
  IssueKeyBody,
  ListQuery,
  QueryBody,
  RemoveBody,
  RollKeyBody,
  RotateBody,
  UpdateBody,
} from "../schemas.ts";
import { Bound, Done, Ensured, Health, IssuedKey, Listed, ListedKeys, Rotated, Updated, Viewed } from "./answers.ts";
import type { Code } from "./failures.ts";

/** Every call of the service, for the OpenAPI document alone: the Worker does not import this. */

export type Method = "get" | "put" | "post" | "delete";

export type Operation = {
  id: string;
  tag: "User groups" | "Dashboards" | "API keys" | "About";
  summary: string;
  description: string;
  credential?: "api_key" | "user_group_token" | "operator_token";
  /** Names of request headers in `REQUEST_HEADERS`. */
  headers?: string[];
  /** The path's parameters, and those of the query, with a value of each to send. */
  path?: { schema: z.ZodObject; example: Record<string, unknown> };
  query?: { schema: z.core.$ZodType; example: Record<string, unknown> };
  body?: { name: string; schema: z.core.$ZodType; isOptional?: boolean; example: object };
  answer: {
    status: 200 | 201;
    description: string;
    /** JSON by its name and schema, or the media type of anything else. */
    content: { name: string; schema: z.core.$ZodType } | string;
    headers?: string[];
  };
  refusals: Code[];
};

const EVERYWHERE: Code[] = ["secret_key_in_browser", "rate_limited", "internal_error", "service_not_configured"];
const WITH_A_DIRECTORY: Code[] = [...EVERYWHERE, "unauthenticated", "directory_unavailable"];
const WITH_AN_API_KEY: Code[] = [...WITH_A_DIRECTORY, "credential_expired", "credential_revoked"];
const WITH_A_TOKEN: Code[] = [...WITH_A_DIRECTORY, "credential_revoked"];
const WITH_OPTIONAL_BODY: Code[] = [
  "malformed_json",
  "body_timeout",
  "body_too_large",
  "unsupported_media_type",
  "invalid_body",
];
const WITH_A_BODY: Code[] = [...WITH_OPTIONAL_BODY, "body_required"];

/** A token in an example; whoever sends the example puts a real one in its place. */
const A_TOKEN = "ugt_testing_AQJrMQRkZW1v";
const AN_ENVIRONMENT = { workspace: "acme", environment: "Testing" };

const KeyId = z.strictObject({
  id: z.int().min(1).max(999_999_999_999_999).meta({ description: "The key's number, as the list shows it." }),
});

/** The request headers that some calls read, besides Authorization and Content-Type. */
export const REQUEST_HEADERS: Record<string, { description: string; schema: object; example: string }> = {
  "If-Match": {
    description:
      "The ETag of the state that you want to change, or several, or `*`. In any other state the call is refused with 412. A " +
      'weak tag (`W/"1.2"`) counts as the strong one, because proxies weaken tags when they compress.',
    schema: { type: "string" },
    example: "*",
  },
  "X-HTTP-Method-Override": {
    description:
      "Makes this POST the call of another method, to the letter: body and answer are those of the method that it names, " +
      "in any case. For clients and proxies that send no body with a GET.",
    schema: { type: "string", enum: ["GET", "PUT", "POST", "DELETE"] },
    example: "POST",
  },
  "Idempotency-Key": {
    description:
      "Makes the call safe to repeat: for 24 hours the same key with the same body gets the same answer, byte for byte, and " +
      "with another body 422 `idempotency_key_reused`.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\u0021-\\u007e]+$" },
    example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
  },
  "Cache-Control": {
    description:
      `With \`max-age=N\`, N >= ${STALE_SECONDS_MIN}, the answer may be stale: at most N seconds old, and never more than ` +
      `${LEASE_SECONDS_MAX}. Without it, or with \`no-cache\` or \`no-store\`, every change is in force.`,
    schema: { type: "string" },
    example: `max-age=${STALE_SECONDS_MIN}`,
  },
};

export const OPERATIONS: Record<string, Partial<Record<Method, Operation>>> = {
  "/api/user": {
    get: {
      id: "ensureUserGroup",
      tag: "User groups",
      summary: "Get or create a user group",
      description:
        "Gets a user group, or creates it where there is none with this id. On an id that is known it changes nothing, " +
        "whatever else the body says. An API key with read access creates none, and gets no `token`.\n\n" +
        "This GET has a body. HTTP gives such a body no meaning of its own (RFC 9110, section 9.3.1), and `fetch` and some " +
        "proxies refuse or drop it; then send the same body with `POST /api/user` and the header " +
        "`X-HTTP-Method-Override: GET`. A GET whose body was lost gets `body_required` and creates nothing. " +
        "Send a Content-Length, not chunks.",
      credential: "api_key",
      body: {
        name: "EnsureBody",
        schema: EnsureBody(),
        example: {
          user_group_id: "acme",
          name: "Acme Inc.",
          mapping: { sales: "warehouse-7" },
          properties: { region: "eu", plans: ["pro"] },
        },
      },
      answer: {
        status: 200,
        description: "The group, and whether this call has created it.",
        content: { name: "Ensured", schema: Ensured },
        headers: ["ETag"],
      },
      refusals: [...WITH_AN_API_KEY, ...WITH_A_BODY, "user_group_not_found", "environment_full"],
    },
    put: {
      id: "updateUserGroup",
      tag: "User groups",
      summary: "Change a user group",
      description: "Changes the fields that you give, and no others. `new_user_group_id` renames.",
      credential: "api_key",
      headers: ["If-Match"],
      body: {
        name: "UpdateBody",
        schema: UpdateBody(),
        example: { user_group_id: "acme", properties: { region: "us" } },
      },
      answer: {
        status: 200,
        description: "The group as it is now.",
        content: { name: "Updated", schema: Updated },
        headers: ["ETag"],
      },
      refusals: [
        ...WITH_AN_API_KEY,
        ...WITH_A_BODY,
        "insufficient_access",
        "user_group_not_found",
        "user_group_id_taken",
        "revision_mismatch",
        "environment_full",
      ],
    },
    post: {
      id: "rotateToken",
      tag: "User groups",
      summary: "Rotate a token",
      description:
        "Trades the current token for a new one. The old one is refused from the answer on, but for viewers within the grace.",
      credential: "api_key",
      headers: ["X-HTTP-Method-Override", "Idempotency-Key", "If-Match"],
      body: { name: "RotateBody", schema: RotateBody(), example: { current_token: A_TOKEN, grace_seconds: 3600 } },
      answer: {
        status: 200,
        description: "The group with its new token.",
        content: { name: "Rotated", schema: Rotated },
        headers: ["ETag"],
      },
      refusals: [
        ...WITH_AN_API_KEY,
        ...WITH_A_BODY,
        "insufficient_access",
        "user_group_not_found",
        "method_not_allowed",
        "token_superseded",
        "revision_mismatch",
        "idempotency_key_reused",
        "environment_full",
      ],
    },
    delete: {
      id: "removeUserGroup",
      tag: "User groups",
      summary: "Delete a user group",
      description:
        "Deletes the group whose current token you give. Where a guard does not fit, nothing is deleted. Where a client or proxy drops " +
        "the body of a DELETE, send it with `POST /api/user` and the header `X-HTTP-Method-Override: DELETE`.",
      credential: "api_key",
      headers: ["Idempotency-Key", "If-Match"],
      body: { name: "RemoveBody", schema: RemoveBody(), example: { current_token: A_TOKEN, user_group_id: "acme" } },
      answer: { status: 200, description: "The group is deleted.", content: { name: "Done", schema: Done } },
      refusals: [
        ...WITH_AN_API_KEY,
        ...WITH_A_BODY,
        "insufficient_access",
        "user_group_not_found",
        "token_superseded",
        "user_group_mismatch",
        "revision_mismatch",
        "idempotency_key_reused",
        "environment_full",
      ],
    },
  },
  "/api/user_groups": {
    get: {
      id: "listUserGroups",
      tag: "User groups",
      summary: "List user groups",
      description:
        "The groups of the API key's environment in the order of `team_id`, or with a prefix in the order of their ids, page " +
        "by page, and never a token. A page holds at most 1 MiB, so it may have fewer groups than `limit` and still a cursor: " +
        "only `next_cursor: null` is the end.",
      credential: "api_key",
      query: { schema: ListQuery(), example: { limit: 10, user_group_id_prefix: "acme" } },
      answer: {
        status: 200,
        description: "One page, and the cursor of the next.",
        content: { name: "Listed", schema: Listed },
      },
      refusals: [...WITH_AN_API_KEY, "invalid_body"],
    },
  },
  "/api/viewer": {
    get: {
      id: "viewUserGroup",
      tag: "Dashboards",
      summary: "See whose token it is",
      description:
        "The group of the token, and its variables. Browsers may make this call from any origin. By default a token that was " +
        "rotated or deleted is refused at once.",
      credential: "user_group_token",
      headers: ["Cache-Control"],
      answer: {
        status: 200,
        description: "The group, without its token.",
        content: { name: "Viewed", schema: Viewed },
        headers: ["X-Answered-By", "Age", "Access-Control-Allow-Origin"],
      },
      refusals: WITH_A_TOKEN,
    },
  },
  "/api/viewer/query": {
    post: {
      id: "bindQuery",
      tag: "Dashboards",
      summary: "Bind an SQL template",
      description:
        "Each `{{variable}}` becomes a placeholder and its value a parameter, never text of the SQL; a list becomes one placeholder " +
        "for each item, and must stand in parentheses or brackets. `[[ ... ]]` is an optional clause: it is dropped when a variable in it is " +
        "missing, and `dropped` names that variable. A name that no group can have is refused there, too, as is each template " +
        "that could lose a filter.",
      credential: "user_group_token",
      headers: ["Cache-Control"],
      body: {
        name: "QueryBody",
        schema: QueryBody(),
        example: { sql: "plan IN ({{user_group.plans}}) [[AND tier = {{user_group.tier}}]]", placeholders: "?" },
      },
      answer: {
        status: 200,
        description: "The SQL, its parameters, and the missing variables.",
        content: { name: "Bound", schema: Bound },
        headers: ["X-Answered-By", "Age", "Access-Control-Allow-Origin"],
      },
      refusals: [...WITH_A_TOKEN, ...WITH_A_BODY, "unknown_variable", "unusable_variable", "invalid_template"],
    },
  },
  "/api/keys": {
    post: {
      id: "issueKey",
      tag: "API keys",
      summary: "Issue an API key",
      description: "Makes a key for one workspace and environment, and shows it this once.",
      credential: "operator_token",
      body: {
        name: "IssueKeyBody",
        schema: IssueKeyBody(),
        example: { ...AN_ENVIRONMENT, name: "backend", access: "write", expires_in_seconds: 7_776_000 },
      },
      answer: { status: 201, description: "The key.", content: { name: "IssuedKey", schema: IssuedKey } },
      refusals: [...WITH_A_DIRECTORY, ...WITH_A_BODY, "environment_full"],
    },
    get: {
      id: "listKeys",
      tag: "API keys",
      summary: "List API keys",
      description: "All keys of an environment, those that were revoked included, and never a key itself.",
      credential: "operator_token",
      query: { schema: EnvironmentQuery(), example: AN_ENVIRONMENT },
      answer: { status: 200, description: "The keys.", content: { name: "ListedKeys", schema: ListedKeys } },
      refusals: [...WITH_A_DIRECTORY, "invalid_body"],
    },
  },
  "/api/keys/{id}": {
    delete: {
      id: "revokeKey",
      tag: "API keys",
      summary: "Revoke an API key",
      description: "The key is refused from the answer on. A second time changes nothing.",
      credential: "operator_token",
      path: { schema: KeyId, example: { id: 1 } },
      query: { schema: EnvironmentQuery(), example: AN_ENVIRONMENT },
      answer: { status: 200, description: "The key is revoked.", content: { name: "Done", schema: Done } },
      refusals: [...WITH_A_DIRECTORY, "invalid_body", "api_key_not_found"],
    },
  },
  "/api/keys/{id}/roll": {
    post: {
      id: "rollKey",
      tag: "API keys",
      summary: "Roll an API key",
      description:
        "Makes a key with the same name, access and expiry, and ends the old one after the grace; at once where none is given.",
      credential: "operator_token",
      path: { schema: KeyId, example: { id: 1 } },
      query: { schema: EnvironmentQuery(), example: AN_ENVIRONMENT },
      body: { name: "RollKeyBody", schema: RollKeyBody(), isOptional: true, example: { grace_seconds: 3600 } },
      answer: { status: 201, description: "The new key.", content: { name: "IssuedKey", schema: IssuedKey } },
      refusals: [...WITH_A_DIRECTORY, ...WITH_OPTIONAL_BODY, "api_key_not_found", "environment_full"],
    },
  },
  "/health": {
    get: {
      id: "checkHealth",
      tag: "About",
      summary: "Check that the service is configured",
      description: "HEAD is answered as well.",
      answer: { status: 200, description: "It is.", content: { name: "Health", schema: Health } },
      refusals: EVERYWHERE,
    },
  },
  "/openapi.json": {
    get: {
      id: "describeApi",
      tag: "About",
      summary: "Get this document",
      description: "HEAD is answered as well.",
      answer: { status: 200, description: "An OpenAPI 3.1 document.", content: "application/json" },
      refusals: EVERYWHERE,
    },
  },
  "/docs": {
    get: {
      id: "showReference",
      tag: "About",
      summary: "Read this document",
      description: "A page that shows this document. HEAD is answered as well.",
      answer: { status: 200, description: "The page.", content: "text/html" },
      refusals: EVERYWHERE,
    },
  },
  "/demo": {
    get: {
      id: "showDemo",
      tag: "About",
      summary: "See what a viewer sees",
      description:
        "A page on which to paste a token. It is there only where the operator has turned it on. HEAD is answered as well.",
      answer: { status: 200, description: "The page.", content: "text/html" },
      refusals: [...EVERYWHERE, "route_not_found"],
    },
  },
};
