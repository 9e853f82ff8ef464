import type { Child, FC } from "hono/jsx";

/** The result of the change that led to this page, by the query's field `done`. */
export const Done: FC<{ done: string | undefined; results: Record<string, Child> }> = ({ done = "", results }) =>
  Object.hasOwn(results, done) ? (
    <div class="notice ok" role="status">
      <p>{results[done]}</p>
    </div>
  ) : null;
