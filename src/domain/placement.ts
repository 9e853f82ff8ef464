import { readSetting } from "../../common/settings/settings.ts";

/** The name of the deployment's only registry. */
export const REGISTRY_NAME = "registry";

/**
 * The Durable Objects of the deployment within its jurisdiction. In another jurisdiction, the same names are other objects, so
 * every stub must come from here.
 */
function placed<Target extends Rpc.DurableObjectBranded>(
  env: Env,
  namespace: DurableObjectNamespace<Target>,
): DurableObjectNamespace<Target> {
  const jurisdiction = readSetting(env, "JURISDICTION");
  if (!jurisdiction.ok) throw new Error(jurisdiction.failure);
  return jurisdiction.value === undefined ? namespace : namespace.jurisdiction(jurisdiction.value);
}

/** The directory with this name. The platform places it by the location hint of its first call. */
export const directoryStub = (env: Env, name: string, options?: DurableObjectNamespaceGetDurableObjectOptions) =>
  placed(env, env.GROUP_DIRECTORY).getByName(name, options);

/** The registry of the deployment. */
export const registryStub = (env: Env) => placed(env, env.REGISTRY).getByName(REGISTRY_NAME);
