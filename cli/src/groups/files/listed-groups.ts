/** The groups of an environment, page by page, as the service lists them. */
import { CommandError } from "../../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../../common/limits.ts";
import { refusalOf, type ServiceAccess } from "../../service-access.ts";
import { notTheService } from "../../support/service.ts";
import { RetryingCaller, sentenceOf } from "./retrying-caller.ts";

/** The service, and the credential to call it with. */
export type Service = Pick<ServiceAccess<unknown>, "url" | "credential">;

/** The pages of a list with these filters. */
export async function* listedGroups(
  { url, credential }: Service,
  filters: Record<string, string>,
): AsyncGenerator<Record<string, unknown>[], void, undefined> {
  const caller = new RetryingCaller(credential.text);
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = new URL("/api/user_groups", url);
    const query = { ...filters, limit: String(LIST_ITEMS_MAX), ...(cursor && { cursor }) };
    for (const [name, value] of Object.entries(query)) page.searchParams.set(name, value);
    const { status, body } = await caller.call(page, { method: "GET" });
    const { user_groups: groups, next_cursor: next, error } = body;
    const details = { code: error?.code ?? "", requestId: body.request_id };
    if (error)
      throw status === 401 ? refusalOf(url, credential, details) : new CommandError(sentenceOf(error), details);
    if (!areGroups(groups) || !isNextOf(cursor, next)) throw notTheService(url, status);
    yield groups;
    cursor = next;
  }
}

const areGroups = (groups: unknown): groups is Record<string, unknown>[] =>
  Array.isArray(groups) && groups.every((group) => typeof group === "object" && group !== null);

/** Whether `next` is a cursor after `cursor`: with the same one again the list would never end. */
const isNextOf = (cursor: string, next: unknown): next is string | null =>
  next === null || (typeof next === "string" && next !== cursor);
