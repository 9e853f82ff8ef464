import { env } from "cloudflare:workers";

/**
 * The operations of a Worker outside of itself, in order: RPCs by method, those of the registry as `registry.<method>`, and
 * operations on KV.
 */
export type Costs = { rpcs: string[]; kv: string[] };

/** The environment, with every RPC and KV operation recorded before it is made. */
export function watchedEnv(): { watched: Env; costs: Costs } {
  const costs: Costs = { rpcs: [], kv: [] };
  const recording = <Target extends object>(target: Target, record: string[], prefix = ""): Target =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          record.push(prefix + String(name));
          return Reflect.apply(member, object, args);
        };
      },
    });
  const recordingObjects = <Namespace extends object>(objects: Namespace, prefix = ""): Namespace =>
    new Proxy(objects, {
      get: (namespace, name) => {
        const member = Reflect.get<object, PropertyKey>(namespace, name).bind(namespace);
        return name === "getByName" ? (...args: unknown[]) => recording(member(...args), costs.rpcs, prefix) : member;
      },
    });
  return {
    costs,
    watched: {
      ...env,
      GROUP_DIRECTORY: recordingObjects(env.GROUP_DIRECTORY),
      REGISTRY: recordingObjects(env.REGISTRY, "registry."),
      TOKEN_INDEX: recording(env.TOKEN_INDEX, costs.kv),
    },
  };
}
