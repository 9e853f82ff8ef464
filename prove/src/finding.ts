/** What the prover has found. Nothing in it is a value of a row. */

/** What could let a customer see rows of another one, in a form that the prover does not know. With a code, it certainly does. */
export type Finding = {
  /** Of a mistake: a fact in snake_case, for programs. */
  code?: string;
  /** The role, table, policy, view or function: its name for `--accept`, such as `public.orders.own`. */
  object: string;
  message: string;
  /** SQL to paste; alternatives stand in a comment behind it. */
  fix: string;
};

/** Joins names for a sentence, and counts those beyond the first five. */
export function listed(names: readonly string[]): string {
  const [shown, more] = [names.slice(0, 5), names.length - 5];
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
