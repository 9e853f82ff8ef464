import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import openapi from "../../../public/openapi.json";
import type { Failure } from "../../../src/domain/failure.ts";
import type { RequestEnv } from "../../../src/http/app-env.ts";
import { Hono } from "../../../src/http/hono.ts";
import { refuse } from "../../../src/http/response/failures.ts";
import { call } from "../../support/client.ts";
import { paths, resolve, undocumentedIn } from "../../support/documented.ts";
import { sessionOf } from "../../support/sessions.ts";
import { inEnvironment, issueOperator, newIntegrator } from "../../support/states.ts";

const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
);
type Operation = (typeof operations)[number];

/** The examples of an operation's parameters in the path, the query or the headers, by name. */
const examplesIn = ({ parameters }: Operation, place: string): [string, string][] =>
  parameters
    .map(resolve)
    .flatMap((parameter) =>
      "in" in parameter && parameter.in === place && parameter.example !== undefined
        ? [[parameter.name, String(parameter.example)]]
        : [],
    );

const exampleBody = (operation: Operation | undefined) => operation?.requestBody?.content["application/json"]?.example;

/** The parameters by which an operator names an environment, where an API key may make the call too. */
const namesEnvironment = ({ parameters }: Operation) =>
  parameters.some((parameter) => "name" in parameter && parameter.name === "workspace" && !parameter.example);

/** Sends an operation as its examples say, with a real credential, where the group and the operator of the examples are there. */
async function sendExample(operation: Operation, scheme: string) {
  const { key, get } = await newIntegrator();
  const group = exampleBody(operations.find(({ operationId }) => operationId === "ensureUserGroup")) ?? {};
  const { token } = (await get(group)).body.user_group;
  await issueOperator("viewer");
  const credentials: Record<string, string> = {
    api_key: key,
    user_group_token: token,
    viewer_session: await sessionOf(key, { user_group_id: group.user_group_id }),
    operator_key: await issueOperator("admin"),
  };

  if (operation.operationId === "purgeUserGroup") await call("DELETE", "/api/user_groups/1", { credential: key });
  const example = exampleBody(operation);
  const body = example && "current_token" in example ? { ...example, current_token: token } : example;
  const path = examplesIn(operation, "path").reduce(
    (template, [name, value]) => template.replace(`{${name}}`, value),
    operation.path,
  );
  const named =
    scheme === "operator_key" && namesEnvironment(operation) ? [...new URLSearchParams(inEnvironment())] : [];
  const query = new URLSearchParams([...examplesIn(operation, "query"), ...named]);
  return call(operation.method, query.size > 0 ? `${path}?${query}` : path, {
    credential: credentials[scheme],
    body,
    headers: Object.fromEntries(examplesIn(operation, "header")),
  });
}

/** The document has no page of a backup to send. */
const takesJson = ({ requestBody }: Operation) => !requestBody || "application/json" in requestBody.content;

const examples = operations
  .filter(takesJson)
  .flatMap((operation) =>
    (operation.security.length > 0 ? operation.security : [{ none: [] }]).map(
      (scheme) => [operation.operationId, Object.keys(scheme)[0] ?? "", operation] as const,
    ),
  );

describe("the examples of the document", () => {
  it.for(examples)("work when they are sent: %s with %s", async ([, scheme, operation]) => {
    const { status } = await sendExample(operation, scheme);
    expect(Object.keys(operation.responses)).toContain(String(status));
    expect(status).toBeLessThan(300);
  });
});

/** Every refusal in the document, and the headers that it requires there. */
const refusals = Object.values(openapi.components.responses).flatMap(({ headers, content }) => {
  const required = Object.entries<object>(headers).filter(
    ([, header]) => resolve<{ required?: boolean }>(header).required,
  );
  const names = required.map(([name]) => name);
  return Object.entries(content["application/json"].examples).map(
    ([code, { value }]) => [code, names, value.error] as const,
  );
});

describe("the headers that the document requires", () => {
  it.for(refusals)("are those that %s has: %s", async ([, names, failure]) => {
    const app = new Hono<RequestEnv>().get("/", (c) => {
      c.set("headers", { "X-Request-Id": crypto.randomUUID() });
      return refuse(c, failure as Failure);
    });
    const { headers } = await app.request("/");
    expect(names.filter((name) => !headers.has(name))).toEqual([]);
  });
});

describe("the check of every answer", () => {
  const DELETE = ["DELETE", "/api/user"] as const;
  const ID = "306fb79b-9ed8-482d-a39e-014f5a254811";
  const HEADERS = { "X-Request-Id": ID, "Content-Type": "application/json" };
  const refusal = (code: string, fields = {}) => ({
    success: 0,
    error: { code, message: "x", ...fields },
    request_id: ID,
  });
  const check = (method: string, path: string, status: number, body: unknown, headers: Record<string, string> = {}) =>
    undocumentedIn(
      new Request(`http://localhost${path}`, { method }),
      status,
      new Headers({ ...HEADERS, ...headers }),
      body,
    );

  it("accepts what the document describes", () => {
    expect(check(...DELETE, 200, { success: 1 })).toEqual([]);
    expect(check(...DELETE, 409, refusal("token_superseded"))).toEqual([]);
    expect(check(...DELETE, 429, refusal("rate_limited"), { "Retry-After": "60" })).toEqual([]);
    expect(check("GET", "/nothing", 404, refusal("route_not_found"))).toEqual([]);
    expect(check("PATCH", "/health", 405, refusal("method_not_allowed", { allow: ["GET"] }), { Allow: "GET" })).toEqual(
      [],
    );
  });

  it.for([
    ["a status", 201, { success: 1 }, {}],
    ["a field", 200, { success: 1, token: "x" }, {}],
    ["a value", 200, { success: 0 }, {}],
    ["a body of another kind", 200, "ok", {}],
    ["an empty body", 200, undefined, {}],
    ["a media type", 200, { success: 1 }, { "Content-Type": "text/plain" }],
    ["a request id", 200, { success: 1 }, { "X-Request-Id": "1" }],
    ["no Retry-After", 429, refusal("rate_limited"), {}],
    ["another call's code", 409, refusal("user_group_id_taken"), {}],
    ["a code of another status", 409, refusal("rate_limited"), {}],
    ["a field of another code", 409, refusal("token_superseded", { allow: [] }), {}],
    ["a code without its field", 422, refusal("invalid_body"), {}],
    ["no request id", 409, { success: 0, error: refusal("token_superseded").error }, {}],
  ] as const)("finds %s that is not in it", async ([, status, body, headers]) => {
    expect(check(...DELETE, status, body, headers)).not.toEqual([]);
  });

  it("makes the call fail", async () => {
    const broken = { ...env, ASSETS: { fetch: async () => new Response("x") } } as unknown as Env;
    await expect(call("GET", "/openapi.json", { env: broken })).rejects.toThrow(
      "does not match public/openapi.json: no media type text/plain",
    );
  });
});
