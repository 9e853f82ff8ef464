import { type Grant, toRights } from "../../domain/credentials/rights.ts";
import type { Environment } from "../../domain/environment.ts";
import type { Failure } from "../../domain/failure.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import type { Location } from "../../records.ts";
import { type Directory, directoryOf, registryOf } from "../durable-objects.ts";
import { type IssuedKey, issueCredential, type OperatorCall } from "./issue-credential.ts";

/** A new API key. Only the first one of an environment may have a `location`. */
export type ApiKeyDraft = {
  environment: Environment;
  location?: Location | undefined;
  name: string;
  grant: Grant;
  expiresInSeconds: number | undefined;
};

/** Issues an API key. The first one creates its environment. */
export async function issueApiKey(
  call: OperatorCall,
  { environment, location, name, grant, expiresInSeconds }: ApiKeyDraft,
): Promise<Result<IssuedKey, Failure>> {
  const directory = await openDirectory(call, environment, location);
  if (!directory.ok) return directory;
  const draft = { name, rights: toRights(grant), expiresInSeconds };
  return issueCredential(call.ring, { kind: "api_key", environment }, (nonceHash) =>
    directory.value.issueKey(call.operator, { ...draft, nonceHash }),
  );
}

/** Issues the successor of an API key, which ends after `graceSeconds`. */
export function rollApiKey(
  call: OperatorCall,
  environment: Environment,
  { id, graceSeconds }: { id: number; graceSeconds: number },
): Promise<Result<IssuedKey, Failure>> {
  return issueCredential(call.ring, { kind: "api_key", environment }, (nonceHash) =>
    directoryOf(call.env, environment).rollKey(call.operator, id, { graceSeconds, nonceHash }),
  );
}

/**
 * Records the environment in the registry, and returns its directory. A `location` is taken only with the first key: the
 * platform places a directory once. An environment that was recorded by a call that then failed has no key yet.
 */
async function openDirectory(
  { env, presentedOperator }: OperatorCall,
  environment: Environment,
  location: Location | undefined,
): Promise<Result<Directory, Failure>> {
  const recorded = await registryOf(env).recordEnvironment(presentedOperator, environment, location);
  if (!recorded.ok) return recorded;
  const directory = directoryOf(env, environment, recorded.value.location);
  const isSettled = !recorded.value.isNew && location !== undefined;
  if (!isSettled || (location === recorded.value.location && (await directory.hasNoKeys()))) return ok(directory);
  const message = "This environment exists already, and stays where it is. Leave the location out.";
  return fail({ code: "invalid_body", issues: [{ path: ["location"], message }] });
}
