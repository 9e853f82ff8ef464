/** Options, or a function that returns them, which is called at the first request. */
export type Deferrable<Options> = Options | (() => Options);

/** Makes an endpoint at its first request: the build of a site loads modules without the settings of the server. */
export function deferred<Args extends unknown[], Result>(
  make: () => (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let endpoint: ((...args: Args) => Promise<Result>) | undefined;
  return async (...args) => {
    endpoint ??= make();
    return endpoint(...args);
  };
}

/** Throws a `TypeError` that names an option which is no function. */
export function refuseOtherThanFunctions<Name extends string>(
  options: Record<Name, unknown>,
  names: readonly Name[],
): void {
  for (const name of names) if (typeof options[name] !== "function") throw new TypeError(`Give ${name} as a function.`);
}

/** Throws a `TypeError` that names an option without a value. */
export function refuseEmpty(name: string, value: unknown): void {
  if (value === undefined || value === "")
    throw new TypeError(
      `${name} is ${value === "" ? "empty" : "undefined"}. Is its variable set? To build without it, give a function that returns the options.`,
    );
}
