import { env } from "cloudflare:workers";

/** What a call cost outside of the Worker: the RPCs to a directory, by method, and the operations on KV. */
export type Costs = { rpcs: string[]; kv: string[] };

/** The environment with every RPC and KV operation noted on its way to the real ones. */
export function watchedEnv(): { watched: Env; costs: Costs } {
  const costs: Costs = { rpcs: [], kv: [] };
  const noting = <Target extends object>(target: Target, notes: string[]): Target =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          notes.push(String(name));
          return Reflect.apply(member, object, args);
        };
      },
    });
  const directories = new Proxy(env.GROUP_DIRECTORY, {
    get: (namespace, name) =>
      name === "getByName"
        ? (directory: string) => noting(namespace.getByName(directory), costs.rpcs)
        : Reflect.get(namespace, name).bind(namespace),
  });
  return { costs, watched: { ...env, GROUP_DIRECTORY: directories, TOKEN_INDEX: noting(env.TOKEN_INDEX, costs.kv) } };
}
