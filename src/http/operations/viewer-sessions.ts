import { SESSION_UNITS_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import { mintSession, variablesFit } from "../../domain/credentials/viewer-session.ts";
import type { Failure } from "../../domain/failure.ts";
import { variablesOf } from "../../domain/sql/variables.ts";
import { publishedContent } from "../../domain/user-groups/published-content.ts";
import type { NewSession, SessionGroup } from "../../domain/user-groups/viewer-sessions.ts";
import type { KeyEnv, RequestContext } from "../app-env.ts";

export type SessionDraft = {
  /** The issuer that the session names. */
  issuer: string;
  of: SessionGroup;
  expiresInSeconds: number;
  origins: string[] | undefined;
  viewerId: string | undefined;
  /** An object as JSON text. */
  viewerProperties: string | undefined;
  includeVariables: boolean;
  maxStaleSeconds: number;
  /** What other verifiers read of it, an object as JSON text. */
  extraClaims: string | undefined;
};

/** A session: its text, its id, its group, and when it starts and expires. */
export type MintedSession = Times & {
  token: string;
  id: string;
  teamId: number;
  maxStaleSeconds: number;
  /** As in `NewSession`. The directory of 1.1 does not know it. */
  viewerEndedMsAgo: number | null | undefined;
};

type Times = { issuedAtSeconds: number; expiresAtSeconds: number };

/**
 * Mints a session for viewers of a group. A session that is too long with the group in it is minted without, so with 0 stale
 * seconds. Refuses a group that does not exist or is suspended, variables that do not fit, and a key that ends within this second.
 */
export async function mintViewerSession(
  c: RequestContext<KeyEnv>,
  { issuer, of, expiresInSeconds, origins, includeVariables, maxStaleSeconds, extraClaims, ...draft }: SessionDraft,
): Promise<Result<MintedSession, Failure>> {
  const [ring, directory, caller] = [c.get("ring"), c.get("directory"), c.get("caller")];
  const started =
    "teamId" in of
      ? await directory.startSessionByNumber(caller, of.teamId, draft.viewerId)
      : await directory.startSession(caller, of.providedId, draft.viewerId);
  if (!started.ok) return started;
  const { group, generation, seq, viewerEndedMsAgo } = started.value;
  const person = personOf(draft);
  const variables = includeVariables ? variablesOf(group, person) : undefined;
  if (variables && !variablesFit(variables)) return fail({ code: "variables_too_large" });
  const times = timesOf(started.value, expiresInSeconds);
  if (!times) return fail({ code: "credential_expired" });

  const claims = {
    ...times,
    issuer,
    environment: c.get("environment"),
    providedId: group.providedId,
    teamId: group.teamId,
    generation: new Uint8Array(generation),
    keyId: c.get("keyId"),
    id: crypto.randomUUID(),
    seq,
    ...(origins && { origins }),
    ...person,
    ...(variables && { variables }),
    ...(extraClaims !== undefined && { extraClaims: JSON.parse(extraClaims) as object }),
  };
  const minted = { ...times, id: claims.id, teamId: claims.teamId, viewerEndedMsAgo };
  if (maxStaleSeconds > 0) {
    const { provided_id: _, ...content } = publishedContent(group);
    const stale = { seconds: maxStaleSeconds, group: content };
    const token = await mintSession(ring, { ...claims, stale });
    if (token.length <= SESSION_UNITS_MAX) return ok({ ...minted, token, maxStaleSeconds });
  }
  const token = await mintSession(ring, claims);
  if (token.length > SESSION_UNITS_MAX) return fail({ code: "variables_too_large" });
  return ok({ ...minted, token, maxStaleSeconds: 0 });
}

/** The person of a session, as its claims have them. */
export function personOf({ viewerId, viewerProperties }: Pick<SessionDraft, "viewerId" | "viewerProperties">) {
  return {
    ...(viewerId !== undefined && { viewerId }),
    ...(viewerProperties !== undefined && { viewerProperties: JSON.parse(viewerProperties) as object }),
  };
}

/** When a session starts and expires: not after the key that mints it. `undefined` if the key ends within this second. */
function timesOf({ keyEndsAt, readAt }: NewSession, expiresInSeconds: number): Times | undefined {
  // The directory's time of reading: nothing in the session is older.
  const issuedAtSeconds = Math.floor(readAt / 1000);
  const keyEndsAtSeconds = keyEndsAt === null ? Number.POSITIVE_INFINITY : Math.floor(keyEndsAt / 1000);
  const expiresAtSeconds = Math.min(issuedAtSeconds + expiresInSeconds, keyEndsAtSeconds);
  return expiresAtSeconds > issuedAtSeconds ? { issuedAtSeconds, expiresAtSeconds } : undefined;
}
