import type { Environment } from "../../../common/environment.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { By, Operator } from "../../domain/credentials/caller.ts";
import type { SigningRing } from "../../domain/credentials/credential.ts";
import { type Grant, toRights } from "../../domain/credentials/rights.ts";
import type { Failure } from "../../domain/failure.ts";

import type { Location } from "../../records.ts";
import { type Directory, directoryOf } from "../durable-objects.ts";
import { type IssuedKey, issueCredential, type OperatorCall } from "./issue-credential.ts";

/** A new API key. Only the first one of an environment may have a `location`. */
export type ApiKeyDraft = {
  environment: Environment;
  location?: Location | undefined;
  name: string;
  grant: Grant;
  expiresInSeconds: number | undefined;
};

/** Issues an API key. The first one creates its environment; a `location` with a later one is refused. */
export async function issueApiKey(
  call: OperatorCall,
  { environment, location, name, grant, expiresInSeconds }: ApiKeyDraft,
): Promise<Result<IssuedKey, Failure>> {
  const opened = await openDirectory(call, environment, location);
  if (!opened.ok) return opened;
  const { directory, operator } = opened.value;
  const draft = { name, rights: toRights(grant), expiresInSeconds };
  const issued = await issueCredential(call.ring, { kind: "api_key", environment }, (nonceHash) =>
    directory.issueKey(operator, { ...draft, nonceHash }),
  );
  if (!issued.ok) return issued;
  // If the environment was erased between the two calls, it exists again now.
  const recorded = await call.registry.recordEnvironment(call.presentedOperator, environment, location);
  return recorded.ok ? issued : recorded;
}

/** An operator who has named an environment, and the values of the request that an operation needs. */
export type Manager = { ring: SigningRing; directory: Directory; environment: Environment; operator: Operator };

/** Issues the successor of an API key. The old key ends after `graceSeconds`. Refuses a key that is not valid. */
export function rollApiKey(
  { ring, directory, environment, operator }: Manager,
  { id, graceSeconds }: { id: number; graceSeconds: number },
): Promise<Result<IssuedKey, Failure>> {
  return issueCredential(ring, { kind: "api_key", environment }, (nonceHash) =>
    directory.rollKey(operator, id, { graceSeconds, nonceHash }),
  );
}

/**
 * Records the environment in the registry, and returns its directory. A `location` is taken only with the first key: the
 * platform places a directory once. An environment that was recorded by a call that then failed has no key yet.
 */
async function openDirectory(
  { env, registry, presentedOperator }: OperatorCall,
  environment: Environment,
  location: Location | undefined,
): Promise<Result<{ directory: Directory } & By, Failure>> {
  const recorded = await registry.recordEnvironment(presentedOperator, environment, location);
  if (!recorded.ok) return recorded;
  const { isNew, location: recordedLocation, operator } = recorded.value;
  const directory = directoryOf(env, environment, recordedLocation);
  if (location === undefined || isNew || (location === recordedLocation && (await directory.hasNoKeys())))
    return ok({ directory, operator });
  const message = "This environment exists already, and stays where it is. Leave the location out.";
  return fail({ code: "invalid_body", issues: [{ path: ["location"], message }] });
}
