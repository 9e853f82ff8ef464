import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { VerifiedClaimOf } from "../../domain/credential.ts";
import type { Environment } from "../../domain/environment.ts";
import type { Failure, FailureOf } from "../../domain/failure.ts";
import { log } from "../../domain/log.ts";
import { ok, type Result } from "../../domain/result.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../limits.ts";
import { type Access, accessOf } from "../access.ts";
import type { AppEnv, Credential } from "../app-env.ts";
import { checkCaller } from "../check-caller.ts";
import { directoryOf, registryOf } from "../durable-objects.ts";
import { refuse } from "../failures.ts";
import { EnvironmentQuery } from "../schemas.ts";
import { admitSession, admitViewer } from "./admit-viewer.ts";
import { usableOperatorToken } from "./authenticate.ts";
import { readQuery, validate } from "./validate.ts";

/**
 * Admits the callers that the table of `access.ts` names for this call. An API key and a token are checked by their directory
 * within the call's own RPC; an operator is checked by the registry here.
 */
export const authorize = createMiddleware<AppEnv>(async (c, next) => {
  const access = accessOf(c.req.method, routePath(c, -1));
  if (!access) return refuse(c, { code: "route_not_found" });
  c.set("access", access);
  c.set("takes", takesOf(access));
  const failure = await admit(c, access, c.get("credential"));
  return failure ? refuse(c, failure) : next();
});

/** The credentials that a call takes, as the message to a caller without one names them. */
function takesOf({ scope, role, isForViewers }: Access): string {
  const kinds = [
    ...(scope ? ["an API key, ugk_…"] : []),
    ...(role ? ["the key of an operator, ugo_…"] : []),
    ...(isForViewers ? ["a viewer session", "the token of a user group, ugt_…"] : []),
  ];
  return kinds.join(", or ");
}

async function admit(c: Context<AppEnv>, access: Access, credential: Credential): Promise<Failure | undefined> {
  if (credential.kind === "api_key" && access.scope) return admitApiKey(c, access, credential);
  if (credential.kind === "token" && access.isForViewers) return admitViewer(c, credential);
  if (credential.kind === "viewer_session" && access.isForViewers) return admitSession(c, credential.session);
  if (credential.kind === "operator_key" && access.role)
    return admitOperator(c, access, { key: credential, limitKey: credential.fingerprint });
  if (access.role && !access.scope && usableOperatorToken(c.env) === undefined) {
    log.error({
      request_id: c.get("requestId"),
      message: `OPERATOR_TOKEN is shorter than ${OPERATOR_TOKEN_UNITS_MIN} characters, so it admits nobody. Set it with: npx wrangler secret put OPERATOR_TOKEN`,
    });
    return { code: "service_not_configured" };
  }
  if (credential.kind === "bootstrap" && access.role)
    return admitOperator(c, access, { key: "bootstrap", limitKey: "bootstrap" });
  return { code: "unauthenticated" };
}

/** Admits an API key that this service signed. The directory checks the rest within the call's own RPC. */
async function admitApiKey(
  c: Context<AppEnv>,
  access: Access,
  { id, nonceHash, fingerprint, environment }: VerifiedClaimOf<"api_key">,
): Promise<Failure | undefined> {
  // Counted by fingerprint and not by number: a key that is forged with a stolen signing key must not use up the limit of the real one.
  const { success } = await c.env.API_KEY_LIMIT.limit({ key: fingerprint });
  if (!success || !(await isWithinListLimit(c, access, fingerprint))) return { code: "rate_limited" };

  c.set("caller", { kind: "api_key", id, nonceHash, requestId: c.get("requestId") });
  c.set("directory", directoryOf(c.env, environment));
  const named = environmentNames(c);
  if (named.length === 0) return undefined;
  const message = "An API key acts in its own environment. Leave this field out; only operators name an environment.";
  return (await checkCaller(c)) ?? { code: "invalid_body", issues: named.map((name) => ({ path: [name], message })) };
}

/** Admits an operator with the role of this call, and to the environment that the query names. */
async function admitOperator(
  c: Context<AppEnv>,
  access: Access,
  { key, limitKey }: { key: VerifiedClaimOf<"operator_key"> | "bootstrap"; limitKey: string },
): Promise<Failure | undefined> {
  const { success } = await c.env.OPERATOR_LIMIT.limit({ key: limitKey });
  if (!success || !(await isWithinListLimit(c, access, limitKey))) return { code: "rate_limited" };

  const requestId = c.get("requestId");
  const presented = {
    requestId,
    key: key === "bootstrap" ? key : { id: key.id, nonceHash: key.nonceHash },
  };
  const named = namedEnvironment(c, access);
  const environment = named.ok ? named.value : undefined;
  const admitted = await registryOf(c.env).admit(presented, access.role ?? "admin", environment);
  if (!admitted.ok) return admitted.failure;
  c.set("presentedOperator", presented);
  c.set("operator", admitted.value);
  if (!named.ok) return named.failure;
  if (!environment) return undefined;
  const { id, name } = admitted.value;
  c.set("caller", { kind: "operator", id, name, requestId });
  c.set("environment", environment);
  c.set("directory", directoryOf(c.env, environment));
  return undefined;
}

/** The environment that the query names, if the call is about one. */
function namedEnvironment(
  c: Context<AppEnv>,
  { names }: Access,
): Result<Environment | undefined, FailureOf<"invalid_body">> {
  if (!names || (names === "environment or none" && environmentNames(c).length === 0)) return ok(undefined);
  const { fields, issues } = readQuery(c, (name) => ENVIRONMENT_FIELDS.includes(name));
  return validate(EnvironmentQuery(), fields, issues);
}

const ENVIRONMENT_FIELDS = ["workspace", "environment"];

/** The fields of the query that name an environment. */
const environmentNames = (c: Context<AppEnv>): string[] =>
  c.req.url.includes("?") ? Object.keys(readQuery(c, (name) => ENVIRONMENT_FIELDS.includes(name)).fields) : [];

/** Limits calls that read much at once. */
async function isWithinListLimit(c: Context<AppEnv>, { isList }: Access, key: string): Promise<boolean> {
  return !isList || (await c.env.LIST_LIMIT.limit({ key })).success;
}
