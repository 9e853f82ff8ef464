import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { directoryName } from "../../../common/environment.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import { howToSet, readSetting } from "../../../common/settings/settings.ts";
import type { VerifiedClaimOf } from "../../domain/credentials/credential.ts";
import type { VerifiedSession } from "../../domain/credentials/viewer-session.ts";
import type { Failure, FailureOf } from "../../domain/failure.ts";
import { accessOf } from "../access.ts";
import type {
  AdmittedOperator,
  CallContext,
  CallEnv,
  CallerEnv,
  DirectoryCaller,
  FeedEnv,
  FeedReader,
  Identity,
  IdentityEnv,
  KeyEnv,
  ManagerEnv,
  OperatorEnv,
  RequestContext,
  UncheckedOperator,
  Viewer,
  ViewerEnv,
} from "../app-env.ts";
import { failureAfterCheck, refuse } from "../response/failures.ts";
import { admitApiKey, admitOperator, directoryCaller, type OperatorKey, presentOperator } from "./admit-caller.ts";
import { admitSession, admitToken } from "./admit-viewer.ts";
import { usableOperatorToken } from "./authenticate.ts";
import { readBytes } from "./body/body-bytes.ts";
import { CALLERS, GROUPS, joined } from "./places.ts";
import { checkNoQuery, environmentFieldsOf } from "./query.ts";

/** Admits API keys. */
export const authorizeKeys = authorizing<KeyEnv, DirectoryCaller & { keyId: number }>(
  { apiKey: admitApiKey },
  (c, key) => {
    setCaller(c, key);
    c.set("keyId", key.keyId);
  },
);

/** Admits API keys, and operators who name an environment. */
export const authorizeCallers = authorizing<CallerEnv, DirectoryCaller>(
  { apiKey: admitApiKey, operator: admitToDirectory },
  setCaller,
);

/** Takes operators. The registry checks them within the call's own RPC. */
export const authorizeOperators = authorizing<OperatorEnv, UncheckedOperator>(
  { operator: async (c, key) => ok(presentOperator(c, key)) },
  (c, { presentedOperator }) => c.set("presentedOperator", presentedOperator),
);

/** Admits operators who name an environment. */
export const authorizeManagers = authorizing<ManagerEnv, AdmittedOperator>({ operator: admitOperator }, (c, admitted) =>
  setCaller(c, directoryCaller(c, admitted)),
);

/** Admits API keys and operators. An operator who names no environment reads the feed of the deployment. */
export const authorizeFeedReaders = authorizing<FeedEnv, FeedReader>(
  {
    apiKey: admitApiKey,
    operator: async (c, key) =>
      environmentFieldsOf(c).length === 0 ? ok(presentOperator(c, key)) : admitToDirectory(c, key),
  },
  (c, reader) => {
    c.set("feedReader", reader);
    if (reader.presentedOperator) c.set("presentedOperator", reader.presentedOperator);
  },
);

/** Admits viewers. */
export const authorizeViewers = authorizing<ViewerEnv, Viewer>(
  { token: withPlaceOfGroup(admitToken), session: withPlaceOfGroup((c, session) => admitSession(c, session, true)) },
  (c, viewer) => c.set("viewer", viewer),
);

/** Admits every kind of caller. */
export const authorizeAll = authorizing<IdentityEnv, Identity>(
  {
    apiKey: async (c, claim) => {
      const key = await admitApiKey(c, claim);
      return key.ok ? ok({ kind: "api_key", key: claim, ...key.value }) : key;
    },
    operator: async (c, key) => {
      const operator = await admitOperator(c, key);
      return operator.ok ? ok({ kind: "operator", ...operator.value }) : operator;
    },
    token: admitToken,
    session: (c, session) => admitSession(c, session, false),
  },
  (c, identity) => c.set("identity", identity),
);

/** A middleware that admits the kinds of callers in `admitters`, and has `set` set the variables of a call by one of them. */
function authorizing<E extends CallEnv, Admitted>(
  admitters: Admitters<Admitted>,
  set: (c: Context<E>, admitted: Admitted) => void,
) {
  return createMiddleware<E>(async (c, next) => {
    const admitted = await authorize(c, admitters);
    if (!admitted.ok) return refuse(c, admitted.failure);
    set(c, admitted.value);
    return next();
  });
}

/** A viewer takes one of its group's places, too, once it is admitted: expired sessions and rotated tokens can take none. */
function withPlaceOfGroup<Presented>(admit: Admit<Presented, Viewer>): Admit<Presented, Viewer> {
  return async (c, presented) => {
    const admitted = await admit(c, presented);
    if (!admitted.ok) return admitted;
    const branch = [directoryName(admitted.value.environment), String(admitted.value.group.teamId)];
    const name = branch.join(" ");
    const ofGroup = GROUPS.takeFree(name) ?? (await GROUPS.take(name));
    if (!ofGroup) return fail({ code: "overloaded" });
    c.set("branch", branch);
    c.set("place", joined(c.get("place"), ofGroup));
    return admitted;
  };
}

/** Admits an operator as the caller of the directory of the environment that the query names. */
async function admitToDirectory(c: CallContext, key: OperatorKey): Promise<Result<DirectoryCaller, Failure>> {
  const operator = await admitOperator(c, key);
  return operator.ok ? ok(directoryCaller(c, operator.value)) : operator;
}

/** Sets the variables of a call to a directory. */
function setCaller(
  c: RequestContext<CallerEnv>,
  { environment, directory, caller, presentedOperator }: DirectoryCaller,
): void {
  c.set("environment", environment);
  c.set("directory", directory);
  c.set("caller", caller);
  if (presentedOperator) c.set("presentedOperator", presentedOperator);
}

type Admit<Presented, Admitted> = (c: CallContext, presented: Presented) => Promise<Result<Admitted, Failure>>;

/** How a router admits each kind of caller that it takes. Others are refused, whatever the table of access says. */
type Admitters<Admitted> = {
  apiKey?: Admit<VerifiedClaimOf<"api_key">, Admitted>;
  operator?: Admit<OperatorKey, Admitted>;
  token?: Admit<VerifiedClaimOf<"token">, Admitted>;
  session?: Admit<VerifiedSession, Admitted>;
};

/**
 * Admits the callers that the table of `access.ts` names for this call, in one order for every route: what the credential
 * itself shows, its rate limits, the bytes of the body, and only then (for a page of a restore before them, too) the Durable Object that knows whether the credential is
 * still valid. So a body that arrives slowly cannot outlive a revocation. The directory checks an API key, and the registry an
 * operator's call of the deployment, within the call's own RPC.
 */
async function authorize<Admitted>(c: CallContext, admitters: Admitters<Admitted>): Promise<Result<Admitted, Failure>> {
  const access = accessOf(c.req.method, c.get("pattern"));
  if (!access) return fail({ code: "route_not_found" });
  c.set("access", access);
  c.set("body", NO_BYTES);
  c.set("checkCaller", async () => undefined);
  const candidate = candidateOf(c, admitters);
  if (!candidate.ok) return candidate;
  const failure =
    (await countCall(c, candidate.value.name, candidate.value.limit)) ??
    // Before the body is read, too: a request that is refused takes less memory then.
    (CALLERS.isFull(candidate.value.name) ? ({ code: "overloaded" } as const) : undefined) ??
    (await admitBeforeBody(c, candidate.value)) ??
    (await readBody(c, candidate.value));
  if (failure) return fail(failure);
  const { name } = candidate.value;
  const place = CALLERS.takeFree(name) ?? (await CALLERS.take(name));
  if (!place) return fail({ code: "overloaded" });
  c.set("place", place);
  const environment = c.get("environment");
  c.set("branch", [environment ? directoryName(environment) : "", candidate.value.name]);
  const admitted = await candidate.value.admit();
  if (!admitted.ok || access.hasQuery) return admitted;
  const query = checkNoQuery(c);
  return query.ok ? admitted : fail(await failureAfterCheck(c, query.failure));
}

const NO_BYTES = new Uint8Array();

/** A caller whose credential fits the call. It is counted under `name`, and `admit` asks its Durable Object. */
type Candidate<Admitted> = { name: string; limit: RateLimit; admit: () => Promise<Result<Admitted, Failure>> };

/** Counts a call of this caller, and one that reads or writes much at once as one of those, too. */
export async function countCall(
  c: RequestContext,
  key: string,
  limit: RateLimit,
): Promise<FailureOf<"rate_limited"> | undefined> {
  const isWithin =
    (await limit.limit({ key })).success &&
    (!c.get("access")?.isList || (await c.env.LIST_LIMIT.limit({ key })).success);
  return isWithin ? undefined : { code: "rate_limited" };
}

/** Admits the caller of a page of a restore, whose body is large, before it is read, too. The call's own RPC admits it again. */
async function admitBeforeBody(c: CallContext, { admit }: Candidate<unknown>): Promise<Failure | undefined> {
  if (c.get("access").bodyType !== "ndjson") return undefined;
  const admitted = await admit();
  return admitted.ok ? c.get("checkCaller")() : admitted.failure;
}

async function readBody(c: CallContext, { name }: Candidate<unknown>): Promise<Failure | undefined> {
  const access = c.get("access");
  if (!access.body) return undefined;
  const bytes = await readBytes(c.req.raw, name, access);
  if (!bytes.ok) return bytes.failure;
  c.set("body", bytes.value);
  return undefined;
}

function candidateOf<Admitted>(
  c: CallContext,
  { apiKey, operator, token, session }: Admitters<Admitted>,
): Result<Candidate<Admitted>, Failure> {
  const { API_KEY_LIMIT, TOKEN_LIMIT, SESSION_LIMIT, OPERATOR_LIMIT } = c.env;
  const { scope, role, isForViewers } = c.get("access");
  const credential = c.get("credential");
  // Counted by fingerprint and not by number: a key that is forged with a stolen signing key, or a superseded token, must not
  // use up the limit of the real one.
  if (credential.kind === "api_key" && scope && apiKey)
    return ok({ name: credential.fingerprint, limit: API_KEY_LIMIT, admit: () => apiKey(c, credential) });
  if (credential.kind === "token" && isForViewers && token)
    return ok({ name: credential.fingerprint, limit: TOKEN_LIMIT, admit: () => token(c, credential) });
  if (credential.kind === "viewer_session" && isForViewers && session)
    return ok({
      name: credential.session.claims.id,
      limit: SESSION_LIMIT,
      admit: () => session(c, credential.session),
    });
  if (credential.kind === "operator_key" && role && operator)
    return ok({ name: credential.fingerprint, limit: OPERATOR_LIMIT, admit: () => operator(c, credential) });
  if (role && !scope && usableOperatorToken(c.env) === undefined) {
    const setting = readSetting(c.env, "OPERATOR_TOKEN");
    const short = `OPERATOR_TOKEN is missing or shorter than ${OPERATOR_TOKEN_UNITS_MIN} characters, so it admits nobody.`;
    c.set("problem", setting.ok ? `${short} ${howToSet("OPERATOR_TOKEN")}` : setting.failure);
    return fail({ code: "service_not_configured" });
  }
  if (credential.kind === "bootstrap" && role && operator)
    return ok({ name: "bootstrap", limit: OPERATOR_LIMIT, admit: () => operator(c, "bootstrap") });
  return fail({ code: "unauthenticated" });
}
