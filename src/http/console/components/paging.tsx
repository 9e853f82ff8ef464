import type { FC } from "hono/jsx";
import { withQuery } from "../paths.ts";

/** Links to the first and the next page of a list. `fields` are those of the filter. */
export const Paging: FC<{
  path: string;
  fields: Record<string, string | undefined>;
  cursor: string | undefined;
  nextCursor: string | null;
}> = ({ path, fields, cursor, nextCursor }) =>
  cursor === undefined && nextCursor === null ? null : (
    <nav aria-label="Pages">
      <ul>
        {cursor !== undefined && (
          <li>
            <a href={withQuery(path, fields)}>First page</a>
          </li>
        )}
        {nextCursor !== null && (
          <li>
            <a href={withQuery(path, { ...fields, cursor: nextCursor })} rel="next">
              Next page
            </a>
          </li>
        )}
      </ul>
    </nav>
  );
