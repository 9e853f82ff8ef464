import * as z from "zod";
import { ISSUES_MAX } from "../../../common/limits.ts";
import { ROLES, SCOPES } from "../../domain/credentials/rights.ts";
import { type FailureOf, UNREADY } from "../../domain/failure.ts";
import { FAILURES } from "../response/failures.ts";
import { Audience, component, field } from "./fields.ts";
import { components, jsonSchema, schemaRef } from "./json-schema.ts";
import { type Code, headerRefs, RETRY_AFTER_IF_IT_HELPS } from "./operation.ts";

const Issue = component("Issue", "One fault of a request.", {
  path: field(z.array(z.union([z.string(), z.int()])), "Where: the keys from the top down.", ["user_group_id"]),
  message: field(z.string(), "How to fix it, for people.", "Give a string."),
});

/** A failure's fields besides its code. */
type FieldsOf<C extends Code> = Exclude<keyof FailureOf<C>, "code">;

/** The codes of the failures that have fields. */
type CodeWithFields = { [C in Code]: FieldsOf<C> extends never ? never : C }[Code];

/** The fields of the failures that have some, besides code and message. A new field without its schema does not compile. */
const FIELDS: { [C in CodeWithFields]: { [Field in FieldsOf<C>]: z.ZodType<FailureOf<C>[Field]> } } = {
  insufficient_access: {
    required_scope: field(z.enum(SCOPES).optional(), "The scope that the API key lacks.", "groups:write"),
    required_role: field(z.enum(ROLES).optional(), "The role that the operator lacks."),
  },
  audience_mismatch: {
    audience: field(Audience, "The environment of the credential.", "acme/Testing"),
    expected_audience: field(Audience, "The environment that the call expects."),
  },
  route_not_found: {
    available: field(z.array(z.string()).optional(), "Below /kit/: the files that are there.", [
      "user-group-service-1.2.0.tgz",
    ]),
  },
  method_not_allowed: {
    allow: field(z.array(z.string()), "The methods that this path takes.", ["GET", "PUT", "POST", "DELETE"]),
  },
  user_group_mismatch: {
    guard: field(
      z.enum(["user_group_id", "data_source_provided_id"]),
      "The field that does not match.",
      "user_group_id",
    ),
  },
  unexpected_page: { expected_page: field(z.int(), "The number of the page to send next.", 2) },
  invalid_backup: {
    line: field(z.int(), "The number of the line within the page, from 1.", 17),
    reason: field(z.string(), "What is wrong.", "The line is not a JSON object."),
  },
  invalid_body: {
    issues: field(z.array(Issue).min(1).max(ISSUES_MAX), "All that is wrong, at once.", [
      { path: ["propertes"], message: "This call takes no such field." },
    ]),
  },
  unknown_variable: { variable: field(z.string(), "The variable that is missing.", "user_group.plan") },
  unusable_variable: { variable: field(z.string(), "The variable with such a value.", "user_group.plans") },
  invalid_template: {
    position: field(z.int().min(0), "Where in the template, in UTF-16 code units.", 39),
    reason: field(
      z.string(),
      "What to fix, for people.",
      "A variable in a string cannot be a parameter. Move it outside.",
    ),
  },
  not_ready: { failed: field(z.array(z.enum(UNREADY)), "What was found to be wrong.", ["registry"]) },
};

const hasFields = (code: Code): code is CodeWithFields => Object.hasOwn(FIELDS, code);

const fieldsOf = (code: Code): Record<string, z.ZodType> => (hasFields(code) ? FIELDS[code] : {});

/** Every code, in the order of `FAILURES`. */
const CODES = Object.keys(FAILURES).filter((code): code is Code => Object.hasOwn(FAILURES, code));

/** The name of a code's schema, as generated clients like it: `RevisionMismatch`. */
const schemaName = (code: Code) => code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The schema of each code's `error`, and `Failure`: the fields that every refusal has. */
export const errorSchemas = () => ({
  ...Object.assign(
    {},
    ...CODES.map((code) => {
      const { status, message } = FAILURES[code];
      const error = field(
        z.strictObject({
          code: field(z.literal(code), "What went wrong, for programs."),
          message: field(z.string(), "How to fix it, for people; it may be reworded.", message),
          ...fieldsOf(code),
        }),
        `Status ${status}. ${message}`,
      );
      return components(schemaName(code), error, "output");
    }),
  ),
  Failure: {
    description: "The answer to a call that is refused, or that fails.",
    type: "object",
    properties: {
      success: { const: 0, description: "0 for a refusal; a success has 1." },
      error: {
        description: "What went wrong. Some codes have more fields.",
        type: "object",
        properties: {
          code: { enum: CODES, description: "What went wrong, for programs." },
          message: { type: "string", description: "How to fix it, for people; it may be reworded." },
        },
        required: ["code", "message"],
        additionalProperties: true,
      },
      request_id: {
        type: "string",
        format: "uuid",
        description: "The request's id, as in X-Request-Id, to look up in the log.",
      },
    },
    required: ["success", "error", "request_id"],
    additionalProperties: false,
  },
});

/** The schema of an `error` with one of these codes. Without a `discriminator`, which several generators read only beside an `enum`. */
function errorOf(codes: Code[]): object {
  const [first, ...others] = codes.map((code) => schemaRef(schemaName(code)));
  return first && others.length === 0 ? first : { oneOf: [first, ...others] };
}

/** The headers of a refusal of this status with one of these codes. */
function headersOf(status: number, codes: Code[]): Record<string, object> {
  if (status === 401) return headerRefs("WWW-Authenticate");
  if (status === 405) return headerRefs("Allow");
  if (codes.includes("environment_damaged")) return { ...headerRefs(), "Retry-After": RETRY_AFTER_IF_IT_HELPS };
  return status === 429 || status === 503 ? headerRefs("Retry-After") : headerRefs();
}

function exampleOf(code: Code) {
  const fields = Object.entries(fieldsOf(code)).map(([name, schema]) => [
    name,
    jsonSchema(schema, "output").examples?.[0],
  ]);
  return {
    success: 0,
    error: { code, message: FAILURES[code].message, ...Object.fromEntries(fields) },
    request_id: "306fb79b-9ed8-482d-a39e-014f5a254811",
  };
}

/** The response for one status, named for the codes that a call may answer with that status. */
type RefusalResponse = { status: number; name: string; headers: object; description: string; content: object };

/** The responses of an operation that can refuse with these codes: one for each status, in the order of the statuses. */
export function refusalResponses(codes: Code[]): RefusalResponse[] {
  const statuses = [...new Set(codes.map((code) => FAILURES[code].status))].toSorted();
  return statuses.map((status) => {
    const ofStatus = CODES.filter((code) => codes.includes(code) && FAILURES[code].status === status);
    return {
      status,
      name: ofStatus.join("-or-"),
      headers: headersOf(status, ofStatus),
      description: ofStatus.map((code) => `\`${code}\``).join(" or "),
      content: {
        "application/json": {
          schema: {
            allOf: [schemaRef("Failure"), { properties: { error: errorOf(ofStatus) }, required: ["error"] }],
          },
          examples: Object.fromEntries(ofStatus.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    };
  });
}
