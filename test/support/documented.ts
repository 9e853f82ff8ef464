import { dereference, type Schema, validate } from "@cfworker/json-schema";
import openapi from "../../public/openapi.json";
import { resolve as resolveIn } from "../../tools/site/document.ts";

type Reference = { $ref: string };
type Parameter = { name: string; in: "path" | "query" | "header"; example?: unknown };
type Response = { headers?: Record<string, Reference>; content?: Record<string, { schema: Schema }> };
type Operation = {
  operationId: string;
  security: Record<string, unknown>[];
  parameters: (Parameter | Reference)[];
  requestBody?: { content: Record<string, { example: Record<string, unknown> }> };
  responses: Record<string, Response | Reference>;
};

/** The OpenAPI document, with the types of the parts that tests read. */
const document = structuredClone(openapi) as unknown as Schema & {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response>; headers: Record<string, { schema: Schema }> };
};
const schemas = dereference(document);

/** The object that a reference names. */
export const resolve = <Value extends object>(value: Value | Reference): Value => resolveIn(document, value);

export const { paths } = document;

const routes = Object.entries(paths).map(([template, operations]) => ({
  pattern: new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
  operations,
}));

/** Refusals that are possible at any path and method, also at those that are not in the document. */
const ANYWHERE = {
  400: "malformed_request",
  403: "secret_key_in_browser",
  405: "method_not_allowed",
  429: "rate_limited",
  500: "internal_error",
  503: "service_not_configured",
};
/** Below a known path, the method and the credential are checked first. */
const NOWHERE = { ...ANYWHERE, 401: "unauthenticated", 404: "route_not_found" };

/** The responses in the document for a method and a path, by status. Where HEAD is allowed, it is answered as GET. */
function responsesTo(method: string, path: string): Record<string, Response | Reference> {
  const route = routes.find(({ pattern }) => pattern.test(path));
  const operation = route?.operations[method === "HEAD" ? "get" : method.toLowerCase()];
  if (!operation) return refusals(route ? ANYWHERE : NOWHERE);
  return method === "HEAD" ? { ...operation.responses, ...refusals(ANYWHERE) } : operation.responses;
}

const refusals = (names: Record<number, string>) =>
  Object.fromEntries(
    Object.entries(names).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  );

/** The method of a request after its override. */
function methodOf(request: Request, path: string): string {
  const override = request.headers.get("X-HTTP-Method-Override")?.toUpperCase();
  if (request.method !== "POST" || override === undefined || !/^\/api\/user\/?$/.test(path)) return request.method;
  return ["GET", "PUT", "POST", "DELETE"].includes(override) ? override : "of no name";
}

/** How an answer differs from the document: in its status, headers, media type or body. */
export function undocumentedIn(request: Request, status: number, headers: Headers, body: unknown): string[] {
  const path = decodeURIComponent(new URL(request.url).pathname);
  const method = methodOf(request, path);
  const documented = responsesTo(method, path)[status];
  if (!documented) return [`no status ${status}`];
  const response = resolve(documented);

  const wrongHeaders = Object.entries(response.headers ?? {}).flatMap(([name, reference]) => {
    const value = headers.get(name);
    const { schema, required } = resolve<{ schema: Schema; required: boolean }>(reference);
    if (value === null) return required ? [`the header ${name} is missing`] : [];
    const { valid } = validate(value, schema, "2020-12", schemas);
    return valid ? [] : [`the header ${name} is ${value}`];
  });

  if (!response.content) return body === undefined ? wrongHeaders : [...wrongHeaders, "a body"];
  const [mediaType = ""] = (headers.get("Content-Type") ?? "").split(";");
  const content = response.content[mediaType];
  if (!content) return [...wrongHeaders, `no media type ${mediaType}`];
  if (method === "HEAD") return wrongHeaders;
  if (body === undefined) return [...wrongHeaders, "no body"];
  const { errors } = validate(body, content.schema, "2020-12", schemas, false);
  return [...wrongHeaders, ...errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)];
}
