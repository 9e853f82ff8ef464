import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { CONSOLE } from "./console/paths.ts";

/**
 * Matches calls with one regular expression, and pages of the console with a tree. The tree takes longer, and only it knows patterns such as
 * those of the console, where one path has a name at the place of another one's parameter. Hono's own choice is one of the two for all.
 */
export class SplitRouter<Handler> implements Router<Handler> {
  readonly name = "SplitRouter";
  readonly #calls = new RegExpRouter<Handler>();
  readonly #all = new TrieRouter<Handler>();

  add(method: string, path: string, handler: Handler): void {
    if (!path.startsWith(CONSOLE)) this.#calls.add(method, path, handler);
    this.#all.add(method, path, handler);
  }

  match(method: string, path: string): Result<Handler> {
    const router = path.startsWith(CONSOLE) ? this.#all : this.#calls;
    return router.match(method, path);
  }
}
