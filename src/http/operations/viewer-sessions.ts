import type { Caller } from "../../domain/credentials/caller.ts";
import type { SigningRing } from "../../domain/credentials/credential.ts";
import { mintSession, variablesFit } from "../../domain/credentials/viewer-session.ts";
import type { Environment } from "../../domain/environment.ts";
import type { Failure } from "../../domain/failure.ts";
import type { NewSession } from "../../domain/group-directory.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import { variablesOf } from "../../domain/sql/variables.ts";
import type { Directory } from "../durable-objects.ts";

/** The API key that mints a session, and the issuer that the session names. */
export type Minter = {
  ring: SigningRing;
  issuer: string;
  environment: Environment;
  directory: Directory;
  caller: Caller;
  keyId: number;
};

export type SessionDraft = {
  providedId: string;
  expiresInSeconds: number;
  origins: string[] | undefined;
  viewerId: string | undefined;
  includeVariables: boolean;
};

/** A session: its text, its group, and when it starts and expires. */
export type MintedSession = Times & { token: string; teamId: number };

type Times = { issuedAtSeconds: number; expiresAtSeconds: number };

/** Mints a session for viewers of a group. */
export async function mintViewerSession(
  { ring, issuer, environment, directory, caller, keyId }: Minter,
  { providedId, expiresInSeconds, origins, viewerId, includeVariables }: SessionDraft,
): Promise<Result<MintedSession, Failure>> {
  const started = await directory.startSession(caller, providedId);
  if (!started.ok) return started;
  const { group, generation } = started.value;
  const variables = includeVariables ? variablesOf(group, viewerId) : undefined;
  if (variables && !variablesFit(variables)) return fail({ code: "variables_too_large" });
  const times = timesOf(started.value, expiresInSeconds);
  if (!times) return fail({ code: "credential_expired" });

  const token = await mintSession(ring, {
    ...times,
    issuer,
    environment,
    providedId: group.providedId,
    teamId: group.teamId,
    generation: new Uint8Array(generation),
    keyId,
    id: crypto.randomUUID(),
    ...(origins && { origins }),
    ...(viewerId !== undefined && { viewerId }),
    ...(variables && { variables }),
  });
  return ok({ ...times, token, teamId: group.teamId });
}

/** When a session starts and expires: not after the key that mints it. `undefined` if that ends within this second. */
function timesOf({ keyEndsAt }: NewSession, expiresInSeconds: number): Times | undefined {
  const issuedAtSeconds = Math.floor(Date.now() / 1000);
  const keyEndsAtSeconds = keyEndsAt === null ? Number.POSITIVE_INFINITY : Math.floor(keyEndsAt / 1000);
  const expiresAtSeconds = Math.min(issuedAtSeconds + expiresInSeconds, keyEndsAtSeconds);
  return expiresAtSeconds > issuedAtSeconds ? { issuedAtSeconds, expiresAtSeconds } : undefined;
}
