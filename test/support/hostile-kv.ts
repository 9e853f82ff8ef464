import { env } from "cloudflare:workers";
import { vi } from "vitest";

type Operation = "get" | "put" | "delete";

/** The methods that all KV bindings of this runtime share, in the Worker and in the directories. */
const methods = Object.getPrototypeOf(env.TOKEN_INDEX) as Record<Operation, (...args: unknown[]) => Promise<unknown>>;

/** Replaces KV by `behaviour` for the rest of the test. It may call the real KV. */
export function replaceKv(
  behaviour: (operation: Operation, args: unknown[], real: () => Promise<unknown>) => Promise<unknown>,
): void {
  for (const operation of ["get", "put", "delete"] as const) {
    const real = methods[operation];
    vi.spyOn(methods, operation).mockImplementation(function (this: unknown, ...args) {
      return behaviour(operation, args, () => Reflect.apply(real, this, args));
    });
  }
}

export const failingKv = (): void => replaceKv(() => Promise.reject(new Error("KV is down.")));

/** A KV that responds to nothing until the function that this returns is called. */
export function hangingKv(): () => void {
  const { promise, resolve } = Promise.withResolvers<null>();
  replaceKv(() => promise);
  return () => resolve(null);
}
