/** What the prover has found. */

/** A mistake that lets a customer see or change rows of another one, or would with the next change. */
export type Mistake = {
  /** A fact in snake_case, for programs. */
  code: string;
  /** The role, table, policy, view or function. */
  object: string;
  message: string;
  /** SQL to paste; alternatives stand in a comment behind it. */
  fix: string;
};

/** What could let a customer see or change rows of another one, in a form that the prover does not know. */
export type NotJudged = {
  /** The name for `--accept`, such as `public.orders.own`. */
  object: string;
  message: string;
  fix: string;
};

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

/** The form of a verb for these names: `["sees", "see"]` for one and for several. */
export const verb = (names: readonly string[], [one, several]: readonly [string, string]): string =>
  names.length === 1 ? one : several;
