import { env } from "cloudflare:workers";

/** The operations of a Worker outside of itself, in order: RPCs to a directory by method, and operations on KV. */
export type Costs = { rpcs: string[]; kv: string[] };

/** The environment, with every RPC and KV operation recorded before it is made. */
export function watchedEnv(): { watched: Env; costs: Costs } {
  const costs: Costs = { rpcs: [], kv: [] };
  const recording = <Target extends object>(target: Target, record: string[]): Target =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          record.push(String(name));
          return Reflect.apply(member, object, args);
        };
      },
    });
  const directories = new Proxy(env.GROUP_DIRECTORY, {
    get: (namespace, name) =>
      name === "getByName"
        ? (directory: string) => recording(namespace.getByName(directory), costs.rpcs)
        : Reflect.get(namespace, name).bind(namespace),
  });
  return {
    costs,
    watched: { ...env, GROUP_DIRECTORY: directories, TOKEN_INDEX: recording(env.TOKEN_INDEX, costs.kv) },
  };
}
