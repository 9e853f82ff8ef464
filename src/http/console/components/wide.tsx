import type { Child, FC } from "hono/jsx";

/** Content that may be wider than the window, such as a table: it scrolls by itself, with the keyboard too. */
export const Wide: FC<{ label: string; children: Child }> = ({ label, children }) => (
  <section class="wide" tabindex={0} aria-label={label}>
    {children}
  </section>
);
