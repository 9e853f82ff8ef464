import { directoryName, ENVIRONMENT_TAGS, type Environment } from "../../../common/environment.ts";
import { ENVIRONMENTS_EXAMINED_MAX, ENVIRONMENTS_NEAR_MAX, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import type { StoredEnvironment } from "../../records.ts";
import type { EnvironmentStore } from "../../storage/environment-store.ts";
import type { Read } from "../turns.ts";
import { wordsOf } from "./group-scans.ts";

/**
 * Asks for at most `limit` environments from the number `start` on, with the words of `search` in their names; with `after`, for those whose names
 * come after that one, in the order of names. A registry of 1.1 ignores `after`.
 */
export type EnvironmentQuery = {
  start: number;
  limit: number;
  search?: string | undefined;
  after?: string | undefined;
};

/** Some environments, and the number of the next; `null` after the last one. */
export type EnvironmentPage = { environments: StoredEnvironment[]; next: number | null };

/** Reads one page of the environments. A search examines a bounded number, so a page may be empty and have more after it. */
export function readEnvironments(
  store: EnvironmentStore,
  { start, limit, search, after }: EnvironmentQuery,
): Read<EnvironmentPage> {
  if (after !== undefined) {
    const named = store.pageByName(after, limit + 1);
    const page = { environments: named.slice(0, limit), next: named[limit]?.id ?? null };
    return { page, share: Math.min(1, named.length / LIST_ITEMS_MAX) };
  }
  const examined = ENVIRONMENTS_EXAMINED_MAX;
  const found =
    search === undefined
      ? store.page(start, limit + 1)
      : store.search(wordsOf(search.replaceAll("/", " ")), { start, count: limit + 1, examined });
  const next = found[limit]?.id ?? (search === undefined ? null : (store.idAfter(start, examined) ?? null));
  const share = search === undefined ? Math.min(1, found.length / LIST_ITEMS_MAX) : 1;
  return { page: { environments: found.slice(0, limit), next }, share };
}

/** The names of environments to switch to, and whether the one from which they were looked for exists. */
export type Neighbours = { names: string[]; exists: boolean };

/** The environments of the same workspace as `near`, then the oldest others. */
export function neighboursOf(store: EnvironmentStore, near: Environment | undefined): Neighbours {
  const own = near ? ENVIRONMENT_TAGS.map((tag) => directoryName({ ...near, tag })) : [];
  const siblings = own.filter((name) => store.findByName(name)?.erasedAt === null);
  const others = store.page(0, ENVIRONMENTS_NEAR_MAX).map(({ name }) => name);
  const names = [...new Set([...siblings, ...others])].slice(0, ENVIRONMENTS_NEAR_MAX);
  return { names, exists: near !== undefined && siblings.includes(directoryName(near)) };
}
