import type { Environment } from "../../../common/environment.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { PresentedOperator } from "../../domain/credentials/caller.ts";
import type { VerifiedClaimOf } from "../../domain/credentials/credential.ts";
import type { Failure } from "../../domain/failure.ts";
import type {
  AdmittedOperator,
  AppEnv,
  CallContext,
  DirectoryCaller,
  RequestContext,
  UncheckedOperator,
  With,
} from "../app-env.ts";
import { directoryOf, type RemoteRegistry, registryOf } from "../durable-objects.ts";
import { failureAfterCheck } from "../response/failures.ts";
import { environmentFieldsOf, namedEnvironment } from "./query.ts";

/** The key of an operator that this service signed, or OPERATOR_TOKEN. */
export type OperatorKey = VerifiedClaimOf<"operator_key"> | "bootstrap";

/** The registry, for the caller of this request: whom it admits is the operator of the request, in its log line too. */
export const registryFor = (c: RequestContext): RemoteRegistry =>
  registryOf(c.env, (operator) => c.set("operator", operator));

/** Admits an API key that this service signed. The directory checks the rest within the call's own RPC. */
export async function admitApiKey(
  c: CallContext,
  { id, nonceHash, environment }: VerifiedClaimOf<"api_key">,
): Promise<Result<DirectoryCaller & { keyId: number }, Failure>> {
  const caller = { kind: "api_key", id, nonceHash, requestId: c.get("requestId") } as const;
  const directory = directoryOf(c.env, environment);
  c.set("checkCaller", async () => {
    const { scope } = c.get("access");
    const checked = await directory.checkCaller(caller, scope === "any" ? undefined : scope);
    return checked.ok ? undefined : checked.failure;
  });
  const named = environmentFieldsOf(c);
  if (named.length === 0) return ok({ environment, directory, caller, keyId: id });
  const message = "An API key acts in its own environment. Leave this field out; only operators name an environment.";
  const issues = named.map((name) => ({ path: [name], message }));
  return fail(await failureAfterCheck(c, { code: "invalid_body", issues }));
}

/** An operator, whom the registry checks within the call's own RPC, and before it if the call is refused for its content. */
export function presentOperator(c: CallContext, key: OperatorKey): UncheckedOperator {
  const presentedOperator: PresentedOperator = {
    requestId: c.get("requestId"),
    key: key === "bootstrap" ? key : { id: key.id, nonceHash: key.nonceHash },
  };
  c.set("checkCaller", async () => {
    const admitted = await admitTo(c, presentedOperator, undefined);
    return admitted.ok ? undefined : admitted.failure;
  });
  return { presentedOperator };
}

/** Admits an operator with the role of this call, and to the environment that the query names. */
export async function admitOperator(c: CallContext, key: OperatorKey): Promise<Result<AdmittedOperator, Failure>> {
  const { presentedOperator } = presentOperator(c, key);
  const environment = namedEnvironment(c);
  if (environment.ok && environment.value) c.set("environment", environment.value);
  const admitted = await admitTo(c, presentedOperator, c.get("environment"));
  if (!admitted.ok) return admitted;
  c.set("checkCaller", async () => undefined);
  return environment.ok ? ok({ presentedOperator, operator: admitted.value }) : environment;
}

/**
 * What a list of an environment has answered, unless it has waited for its turn: then its operator is admitted again, whose key or session
 * may have ended meanwhile. The directory admits API keys again itself.
 */
export async function admitAgain<Page extends { hasWaited: boolean }>(
  c: RequestContext<With<AppEnv, Partial<UncheckedOperator>>>,
  listed: Result<Page, Failure>,
): Promise<Result<Page, Failure>> {
  const presentedOperator = c.get("presentedOperator");
  if (!listed.ok || !listed.value.hasWaited || !presentedOperator) return listed;
  const admitted = await admitTo(c, presentedOperator, c.get("environment"));
  return admitted.ok ? listed : admitted;
}

/** Has the registry admit an operator who has a role that the table of access names for this call. */
function admitTo(c: RequestContext, presented: PresentedOperator, environment: Environment | undefined) {
  const { role = "admin", isForBackups = false } = c.get("access") ?? {};
  return registryFor(c).admit(presented, role, environment, isForBackups);
}

/** An admitted operator as the caller of the directory of the environment that the query names. */
export function directoryCaller(c: CallContext, { operator, presentedOperator }: AdmittedOperator): DirectoryCaller {
  const environment = c.get("environment");
  if (!environment) throw new Error("The table of access has no environmentQuery for this call.");
  return { environment, directory: directoryOf(c.env, environment), caller: operator, presentedOperator };
}
