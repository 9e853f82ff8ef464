import type { Child, FC } from "hono/jsx";

/** What may be wider than the window, such as a table: it scrolls by itself, with the keyboard too. */
export const Wide: FC<{ label: string; children: Child }> = ({ label, children }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached with the keyboard (WCAG 2.1.1).
  <section class="wide" tabindex={0} aria-label={label}>
    {children}
  </section>
);
