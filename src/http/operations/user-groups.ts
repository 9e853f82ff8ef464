import { ok, type Result } from "../../../common/result.ts";
import type { Caller, Operator } from "../../domain/credentials/caller.ts";
import type { Failure } from "../../domain/failure.ts";
import { isSearch, type SearchQuery } from "../../domain/search/group-scans.ts";
import type { PageQuery, PageStart } from "../../domain/user-groups/group-page.ts";
import type { ListedGroup } from "../../records.ts";
import type { Directory } from "../durable-objects.ts";
import { pathNumber } from "../request/query.ts";

/** One page of the groups of an environment: of a list, or of a search if the query needs one. */
export const listGroups = (directory: Directory, caller: Caller, query: PageQuery & SearchQuery) =>
  isSearch(query) ? directory.search(caller, query) : directory.list(caller, query);

/** The first groups that a search of a person finds, those that exist and deleted ones, and whether there may be more. */
export type FoundGroups = { groups: ListedGroup[]; hasMore: boolean; hasWaited: boolean };

/** The groups with exactly this number or this id. */
export async function exactGroups(directory: Directory, operator: Operator, search: string): Promise<ListedGroup[]> {
  const number = pathNumber(search);
  const [numbered, named] = await Promise.all([
    number > 0 ? directory.inspect(operator, number) : undefined,
    directory.list(operator, { start: undefined, prefix: undefined, providedId: search, state: undefined, limit: 1 }),
  ]);
  return [...(numbered?.ok ? [numbered.value.group] : []), ...(named.ok ? named.value.groups : [])];
}

/** Each group once, where it is first. */
export const eachOnce = (groups: ListedGroup[]): ListedGroup[] =>
  [...new Map(groups.toReversed().map((group) => [group.teamId, group])).values()].toReversed();

/** Searches the groups of an environment for what a person has typed: that with exactly this number or id first. */
export async function searchGroups(
  directory: Directory,
  operator: Operator,
  query: { search: string; limit: number },
): Promise<Result<FoundGroups, Failure>> {
  const of = (state: "deleted" | undefined, start?: PageStart) =>
    directory.search(operator, { start, prefix: undefined, state, ...query });
  const [exact, existing, deleted] = await Promise.all([
    exactGroups(directory, operator, query.search),
    of(undefined),
    of("deleted"),
  ]);
  if (!existing.ok) return existing;
  if (!deleted.ok) return deleted;
  const pages = [existing.value, deleted.value];
  return ok({
    groups: eachOnce([...exact, ...pages.flatMap(({ groups }) => groups)]),
    hasMore: pages.some(({ next }) => next !== null),
    hasWaited: pages.some((page) => page.hasWaited),
  });
}
