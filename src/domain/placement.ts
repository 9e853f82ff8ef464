import type { GroupDirectory } from "./group-directory.ts";
import { fail, ok, type Result } from "./result.ts";

/** Where the platform keeps the Durable Objects of a deployment (Durable Objects, "Data location"). */
const JURISDICTIONS = ["eu", "us"] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** The name of the deployment's only registry. */
export const REGISTRY_NAME = "registry";

/** The jurisdiction that `JURISDICTION` names; `null` for none. A failure is a sentence for the operator. */
export function jurisdictionOf({ JURISDICTION = "" }: Env): Result<Jurisdiction | null, string> {
  if (JURISDICTION === "") return ok(null);
  const found = JURISDICTIONS.find((each) => each === JURISDICTION);
  return found ? ok(found) : fail(`JURISDICTION is unusable: give ${JURISDICTIONS.join(" or ")}, or leave it empty.`);
}

/**
 * The Durable Objects of the deployment within its jurisdiction. In another jurisdiction, the same names are other objects, so
 * every stub must come from here.
 */
function placed<Target extends Rpc.DurableObjectBranded>(
  env: Env,
  namespace: DurableObjectNamespace<Target>,
): DurableObjectNamespace<Target> {
  const jurisdiction = jurisdictionOf(env);
  if (!jurisdiction.ok) throw new Error(jurisdiction.failure);
  return jurisdiction.value === null ? namespace : namespace.jurisdiction(jurisdiction.value);
}

/** The directory with this name. The platform places it by the location hint of its first call. */
export const directoryStub = (
  env: Env,
  name: string,
  options?: DurableObjectNamespaceGetDurableObjectOptions,
): DurableObjectStub<GroupDirectory> => placed(env, env.GROUP_DIRECTORY).getByName(name, options);

/** The registry of the deployment. */
export const registryStub = (env: Env) => placed(env, env.REGISTRY).getByName(REGISTRY_NAME);
