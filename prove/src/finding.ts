/** What the prover has found. */

/** What could let a customer see rows of another one, in a form that the prover does not know. */
export type NotJudged = {
  /** The role, table, policy, view or function: its name for `--accept`, such as `public.orders.own`. */
  object: string;
  message: string;
  /** SQL to paste; alternatives stand in a comment behind it. */
  fix: string;
};

/** What certainly lets a customer see rows of another one. `code` is a fact in snake_case, for programs. */
export type Mistake = NotJudged & { code: string };

/** What one run has found. Nothing in it is a value of a row. */
export type Findings = {
  mistakes: Mistake[];
  notJudged: NotJudged[];
  /** What the proof does not say, whatever was found. */
  limits: string[];
};

/** Joins findings. */
export const joined = (...findings: readonly Partial<Findings>[]): Findings => ({
  mistakes: findings.flatMap(({ mistakes = [] }) => mistakes),
  notJudged: findings.flatMap(({ notJudged = [] }) => notJudged),
  limits: findings.flatMap(({ limits = [] }) => limits),
});

/** Joins names for a sentence, and counts those beyond the first five. */
export function listed(names: readonly string[]): string {
  const [shown, more] = [names.slice(0, 5), names.length - 5];
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
