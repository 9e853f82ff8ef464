import type { Environment } from "../../../common/environment.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import { sha256 } from "../../domain/bytes.ts";
import type { By } from "../../domain/credentials/caller.ts";
import { mintCredential, newNonce } from "../../domain/credentials/credential.ts";
import type { KeyDraft } from "../../domain/credentials/keys.ts";
import { NO_KEY_HASH } from "../../domain/credentials/operators.ts";
import { type Grant, toRights } from "../../domain/credentials/rights.ts";
import type { Failure } from "../../domain/failure.ts";
import type { Location, StoredKey } from "../../records.ts";
import type { AppEnv, ManagerContext, OperatorContext, RequestContext } from "../app-env.ts";
import { type Directory, directoryOf } from "../durable-objects.ts";
import { registryFor } from "../request/admit-caller.ts";

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
  c: OperatorContext,
  { environment, location, name, grant, expiresInSeconds }: ApiKeyDraft,
): Promise<Result<IssuedKey, Failure>> {
  const opened = await openDirectory(c, environment, location);
  if (!opened.ok) return opened;
  const { directory, operator } = opened.value;
  const draft = { name, rights: toRights(grant), expiresInSeconds };
  const issued = await issueCredential(c, { kind: "api_key", environment }, (nonceHash) =>
    directory.issueKey(operator, { ...draft, nonceHash }),
  );
  if (!issued.ok) return issued;
  // If the environment was erased between the two calls, it exists again now.
  const recorded = await registryFor(c).recordEnvironment(c.get("presentedOperator"), environment, location);
  return recorded.ok ? issued : recorded;
}

/** Issues the successor of an API key. The old key ends after `graceSeconds`. Refuses a key that is not valid. */
export function rollApiKey(
  c: ManagerContext,
  { id, graceSeconds }: { id: number; graceSeconds: number },
): Promise<Result<IssuedKey, Failure>> {
  return issueCredential(c, { kind: "api_key", environment: c.get("environment") }, (nonceHash) =>
    c.get("directory").rollKey(c.get("operator"), id, { graceSeconds, nonceHash }),
  );
}

/**
 * Records the environment in the registry, and returns its directory. A `location` is taken only with the first key: the
 * platform places a directory once. An environment that was recorded by a call that then failed has no key yet.
 */
async function openDirectory(
  c: OperatorContext,
  environment: Environment,
  location: Location | undefined,
): Promise<Result<{ directory: Directory } & By, Failure>> {
  const recorded = await registryFor(c).recordEnvironment(c.get("presentedOperator"), environment, location);
  if (!recorded.ok) return recorded;
  const { isNew, location: recordedLocation, operator } = recorded.value;
  const directory = directoryOf(c.env, environment, recordedLocation);
  if (location === undefined || isNew || (location === recordedLocation && (await directory.hasNoKeys())))
    return ok({ directory, operator });
  const message = "This environment exists already, and stays where it is. Leave the location out.";
  return fail({ code: "invalid_body", issues: [{ path: ["location"], message }] });
}

/** A new operator, whose `rights` are the role. One without a key needs an `email`, by which it signs in with its company. */
export type OperatorDraft = Omit<KeyDraft, "nonceHash"> & { hasKey: boolean };

/** What is stored of a new operator, and the text of its key, which is shown once; `undefined` without a key. */
export type IssuedOperator = { stored: StoredKey; text: string | undefined };

/** Issues an operator. */
export async function issueOperator(
  c: OperatorContext,
  { hasKey, email, ...draft }: OperatorDraft,
): Promise<Result<IssuedOperator, Failure>> {
  const [registry, presentedOperator] = [registryFor(c), c.get("presentedOperator")];
  const store = (nonceHash: ArrayBuffer) =>
    email === undefined
      ? registry.issueOperator(presentedOperator, { ...draft, nonceHash })
      : registry.issueOperatorWithEmail(presentedOperator, { ...draft, email, nonceHash });
  if (hasKey) return issueCredential(c, { kind: "operator_key" }, store);
  const stored = await store(NO_KEY_HASH);
  return stored.ok ? ok({ stored: stored.value, text: undefined }) : stored;
}

/** Issues the successor of an operator's key. The old key ends after `graceSeconds`. Refuses a key that is not valid. */
export const rollOperator = (
  c: OperatorContext,
  { id, graceSeconds }: { id: number; graceSeconds: number },
): Promise<Result<IssuedKey, Failure>> =>
  issueCredential(c, { kind: "operator_key" }, (nonceHash) =>
    registryFor(c).rollOperator(c.get("presentedOperator"), id, { graceSeconds, nonceHash }),
  );

/** A new key: what is stored of it, and its text, which is shown once. */
export type IssuedKey = { stored: StoredKey; text: string };

/** Mints a key with a new nonce. `store` stores the hash of the nonce, or refuses. */
async function issueCredential<Refusal>(
  c: RequestContext<AppEnv>,
  claim: { kind: "api_key"; environment: Environment } | { kind: "operator_key" },
  store: (nonceHash: ArrayBuffer) => Promise<Result<StoredKey, Refusal>>,
): Promise<Result<IssuedKey, Refusal>> {
  const nonce = newNonce();
  const stored = await store(await sha256(nonce));
  if (!stored.ok) return stored;
  const text = await mintCredential(c.get("ring"), { ...claim, id: stored.value.id, nonce });
  return ok({ stored: stored.value, text });
}
