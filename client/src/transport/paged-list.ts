import type { CallOptions, Connection, Query } from "./connection.ts";
import type { ResponseBody } from "./response-body.ts";

/** Selects the pages of a list; all of them by default. */
export type PageInput = {
  /** Starts after the page that had this `nextCursor`. */
  cursor?: string | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

/** One page of a list, and the body that has it; `nextCursor` is `null` on the last page. */
type Page<Item> = { items: Item[]; nextCursor: string | null; body: ResponseBody };

/** A list of the service: its path, the field of its items in a page, and how to read one of them. */
type Description<Item> = { path: string; field: string; toItem: (item: ResponseBody) => Item };

/** The calls that read a list page by page. */
export const pagedList = <Item>(connection: Connection, { path, field, toItem }: Description<Item>) => ({
  /** Gets the page after `cursor`. */
  async page({ cursor, pageSize }: PageInput, options?: CallOptions, filters?: Query): Promise<Page<Item>> {
    const query = { ...filters, cursor, limit: pageSize?.toString() };
    const { body, unexpected } = await connection.send({ method: "GET", path, query }, options);
    const items = body.objects(field).map(toItem);
    // A page without the field is not the last one.
    if (!body.has("next_cursor")) throw unexpected("has no next_cursor");
    const nextCursor = body.textOrNull("next_cursor");
    if (nextCursor !== null && nextCursor === cursor) throw unexpected("leads to the same page again");
    return { items, nextCursor, body };
  },

  /** Yields the items of all pages after `cursor`, and requests the next page when the one before is used up. */
  async *items(input: PageInput, options?: CallOptions, filters?: Query): AsyncGenerator<Item, void, undefined> {
    for (let cursor: string | null | undefined = input.cursor; cursor !== null; ) {
      const { items, nextCursor }: Page<Item> = await this.page({ ...input, cursor }, options, filters);
      for (const item of items) {
        yield item;
        options?.signal?.throwIfAborted();
      }
      cursor = nextCursor;
    }
  },
});
