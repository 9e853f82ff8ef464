import * as z from "zod/mini";
import { SQL_TEMPLATE_BYTES_MAX } from "../../../../common/limits.ts";
import { PLACEHOLDER_STYLES } from "../../../domain/sql/tokens.ts";
import { Audience, lazy, withMeta } from "../fields.ts";
import { QueryValues } from "./query-values.ts";

const utf8 = new TextEncoder();

/** GET /api/viewer */
export const ViewerQuery = lazy(() => z.strictObject({ audience: z.optional(Audience()) }));

/** GET /api/viewer/check */
export const CheckQuery = lazy(() => z.strictObject({ audience: Audience() }));

/** POST /api/viewer/query */
export const QueryBody = lazy(() =>
  z.strictObject({
    sql: withMeta(
      z.string({ error: "Give the SQL template, a string." }).check(
        z.refine((sql) => utf8.encode(sql).length <= SQL_TEMPLATE_BYTES_MAX, {
          error: `Give at most ${SQL_TEMPLATE_BYTES_MAX} bytes. Shorten the template, for example with a view in the database.`,
        }),
      ),
      {
        maxLength: SQL_TEMPLATE_BYTES_MAX,
        description: `An SQL template with {{variables}} and optional clauses in [[ ]], of at most ${SQL_TEMPLATE_BYTES_MAX} bytes in UTF-8.`,
      },
    ),
    audience: z.optional(Audience()),
    values: z.optional(QueryValues()),
    placeholders: withMeta(
      z._default(z.enum(PLACEHOLDER_STYLES, { error: 'Give "?", "$1", "%s", "@p1" or "{p1:String}".' }), "?"),
      {
        description:
          "How placeholders are written, and by which database the template is read: ? each; $1, $2 and so on (PostgreSQL); %s each (psycopg, " +
          "PyMySQL; a % of the template becomes %%); @p1, @p2 and so on (SQL Server); {p1:String}, {p2:Int64} and so on (ClickHouse).",
      },
    ),
  }),
);
