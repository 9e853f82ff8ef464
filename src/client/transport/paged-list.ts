import type { CallOptions, ServiceResponse } from "./connection.ts";

/** Selects the pages of a list; all of them by default. */
export type PageInput = {
  /** Starts after the page that had this `nextCursor`. */
  cursor?: string | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

/** One page of a list; `nextCursor` is `null` on the last page. */
type Page<Item> = { items: Item[]; nextCursor: string | null };

/** Yields the items of all pages from `cursor` on, and requests the next page when the one before is used up. */
export async function* itemsOf<Item>(
  cursor: string | undefined,
  pageAfter: (cursor: string | undefined) => Promise<Page<Item>>,
  { signal }: CallOptions,
): AsyncGenerator<Item, void, undefined> {
  for (let next: string | null | undefined = cursor; next !== null; ) {
    const page: Page<Item> = await pageAfter(next);
    for (const item of page.items) {
      yield item;
      signal?.throwIfAborted();
    }
    next = page.nextCursor;
  }
}

/** The `next_cursor` of the page after `cursor`; `null` on the last page. */
export function nextCursorOf({ body, unexpected }: ServiceResponse, cursor: string | undefined): string | null {
  // A page without the field is not the last one.
  if (!body.has("next_cursor")) throw unexpected("has no next_cursor");
  const nextCursor = body.textOrNull("next_cursor");
  if (nextCursor !== null && nextCursor === cursor) throw unexpected("leads to the same page again");
  return nextCursor;
}
