import type { Env as HonoEnv, Schema } from "hono";
import { HonoBase, type HonoOptions } from "hono/hono-base";
import type { Result, Router } from "hono/router";
import { LinearRouter } from "hono/router/linear-router";
import type { BlankSchema } from "hono/types";

/**
 * Finds the handlers of a path without parameters once, by going through all routes, and keeps them: most calls have such a path, and a start
 * prepares nothing.
 */
class CachingRouter<Handler> implements Router<Handler> {
  readonly name = "CachingRouter";
  readonly #paths = new Set<string>();
  readonly #found = new Map<string, Result<Handler>>();
  readonly #all = new LinearRouter<Handler>();

  add(method: string, path: string, handler: Handler): void {
    this.#all.add(method, path, handler);
    if (!/[:*]/.test(path)) this.#paths.add(path);
  }

  match(method: string, path: string): Result<Handler> {
    if (!this.#paths.has(path)) return this.#all.match(method, path);
    const call = `${method} ${path}`;
    const found = this.#found.get(call) ?? this.#all.match(method, path);
    this.#found.set(call, found);
    return found;
  }
}

/** An app of Hono with this router, as Hono's presets are: the usual one has three others, which would be a part of the bundle. */
export class Hono<E extends HonoEnv, S extends Schema = BlankSchema, Path extends string = "/"> extends HonoBase<
  E,
  S,
  Path
> {
  constructor(options?: HonoOptions<E>) {
    super(options);
    this.router = new CachingRouter();
  }
}
