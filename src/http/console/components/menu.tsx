import type { Child, FC } from "hono/jsx";

/** A menu that opens without a script, and closes the other ones. `label` is its name for those who do not see it. */
export const Menu: FC<{ text: Child; label: string; class?: string; children: Child }> = ({
  text,
  label,
  class: own = "",
  children,
}) => (
  <details class={`menu ${own}`.trim()} name="menu">
    <summary class="button" aria-label={label}>
      {text}
    </summary>
    <div>{children}</div>
  </details>
);
