import { env } from "cloudflare:workers";
import { vi } from "vitest";

type Operation = "get" | "put" | "delete";

/** The methods that every KV binding of this runtime shares, the Worker's as well as the directories'. */
const methods = Object.getPrototypeOf(env.TOKEN_INDEX) as Record<Operation, (...args: unknown[]) => Promise<unknown>>;

/** Puts `behaviour` in the place of KV for the rest of the test; it may call the real one. */
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
