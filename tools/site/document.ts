/** The parts of the OpenAPI document that the reference shows. */
export type Schema = {
  $ref?: string;
  type?: string;
  description?: string;
  format?: string;
  pattern?: string;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
};

export type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
  "x-for"?: string;
};

type Content = Record<string, { schema?: Schema; example?: unknown; examples?: Record<string, { value: Refusal }> }>;

/** The example of a refusal. */
type Refusal = { error: { code: string; message: string; [field: string]: unknown } };

export type Response = { description: string; headers?: Record<string, object>; content?: Content };

type Ref = { $ref: string };

type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: (Parameter | Ref)[];
  requestBody?: { description?: string; required?: boolean; content: Content };
  responses: Record<string, Response | Ref>;
  "x-scope"?: string;
  "x-role"?: string;
  "x-other-role"?: string;
  "x-destructive"?: boolean;
  "x-codeSamples": { source: string }[];
};

export type Document = {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, { description: string }>;
    schemas: Record<string, Schema>;
    [kind: string]: Record<string, unknown>;
  };
};

/** One call of the document. */
export type Call = { method: string; path: string; operation: Operation };

/** All calls, or those of one tag, in the order of the document. */
export const callsOf = ({ paths }: Document, tag?: string): Call[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tag === undefined || tags.includes(tag))
      .map(([method, operation]) => ({ method, path, operation })),
  );

/** The path of the page of a tag. */
export const subjectPath = (tag: string): string => `/docs/calls/${tag.toLowerCase().replaceAll(" ", "-")}`;

/** Where a call is described. */
export const pathOfCall = ({ operation: { tags, operationId } }: Call): string =>
  `${subjectPath(tags[0] ?? "")}#${operationId}`;

/** The object that a reference names, with the members beside the reference, or the object itself. */
export function resolve<Value extends object>(document: object, value: Value | Ref): Value {
  if (!("$ref" in value) || typeof value.$ref !== "string") return value as Value;
  const { $ref, ...own } = value;
  const found = $ref
    .split("/")
    .slice(1)
    .reduce<unknown>((at, name) => Reflect.get(Object(at), name), document);
  return resolve(document, { ...Object(found), ...own } as Value);
}

/** The refusals of a call by their codes: the status, and the message for people. */
export function refusalsOf(
  document: Document,
  { operation }: Call,
): { status: string; code: string; message: string }[] {
  return Object.entries(operation.responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, response]) =>
      Object.values(resolve<Response>(document, response).content ?? {}).flatMap(({ examples = {} }) =>
        Object.values(examples).map(({ value }) => ({ status, code: value.error.code, message: value.error.message })),
      ),
    );
}

/** The codes of all refusals with their statuses, sorted. */
export function codesOf(document: Document): Map<string, string> {
  const all = callsOf(document).flatMap((call) => refusalsOf(document, call));
  return new Map(all.map(({ code, status }) => [code, status] as const).toSorted());
}
