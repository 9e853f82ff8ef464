import type { Child, FC } from "hono/jsx";
import { GROUPS_COUNTED_MAX } from "../../../../common/limits.ts";
import { withQuery } from "../paths.ts";
import { ButtonLink, Links } from "./detail.tsx";

/** A tab of a list: a part of it, and how many there are, if that is known. */
export type Tab = { path: string; text: string; count?: string | undefined; isCurrent: boolean };

type TabsProps = { label: string; tabs: Tab[] };

const Tabs: FC<TabsProps> = ({ label, tabs }) => (
  <nav class="tabs" aria-label={label}>
    <Links
      links={tabs.map(({ path, text, count, isCurrent }) => ({
        path,
        text: [text, count !== undefined && [" ", <small>{count}</small>]],
        current: isCurrent && "true",
      }))}
    />
  </nav>
);

/** How many rows a page of a list has. With long texts it stays below 60 KB. */
export const ROWS = 50;

/** Where a page of a list is, and the fields of its filter. */
export type Paging = {
  path: string;
  fields: Record<string, string | undefined>;
  cursor: string | undefined;
  nextCursor: string | null;
};

const Pages: FC<Paging> = ({ path, fields, cursor, nextCursor }) =>
  (cursor !== undefined || nextCursor !== null) && (
    <nav class="pages row" aria-label="Pages">
      {cursor !== undefined && <ButtonLink path={withQuery(path, fields)} text="First page" />}
      {nextCursor !== null && (
        <ButtonLink path={withQuery(path, { ...fields, cursor: nextCursor })} text="Next page" rel="next" />
      )}
    </nav>
  );

/** The template of lists: its tabs, its filter, the rows or what to do without any, and the links to other pages. */
export const List: FC<{
  tabs?: TabsProps;
  filter?: Child;
  children: Child;
  isEmpty: boolean;
  empty: Child;
  paging?: Paging;
}> = ({ tabs, filter, children, isEmpty, empty, paging }) => (
  <>
    {tabs && <Tabs {...tabs} />}
    {filter}
    {isEmpty ? <p class="empty">{empty}</p> : children}
    {paging && <Pages {...paging} />}
  </>
);

/** What somebody has to know before they read a list. */
export const NoticeList: FC<{ parts: Child[] }> = ({ parts }) => (
  <div class="notice warn">
    <ul>
      {parts.map((part) => (
        <li>{part}</li>
      ))}
    </ul>
  </div>
);

/** A column of a table: its heading, the class of its cells, and what the cell of a row shows. */
export type Column<Row> = [heading: string, cells: string, cellOf: (row: Row) => Child];

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

/** A count of groups; one that has ended at its bound has a plus sign. */
export function countText(count: number): string {
  const bound = GROUPS_COUNTED_MAX.toLocaleString("en");
  return count > GROUPS_COUNTED_MAX ? `${bound}+` : count.toLocaleString("en");
}
