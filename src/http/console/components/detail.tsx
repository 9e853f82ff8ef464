import type { Child, FC } from "hono/jsx";
import { type Environment, tagWord } from "../../../../common/environment.ts";
import { environmentPath } from "../paths.ts";
import { Text } from "./text.tsx";

/** The tag of an environment, which looks different for each one, and is never cut. */
export const Tag: FC<{ of: Environment }> = ({ of: { tag } }) => (
  <b class="tag" data-tag={tagWord(tag)}>
    {tagWord(tag)}
  </b>
);

/** The name of an environment. Where there is little room, the workspace is cut, and the tag is not. */
export const EnvironmentName: FC<{ of: Environment; isLink?: boolean }> = ({ of, isLink = false }) => {
  const name = [<span>{of.workspace}/</span>, <Tag of={of} />];
  return isLink ? (
    <a class="environment" href={environmentPath(of)}>
      {name}
    </a>
  ) : (
    <span class="environment">{name}</span>
  );
};

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

export const Dotted: FC<{ parts: Child[] }> = ({ parts }) => parts.map((part, index) => [index > 0 && " · ", part]);

export const ValueRows: FC<{ values: Record<string, unknown> }> = ({ values }) => (
  <tbody>
    {Object.entries(values).map(([name, value]) => (
      <tr>
        <th scope="row">
          <Text in="code" value={name} />
        </th>
        <td>
          <Text in="code" value={JSON.stringify(value)} />
        </td>
      </tr>
    ))}
  </tbody>
);

/** A link that looks like a button. */
export const ButtonLink: FC<{ path: string | undefined; text: string; tone?: "primary" | "danger"; rel?: "next" }> = (
  props,
) => (
  <a class={`button ${props.tone ?? ""}`.trim()} href={props.path} rel={props.rel}>
    {props.text}
  </a>
);

/** What somebody has to know before all else. */
export const Notice: FC<{ children: Child }> = ({ children }) => (
  <div class="notice warn">
    <p>{children}</p>
  </div>
);

/** A link in a list, and whether it leads to this page, or to the list of which this page shows one item. */
export type ListedLink = { path: string; text: Child; current?: "page" | "true" | false | undefined; class?: string };

export const Links: FC<{ links: ListedLink[] }> = ({ links }) => (
  <ul>
    {links.map(({ path, text, current, class: own }) => (
      <li>
        <a href={path} class={own} {...(current && { "aria-current": current })}>
          {text}
        </a>
      </li>
    ))}
  </ul>
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
