import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { VerifiedClaimOf } from "../../domain/credentials/credential.ts";
import type { Environment } from "../../domain/environment.ts";
import type { Failure, FailureOf } from "../../domain/failure.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../limits.ts";
import { type Access, accessOf } from "../access.ts";
import type { AppEnv, Credential } from "../app-env.ts";
import { directoryOf, registryOf } from "../durable-objects.ts";
import { refuse } from "../response/failures.ts";
import { EnvironmentQuery, NoQuery } from "../schemas.ts";
import { admitSession, admitViewer } from "./admit-viewer.ts";
import { usableOperatorToken } from "./authenticate.ts";
import { readBytes } from "./body-bytes.ts";
import { checkCaller } from "./check-caller.ts";
import { readQuery, validate, validQuery } from "./validate.ts";

/**
 * Admits the callers that the table of `access.ts` names for this call, in one order for every route: what the credential
 * itself shows, its rate limits, the bytes of the body, and only then the Durable Object that knows whether the credential is
 * still valid. So a body that arrives slowly cannot outlive a revocation. Of an API key the directory judges within the call's own
 * RPC.
 */
export const authorize = createMiddleware<AppEnv>(async (c, next) => {
  const access = accessOf(c.req.method, routePath(c, -1));
  if (!access) return refuse(c, { code: "route_not_found" });
  c.set("access", access);
  c.set("takes", takesOf(access));
  const candidate = candidateOf(c, access, c.get("credential"));
  if (!candidate.ok) return refuse(c, candidate.failure);
  const failure = await judge(c, access, candidate.value);
  if (failure) return refuse(c, failure);
  return access.hasQuery || !c.req.url.includes("?") ? next() : withoutQuery(c, next);
});

/** Refuses the fields of a query that a call does not take, so that a field in the wrong place is not ignored in silence. */
const withoutQuery = validQuery(NoQuery);

/** A caller whose credential fits the call. It is counted under `name`, and `admit` asks its Durable Object. */
type Candidate = { name: string; limit: RateLimit; admit: () => Promise<Failure | undefined> };

async function judge(
  c: Context<AppEnv>,
  access: Access,
  { name, limit, admit }: Candidate,
): Promise<Failure | undefined> {
  if (!(await limit.limit({ key: name })).success) return { code: "rate_limited" };
  if (access.isList && !(await c.env.LIST_LIMIT.limit({ key: name })).success) return { code: "rate_limited" };
  if (access.body) {
    const bytes = await readBytes(c.req.raw, name);
    if (!bytes.ok) return bytes.failure;
    c.set("body", bytes.value);
  }
  return admit();
}

/** The credentials that a call takes, as the message to a caller without one names them. */
function takesOf({ scope, role, isForViewers }: Access): string {
  const kinds = [
    ...(scope ? ["an API key, ugk_…"] : []),
    ...(role ? ["the key of an operator, ugo_…"] : []),
    ...(isForViewers ? ["a viewer session", "the token of a user group, ugt_…"] : []),
  ];
  return kinds.join(", or ");
}

function candidateOf(c: Context<AppEnv>, access: Access, credential: Credential): Result<Candidate, Failure> {
  const { API_KEY_LIMIT, TOKEN_LIMIT, SESSION_LIMIT, OPERATOR_LIMIT } = c.env;
  // Counted by fingerprint and not by number: a key that is forged with a stolen signing key, or a superseded token, must not
  // use up the limit of the real one.
  if (credential.kind === "api_key" && access.scope)
    return ok({ name: credential.fingerprint, limit: API_KEY_LIMIT, admit: () => admitApiKey(c, credential) });
  if (credential.kind === "token" && access.isForViewers) {
    c.set("environment", credential.environment);
    return ok({ name: credential.fingerprint, limit: TOKEN_LIMIT, admit: () => admitViewer(c, credential) });
  }
  if (credential.kind === "viewer_session" && access.isForViewers) {
    const { session } = credential;
    c.set("environment", session.claims.environment);
    return ok({ name: session.claims.id, limit: SESSION_LIMIT, admit: () => admitSession(c, session) });
  }
  if (credential.kind === "operator_key" && access.role)
    return ok({
      name: credential.fingerprint,
      limit: OPERATOR_LIMIT,
      admit: () => admitOperator(c, access, credential),
    });
  if (access.role && !access.scope && usableOperatorToken(c.env) === undefined) {
    c.set(
      "problem",
      `OPERATOR_TOKEN is shorter than ${OPERATOR_TOKEN_UNITS_MIN} characters, so it admits nobody. Set it with: npx wrangler secret put OPERATOR_TOKEN`,
    );
    return fail({ code: "service_not_configured" });
  }
  if (credential.kind === "bootstrap" && access.role)
    return ok({ name: "bootstrap", limit: OPERATOR_LIMIT, admit: () => admitOperator(c, access, "bootstrap") });
  return fail({ code: "unauthenticated" });
}

/** Admits an API key that this service signed. The directory checks the rest within the call's own RPC. */
async function admitApiKey(
  c: Context<AppEnv>,
  { id, nonceHash, environment }: VerifiedClaimOf<"api_key">,
): Promise<Failure | undefined> {
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
  key: VerifiedClaimOf<"operator_key"> | "bootstrap",
): Promise<Failure | undefined> {
  const requestId = c.get("requestId");
  const presented = {
    requestId,
    key: key === "bootstrap" ? key : { id: key.id, nonceHash: key.nonceHash },
  };
  const named = namedEnvironment(c, access);
  const environment = named.ok ? named.value : undefined;
  if (environment) c.set("environment", environment);
  const admitted = await registryOf(c.env).admit(presented, access.role ?? "admin", environment);
  if (!admitted.ok) return admitted.failure;
  c.set("presentedOperator", presented);
  c.set("operator", admitted.value);
  if (!named.ok) return named.failure;
  if (!environment) return undefined;
  c.set("caller", admitted.value);
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
