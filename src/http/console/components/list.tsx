import type { Child, FC } from "hono/jsx";
import { GROUPS_COUNTED_MAX } from "../../../../common/limits.ts";
import { withQuery } from "../paths.ts";

/** A tab of a list: a part of it, and how many there are, if that is known. */
export type Tab = { path: string; text: string; count?: string | undefined; isCurrent: boolean };

const Tabs: FC<{ label: string; tabs: Tab[] }> = ({ label, tabs }) => (
  <nav class="tabs" aria-label={label}>
    <ul>
      {tabs.map(({ path, text, count, isCurrent }) => (
        <li>
          <a href={path} {...(isCurrent && { "aria-current": "true" })}>
            {text} {count !== undefined && <small>{count}</small>}
          </a>
        </li>
      ))}
    </ul>
  </nav>
);

/** Where a page of a list is. `from` is how many rows are before it, and `total` how many there are in all, as far as that is known. */
export type Paging = {
  path: string;
  /** The fields of the filter. */
  fields: Record<string, string | undefined>;
  cursor: string | undefined;
  nextCursor: string | null;
  rows: number;
  from?: number | undefined;
  total?: string | undefined;
};

/** How the rows of a page are counted: "51–100 of 292". */
function rangeOf({ rows, from, total, nextCursor }: Paging): string {
  const first = (from ?? 0) + 1;
  const last = (first + rows - 1).toLocaleString("en");
  const range = `${first.toLocaleString("en")}–${last}`;
  const all = total ?? (nextCursor === null ? last : undefined);
  return all === undefined ? range : `${range} of ${all}`;
}

const Pages: FC<Paging> = (paging) => {
  const { path, fields, cursor, nextCursor, rows, from } = paging;
  const isCounted = rows > 0 && (cursor === undefined || from !== undefined);
  const next = {
    ...fields,
    cursor: nextCursor ?? undefined,
    from: isCounted ? String((from ?? 0) + rows) : undefined,
  };
  const isAlone = cursor === undefined && nextCursor === null;
  return isAlone && rows === 0 ? null : (
    <nav class="pages" aria-label="Pages">
      <span>{isCounted && rangeOf(paging)}</span>
      {!isAlone && (
        <span class="row">
          {cursor !== undefined && (
            <a class="button" href={withQuery(path, fields)}>
              First page
            </a>
          )}
          {nextCursor !== null && (
            <a class="button" href={withQuery(path, next)} rel="next">
              Next page
            </a>
          )}
        </span>
      )}
    </nav>
  );
};

/** The template of lists: its tabs, its filter, the rows or what to do without any, and the links to other pages. */
export const List: FC<{
  label: string;
  tabs?: Tab[];
  filter?: Child;
  /** The rows, a table or a feed. */
  children: Child;
  isEmpty: boolean;
  /** What stands in place of the rows if there are none. */
  empty: Child;
  paging?: Paging;
}> = ({ label, tabs = [], filter, children, isEmpty, empty, paging }) => (
  <>
    {tabs.length > 0 && <Tabs label={label} tabs={tabs} />}
    {filter}
    {isEmpty ? <p class="empty">{empty}</p> : children}
    {paging && <Pages {...paging} />}
  </>
);

/** A column of a table: its heading, the class of its cells, and what the cell of a row shows. */
export type Column<Row> = [heading: string, cells: string, cellOf: (row: Row) => Child];

/** A table with one line for each of `rows`. */
export function Table<Row>({ columns, rows }: { columns: Column<Row>[]; rows: Row[] }): Child {
  return (
    <table>
      <thead>
        <tr>
          {columns.map(([heading, cells]) => (
            <th class={cells || undefined}>{heading}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {columns.map(([, cells, cellOf]) => (
              <td class={cells || undefined}>{cellOf(row)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How many rows are before a page of a list, by the field `from` of its query. */
export const rowsBefore = (from: string | undefined): number | undefined =>
  from !== undefined && /^\d{1,9}$/.test(from) ? Number(from) : undefined;

/** A count of groups; one that has ended at its bound has a plus sign. */
export function countText(count: number): string {
  const bound = GROUPS_COUNTED_MAX.toLocaleString("en");
  return count > GROUPS_COUNTED_MAX ? `${bound}+` : count.toLocaleString("en");
}
