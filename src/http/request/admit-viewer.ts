import {
  CACHE_CONTROL_UNITS_MAX,
  LEASE_CLOCK_SECONDS_MAX,
  LEASE_READ_SECONDS_MAX,
  LEASE_SECONDS_MAX,
  SESSION_STALE_CLOCK_SECONDS_MAX,
  STALE_SECONDS_MIN,
} from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { PresentedSession } from "../../domain/credentials/caller.ts";
import type { VerifiedClaimOf } from "../../domain/credentials/credential.ts";
import type { SessionClaims } from "../../domain/credentials/verified-sessions.ts";
import { allowsOrigin, type VerifiedSession } from "../../domain/credentials/viewer-session.ts";
import type { Failure, FailureOf } from "../../domain/failure.ts";
import { log } from "../../domain/log.ts";
import { storedContent } from "../../domain/user-groups/published-content.ts";
import { withTimeout } from "../../domain/with-timeout.ts";
import type { GroupSnapshot, Lease } from "../../records.ts";
import { type TokenIndex, tokenIndexOf } from "../../storage/token-index.ts";
import type { CallContext, RequestContext, Viewer } from "../app-env.ts";
import { directoryOf } from "../durable-objects.ts";
import { ADMISSIONS } from "./places.ts";

/**
 * Finds the group of the viewer's token. The directory answers, unless the caller accepts a stale answer and KV has a lease
 * that is young enough. If KV fails in any way, or there is none, the directory answers.
 */
export async function admitToken(c: CallContext, claim: VerifiedClaimOf<"token">): Promise<Result<Viewer, Failure>> {
  const index = tokenIndexOf(c.env);
  const maxAge = index && maxAgeOf(c.req.header("Cache-Control"));
  const headers = c.get("headers");
  const lease = index && maxAge !== undefined ? await findLease(index, claim, maxAge) : undefined;
  if (lease) {
    headers["X-Answered-By"] = "index";
    headers.Age = String(lease.ageSeconds);
    return ok(viewerOf(claim, lease.group));
  }

  headers["X-Answered-By"] = "directory";
  const directory = directoryOf(c.env, claim.environment);
  const viewed = await inAdmission(c, () => directory.view({ id: claim.id, nonce: claim.nonce }, maxAge !== undefined));
  if (!viewed.ok) return viewed;
  const { readAt, group, writeLease } = viewed.value;
  if (index && writeLease) c.executionCtx.waitUntil(putLease(c, index, claim, { readAt, group }));
  return ok(viewerOf(claim, group));
}

/**
 * Asks a directory about a viewer: so many of an environment at a time, of its groups in turn and of their credentials in turn. A viewer about
 * whom no directory is asked waits for none.
 */
async function inAdmission<Value, Refusal>(
  c: CallContext,
  ask: () => Promise<Result<Value, Refusal>>,
): Promise<Result<Value, Refusal | FailureOf<"overloaded">>> {
  const [environment = "", credential = ""] = c.get("branch");
  const admission =
    ADMISSIONS.takeFree(environment) ?? (await ADMISSIONS.take(environment, [String(c.get("teamId")), credential]));
  if (!admission) return fail({ code: "overloaded" });
  try {
    return await ask();
  } finally {
    admission.leave();
  }
}

const viewerOf = ({ environment }: VerifiedClaimOf<"token">, group: GroupSnapshot): Viewer => ({
  kind: "token",
  group,
  environment,
  expiresAt: group.validUntil,
});

/**
 * Finds the group of a viewer session. The directory answers, unless the session itself may: for as long as its backend has
 * allowed, and never for a caller that asks who it is.
 */
export async function admitSession(
  c: CallContext,
  session: VerifiedSession,
  mayBeStale: boolean,
): Promise<Result<Viewer, Failure>> {
  // The body may have arrived after the session had expired.
  const now = Date.now();
  if (session.state === "expired" || session.claims.expiresAtSeconds * 1000 <= now)
    return fail({ code: "credential_expired" });
  const { claims } = session;
  if (!allowsOrigin(claims.origins, c.req.header("Origin"))) return fail({ code: "origin_not_allowed" });
  const { environment, viewerId, viewerProperties } = claims;
  const expiresAt = claims.expiresAtSeconds * 1000;
  const viewer = { kind: "viewer_session", environment, expiresAt, viewerId, viewerProperties } as const;

  const headers = c.get("headers");
  const stale = mayBeStale ? staleAnswerOf(claims, c.req.header("Cache-Control"), now) : undefined;
  if (stale) {
    headers["X-Answered-By"] = "session";
    headers.Age = String(stale.ageSeconds);
    return ok({ ...viewer, group: stale.group });
  }
  headers["X-Answered-By"] = "directory";
  const viewed = await inAdmission(c, () => directoryOf(c.env, environment).viewSession(presentedSession(claims)));
  return viewed.ok ? ok({ ...viewer, group: viewed.value }) : viewed;
}

/** What the directory checks of a session. */
export function presentedSession(claims: SessionClaims): PresentedSession {
  const { id, teamId, generation, keyId, viewerId, seq } = claims;
  return { id, teamId, generation, keyId, viewerId, seq };
}

/**
 * The group as the session says it is, if that is young enough for the backend that minted the session and for this request.
 * Its age is the time since the directory read the group, in whole seconds before that.
 */
function staleAnswerOf(
  { stale, issuedAtSeconds, teamId, providedId }: SessionClaims,
  cacheControl: string | undefined,
  now: number,
): { group: GroupSnapshot; ageSeconds: number } | undefined {
  const oldest = stale && askedMaxAgeOf(cacheControl ?? "");
  if (!stale || oldest === undefined) return undefined;
  const age = now / 1000 - issuedAtSeconds;
  if (age < -SESSION_STALE_CLOCK_SECONDS_MAX || age > Math.min(stale.seconds, oldest)) return undefined;
  const group = { teamId, providedId, ...storedContent(stale.group), validUntil: null };
  return { group, ageSeconds: Math.max(0, Math.floor(age)) };
}

/**
 * The lease of a token, if KV answers in time and the lease is at most `maxAge` seconds old. Its age is the time since the
 * directory read the group, so a write that was late, lost or repeated can only make a lease older.
 */
async function findLease(index: TokenIndex, { id, nonce }: VerifiedClaimOf<"token">, maxAge: number) {
  const lease = await withTimeout(index.find(nonce), LEASE_READ_SECONDS_MAX).catch(() => undefined);
  if (lease?.group.teamId !== id) return undefined;
  const { readAt, group } = lease;
  // The clock is read after KV has answered: KV may take a while.
  const now = Date.now();
  const age = (now - readAt) / 1000;
  const isValid = group.validUntil === null || now < group.validUntil;
  return isValid && age >= -LEASE_CLOCK_SECONDS_MAX && age <= Math.min(maxAge, LEASE_SECONDS_MAX)
    ? { group, ageSeconds: Math.max(0, Math.floor(age)) }
    : undefined;
}

/** Writes a lease. If that fails, the directory keeps answering. */
async function putLease(
  c: RequestContext,
  index: TokenIndex,
  { nonce }: VerifiedClaimOf<"token">,
  lease: Lease,
): Promise<void> {
  try {
    await index.put(nonce, lease, LEASE_SECONDS_MAX);
  } catch (error) {
    log.warn({ request_id: c.get("requestId"), message: "A lease could not be written.", error: String(error) });
  }
}

/** A directive of Cache-Control (RFC 9111, section 5.2): a token, with or without a token or a quoted string as argument. */
const DIRECTIVE = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+\-.^_`|~\w]+)))?\s*$/;
/** Commas outside of quoted strings. */
const COMMAS = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/;

/**
 * How old an answer a request's Cache-Control accepts, in seconds: its `max-age`, if that is at least a minute and there is
 * neither `no-cache` nor `no-store`. `undefined` accepts no stale answer, and so does a header that is malformed or very
 * long. Of several `max-age` the smallest counts.
 */
function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const maxAge = cacheControl === undefined ? undefined : askedMaxAgeOf(cacheControl);
  return maxAge !== undefined && maxAge !== Number.POSITIVE_INFINITY && maxAge >= STALE_SECONDS_MIN
    ? maxAge
    : undefined;
}

/**
 * How old an answer may be that a session has allowed to be stale, in seconds: the request's `max-age`, or any age without
 * one. `undefined` asks for a fresh answer, as `no-cache`, `no-store` and a malformed header do.
 */
function askedMaxAgeOf(cacheControl: string): number | undefined {
  if (cacheControl.length > CACHE_CONTROL_UNITS_MAX) return undefined;
  const parts = cacheControl.split(COMMAS).filter((part) => part.trim() !== "");
  const directives = parts.map((part) => DIRECTIVE.exec(part)).filter((directive) => directive !== null);
  const named = (name: string) => directives.filter((directive) => directive[1]?.toLowerCase() === name);
  const ages = named("max-age").map((directive) => {
    const argument = directive[2] ?? directive[3] ?? "";
    return /^\d+$/.test(argument) ? Number(argument) : 0;
  });
  const isMalformed = directives.length !== parts.length;
  const isForbidden = named("no-cache").length + named("no-store").length > 0;
  return isMalformed || isForbidden ? undefined : Math.min(...ages);
}
