import type { Env as HonoEnv, Schema } from "hono";
import { HonoBase, type HonoOptions } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { BlankSchema } from "hono/types";

/** An app of Hono with one router, as Hono's presets are: the usual one has two more, which would be a part of the bundle. */
export class Hono<E extends HonoEnv, S extends Schema = BlankSchema, Path extends string = "/"> extends HonoBase<
  E,
  S,
  Path
> {
  constructor(options?: HonoOptions<E>) {
    super(options);
    this.router = new TrieRouter();
  }
}
