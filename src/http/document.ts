import { BODY_BYTES_MAX } from "../../common/limits.ts";
import { type Access, accessOf } from "./access.ts";
import { errorSchemas, refusalResponses } from "./openapi/failures.ts";
import { components, jsonSchema, schemaRef } from "./openapi/json-schema.ts";
import {
  type CredentialName,
  curlOf,
  type DescribedCall,
  headerRefs,
  type Operation,
  REQUEST_HEADERS,
  RESPONSE_HEADERS,
  refusalsOf,
  type Tag,
} from "./openapi/operation.ts";
import { referenceOperations } from "./openapi/reference.ts";
import { describeFields } from "./openapi/request-fields.ts";
import { EnvironmentQuery } from "./request/query.ts";
import { apiKeyOperations } from "./resources/api-keys/openapi.ts";
import { backupOperations } from "./resources/backups/openapi.ts";
import { credentialOperations } from "./resources/credentials/openapi.ts";
import { environmentOperations } from "./resources/environments/openapi.ts";
import { eventOperations } from "./resources/events/openapi.ts";
import { operatorOperations } from "./resources/operators/openapi.ts";
import { userGroupOperations } from "./resources/user-groups/openapi.ts";
import { userGroupByNumberOperations } from "./resources/user-groups-by-number/openapi.ts";
import { publicKeyOperations, viewerSessionOperations } from "./resources/viewer-sessions/openapi.ts";
import { viewerOperations } from "./resources/viewers/openapi.ts";
import { whoamiOperations } from "./resources/whoami/openapi.ts";

const DESCRIPTION = `User groups, and the sessions that decide whose data a dashboard shows.

Send a credential as \`Authorization: Bearer <credential>\`, or with the scheme \`Token\`.

The answer to a failed call has an HTTP status of 400 or more, and says what to do:
\`{"success": 0, "error": {"code", "message", ...}, "request_id"}\`. Branch on \`error.code\`. In addition to the codes of an operation, any
path may answer \`method_not_allowed\` with the header Allow, and an unknown path \`route_not_found\`.

The service checks a call in this order: the signature of the credential; limits; time, size and media type of the body; whether the
credential is still valid; JSON; fields. It refuses unknown fields, and trims and converts nothing. Lengths of strings are counted in
UTF-16 code units. Ids and names have no control characters, such as line breaks and tabs.

The guides, with examples to paste, are at \`/docs\`, and as Markdown at \`/docs/<page>.md\`; \`/llms.txt\` lists them.

Calls that destroy data have the field \`x-destructive: true\`, so that a generated tool can leave them out.

The examples for curl read the credentials from the shell variables \`API_KEY\`, \`SESSION\` (of a viewer), \`TOKEN\` (of a user
group) and \`OPERATOR_KEY\`.`;

const TAGS: Record<Tag, string> = {
  "User groups": "What integrators do with their groups, from their servers.",
  Events: "The changes of an environment: who changed what, and when.",
  Dashboards:
    "What dashboards call with a viewer session or the token of a group, from browsers too, and how sessions are minted.",
  "API keys": "What operators do for integrators.",
  Operators: "Who runs the deployment, and which environments it has.",
  About: "The service itself. Only `whoami` takes a credential.",
};

const CREDENTIALS: Record<CredentialName, string> = {
  api_key:
    "An API key: `Authorization: Token ugk_…`. It is a secret of your servers, and is refused when a browser sends it.",
  viewer_session: "A viewer session: `Authorization: Bearer eyJ…`. Browsers may send it.",
  user_group_token:
    "The token of a user group: `Authorization: Token ugt_…`. Browsers may send it; a page should have a session instead.",
  operator_key:
    "The key of an operator, `Authorization: Token ugo_…`, or OPERATOR_TOKEN, the admin named bootstrap. It is refused when a " +
    "browser sends it. An operator names an environment in the query.",
};

const mapEntries = <In, Out>(object: Record<string, In>, map: (value: In, name: string) => [string, Out]) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => map(value, name)));

/** The operations of a resource, each with its tag: `tag`, unless it has another one. */
const tagged = <Call extends DescribedCall>(tag: Tag, operations: Record<Call, Operation>) =>
  mapEntries(operations, (operation: Operation, call) => [call, { tag, ...operation }]) as Record<
    Call,
    TaggedOperation
  >;

type TaggedOperation = Operation & { tag: Tag };

/** Every call of the service; without one of them this does not compile. Those of one tag are neighbours, because the page /docs/calls groups them by tag. */
const OPERATIONS: Record<DescribedCall, TaggedOperation> = {
  ...tagged("User groups", userGroupOperations),
  ...tagged("User groups", userGroupByNumberOperations),
  ...tagged("Events", eventOperations),
  ...tagged("Dashboards", viewerOperations),
  ...tagged("Dashboards", viewerSessionOperations),
  ...tagged("API keys", apiKeyOperations),
  ...tagged("Operators", operatorOperations),
  ...tagged("Operators", credentialOperations),
  ...tagged("Operators", environmentOperations),
  ...tagged("Operators", backupOperations),
  ...tagged("About", publicKeyOperations),
  ...tagged("About", whoamiOperations),
  ...tagged("About", referenceOperations),
};

const BODY = `At most ${BODY_BYTES_MAX} bytes of JSON in UTF-8. What cannot be kept exactly is refused.`;

/** The members of an object as parameters of a path or a query, each with its value in the example. */
function parameters(place: "path" | "query", object: Operation["path"] | Operation["query"]): object[] {
  if (!object) return [];
  const { properties = {}, required = [] } = jsonSchema(object.schema, "input");
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = typeof schema === "object" ? schema : {};
    return {
      name,
      in: place,
      required: required.includes(name),
      description,
      schema: rest,
      ...(name in object.example ? { example: object.example[name] } : {}),
    };
  });
}

/** A call as the document has it: its method, its path with parameters in braces, and its entry in the table of access. */
type Described = { method: string; path: string; access: Access | undefined; operation: TaggedOperation };

const DESCRIBED = Object.entries(OPERATIONS).map(([call, operation]): Described => {
  const [method = "", pattern = ""] = call.split(" ");
  const path = pattern.replaceAll(/:(\w+)/g, "{$1}");
  return { method: method.toLowerCase(), path, access: accessOf(method, pattern), operation };
});

/** The credentials that a call takes. */
const credentialsOf = ({ scope, role, isForViewers }: Access = {}): CredentialName[] => [
  ...(scope ? (["api_key"] as const) : []),
  ...(role ? (["operator_key"] as const) : []),
  ...(isForViewers ? (["viewer_session", "user_group_token"] as const) : []),
];

/** The query by which an operator names an environment. An API key must not send it. */
function environmentParameters({ environmentQuery, scope }: Access = {}): object[] {
  if (!environmentQuery) return [];
  const found = parameters("query", {
    schema: describeFields(EnvironmentQuery(), { environment: "The environment; untagged is the one without a tag." }),
    example: AN_ENVIRONMENT,
  });
  return found.map((parameter) => ({
    ...parameter,
    ...(scope && { required: false, example: undefined, "x-for": "operators" }),
  }));
}

const AN_ENVIRONMENT = { workspace: "acme", environment: "Testing" };

/** The response to a call that succeeds. */
const success = ({ content, headers = [] }: Operation["answer"], description: string) => ({
  description,
  headers: headerRefs(...headers),
  ...(typeof content === "string" && {
    content: { [content]: { schema: content === "application/json" ? ANY_OBJECT : { type: "string" } } },
  }),
  ...(typeof content === "object" && { content: { "application/json": { schema: schemaRef(content.name) } } }),
});

/** The schema of JSON that has none of its own. */
const ANY_OBJECT = { type: "object", additionalProperties: true };

/** The document's description of one operation. */
function described({ method, path, access, operation }: Described): object {
  const { body, patch, rawBody, answer } = operation;
  const credentials = credentialsOf(access);
  const curlQuery = { ...(access?.environmentQuery && !access.scope && AN_ENVIRONMENT), ...operation.query?.example };
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.destroys
      ? `${operation.description}\n\n**This call destroys.** ${operation.destroys}`
      : operation.description,
    ...(operation.destroys !== undefined && { "x-destructive": true }),
    security: credentials.map((name) => ({ [name]: [] })),
    ...(access?.scope && access.scope !== "any" && { "x-scope": access.scope }),
    ...(access?.role && { "x-role": access.role }),
    ...(access?.isForBackups && { "x-other-role": "backup" }),
    parameters: [
      ...parameters("path", operation.path),
      ...parameters("query", operation.query),
      ...environmentParameters(access),
      ...(operation.headers ?? []).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(body && {
      requestBody: {
        description: BODY,
        required: access?.body === "required",
        content: {
          "application/json": { schema: schemaRef(body.name), example: body.example },
          ...(patch && { "application/merge-patch+json": { schema: schemaRef(patch.name), example: patch.example } }),
        },
      },
    }),
    ...(rawBody && { requestBody: { required: true, content: { [rawBody]: { schema: { type: "string" } } } } }),
    "x-codeSamples": [
      {
        lang: "Shell",
        label: "curl",
        source: curlOf({ method, path, credential: credentials[0], query: curlQuery }, operation),
      },
    ],
    responses: {
      ...(answer.foundDescription && { 200: success(answer, answer.foundDescription) }),
      [answer.status ?? 200]: success(answer, answer.description),
      ...(operation.redirectDescription && {
        302: { description: operation.redirectDescription, headers: headerRefs("Location", "Vary") },
      }),
      ...Object.fromEntries(
        refusalResponses(refusalsOf(operation, access)).map(({ status, name }) => [
          status,
          { $ref: `#/components/responses/${name}` },
        ]),
      ),
    },
  };
}

/** Makes the OpenAPI document of the service in this version. `npm run openapi` writes it, and the Worker serves the file. */
export function documentOf(version: string): object {
  return {
    openapi: "3.1.0",
    info: { title: "User group service", version, description: DESCRIPTION },
    servers: [
      { url: "/", description: "The service that this document comes from; $SERVICE_URL in the examples for curl." },
    ],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      [...Map.groupBy(DESCRIBED, ({ path }) => path)].map(([path, calls]) => [
        path,
        Object.fromEntries(calls.map((call) => [call.method, described(call)])),
      ]),
    ),
    components: {
      securitySchemes: mapEntries(CREDENTIALS, (description, name) => [
        name,
        { type: "http", scheme: "bearer", description },
      ]),
      headers: mapEntries(RESPONSE_HEADERS, (header, name) => [name, { required: true, ...header }]),
      parameters: mapEntries(REQUEST_HEADERS, (header, name) => [name, { name, in: "header", ...header }]),
      responses: Object.fromEntries(
        DESCRIBED.flatMap(({ operation, access }) => refusalResponses(refusalsOf(operation, access))).map(
          ({ name, headers, description, content }) => [name, { description, headers, content }],
        ),
      ),
      schemas: {
        ...Object.assign(
          {},
          ...DESCRIBED.flatMap(({ operation: { body, patch, answer } }) => [
            body && components(body.name, body.schema, "input"),
            patch && components(patch.name, patch.schema, "input"),
            typeof answer.content === "object" && components(answer.content.name, answer.content.schema, "output"),
          ]),
        ),
        ...errorSchemas(),
      },
    },
  };
}
