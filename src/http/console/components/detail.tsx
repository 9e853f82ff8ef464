import type { Child, FC } from "hono/jsx";
import { Text } from "./text.tsx";

/** Facts about a thing, each with its name. Those without a value are left out. */
export const Facts: FC<{ facts: [name: string, value: Child | undefined][] }> = ({ facts }) => (
  <dl>
    {facts
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

/** The rows of a table of JSON values by their names. */
export const ValueRows: FC<{ values: Record<string, unknown> }> = ({ values }) => (
  <tbody>
    {Object.entries(values).map(([name, value]) => (
      <tr>
        <th scope="row" class="key">
          <code>
            <Text value={name} />
          </code>
        </th>
        <td>
          <code>
            <Text value={JSON.stringify(value)} />
          </code>
        </td>
      </tr>
    ))}
  </tbody>
);

/** The template of details: events and content on the left, facts on the right. */
export const Split: FC<{ children: Child; facts: Child }> = ({ children, facts }) => (
  <div class="split">
    <div>{children}</div>
    <div>{facts}</div>
  </div>
);

/** The state of a thing: a word with a dot. `state` decides its colour. */
export const Badge: FC<{ state: string; text?: Child }> = ({ state, text = state }) => (
  <span data-state={state}>{text}</span>
);

type MenuProps = { text: Child; label: string; class?: string; children: Child };

/** A menu that opens without a script, and closes the other ones. `label` is its name for those who do not see it. */
export const Menu: FC<MenuProps> = ({ text, label, class: own = "", children }) => (
  <details class={`menu ${own}`.trim()} name="menu">
    <summary class="button" aria-label={label}>
      {text}
    </summary>
    <div>{children}</div>
  </details>
);

/** The result of the change that led to this page, by the query's field `done`. */
export const Done: FC<{ done: string | undefined; results: Record<string, Child> }> = ({ done = "", results }) =>
  Object.hasOwn(results, done) ? (
    <div class="notice ok" role="status">
      <p>{results[done]}</p>
    </div>
  ) : null;
