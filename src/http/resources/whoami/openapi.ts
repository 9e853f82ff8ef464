import * as z from "zod";
import { ROLES, SCOPES } from "../../../domain/credentials/rights.ts";
import { Audience, component, content, field, number, Tag, timeOrNull, Workspace } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import type { apiKeyCaller, operatorCaller, viewerCaller } from "./routes.ts";

const Named = { name: field(z.string(), "The name of the key, the operator or the group.", "backend") };

const InEnvironment = { workspace: Workspace, environment: field(Tag, "The environment's tag, or null.") };

const expires_at = timeOrNull("When the credential expires, or null.");

const ApiKeyCaller = component("ApiKeyCaller", "An API key.", {
  kind: field(z.literal("api_key"), "The kind of credential."),
  id: number("The key's number."),
  ...Named,
  ...InEnvironment,
  scopes: field(z.array(z.enum(SCOPES)).readonly(), "What the key may do.", [...SCOPES]),
  expires_at,
}) satisfies z.ZodType<Omit<ReturnType<typeof apiKeyCaller>, "kind">>;

const OperatorCaller = component("OperatorCaller", "An operator.", {
  kind: field(z.literal("operator"), "The kind of credential."),
  id: field(z.int().min(1).nullable(), "The operator's number, or null for OPERATOR_TOKEN.", 1),
  ...Named,
  workspace: field(z.null(), "An operator belongs to no workspace."),
  environment: field(z.null(), "An operator belongs to no environment."),
  role: field(z.enum(ROLES), "What the operator may do.", "admin"),
  expires_at,
}) satisfies z.ZodType<Omit<ReturnType<typeof operatorCaller>, "kind">>;

const viewer = (kind: "user_group_token" | "viewer_session", id: string, description: string) =>
  component(id, description, {
    kind: field(z.literal(kind), "The kind of credential."),
    id: number("The group's number."),
    ...Named,
    ...InEnvironment,
    audience: Audience,
    expires_at,
  }) satisfies z.ZodType<Omit<ReturnType<typeof viewerCaller>, "kind">>;

const Caller = z
  .union([
    ApiKeyCaller,
    OperatorCaller,
    viewer("user_group_token", "TokenCaller", "The token of a user group."),
    viewer("viewer_session", "SessionCaller", "A viewer session."),
  ])
  .meta({ id: "Caller", description: "Whose credential a request has." });

/** The call that any credential can make. */
export const whoamiOperations = {
  "GET /api/whoami": {
    id: "whoami",
    summary: "See whose credential it is",
    description:
      "Any valid credential may make this call. Browsers may make it with a session or the token of a group, from any origin.",
    answer: { description: "The caller.", content: content("Identified", { caller: field(Caller, "The caller.") }) },
  },
} satisfies Operations;
