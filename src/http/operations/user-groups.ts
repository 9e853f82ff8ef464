import type { Caller } from "../../domain/credentials/caller.ts";
import { isSearch, type SearchQuery } from "../../domain/search/group-scans.ts";
import type { PageQuery } from "../../domain/user-groups/group-page.ts";
import type { Directory } from "../durable-objects.ts";

/** One page of the groups of an environment: of a list, or of a search if the query needs one. */
export const listGroups = (directory: Directory, caller: Caller, query: PageQuery & SearchQuery) =>
  isSearch(query) ? directory.search(caller, query) : directory.list(caller, query);
