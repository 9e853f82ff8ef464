import type { Result, Router } from "hono/router";
import { LinearRouter } from "hono/router/linear-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { CONSOLE } from "./console/paths.ts";

/**
 * Finds the handlers of a path without parameters once, by going through all routes, and keeps them: most calls have such a path, and a start
 * prepares nothing. Other paths of calls are matched with one regular expression, and those of the console with a tree, which alone knows
 * patterns where one path has a name at the place of another one's parameter. Hono fills these two at their first match (SmartRouter).
 */
export class SplitRouter<Handler> implements Router<Handler> {
  readonly name = "SplitRouter";
  readonly #paths = new Set<string>();
  readonly #found = new Map<string, Result<Handler>>();
  readonly #all = new LinearRouter<Handler>();
  readonly #calls = new SmartRouter<Handler>({ routers: [new RegExpRouter()] });
  readonly #pages = new SmartRouter<Handler>({ routers: [new TrieRouter()] });

  add(method: string, path: string, handler: Handler): void {
    this.#all.add(method, path, handler);
    if (!/[:*]/.test(path)) {
      this.#paths.add(path);
      return;
    }
    if (!path.startsWith(CONSOLE)) this.#calls.add(method, path, handler);
    if (path.startsWith(CONSOLE) || path.startsWith("/*")) this.#pages.add(method, path, handler);
  }

  match(method: string, path: string): Result<Handler> {
    if (!this.#paths.has(path)) return (path.startsWith(CONSOLE) ? this.#pages : this.#calls).match(method, path);
    const call = `${method} ${path}`;
    const found = this.#found.get(call) ?? this.#all.match(method, path);
    this.#found.set(call, found);
    return found;
  }
}
