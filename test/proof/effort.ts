import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The effort of the proofs: `minutes` is 0 in `npm test`, and the option of `npm run proof` otherwise. */
    effort: { minutes: number; seed: number };
  }
}

const { minutes, seed } = inject("effort");
const isLong = minutes > 0;

/** Options for fast-check: `quick` runs in `npm test`; in the long form `long` runs, or as many as this share of the time allows. */
export const runs = (quick: number, long: number, share: number) => ({
  seed,
  numRuns: isLong ? long : quick,
  ...(isLong && { interruptAfterTimeLimit: minutes * share * 60_000, markInterruptAsFailure: false }),
});

/**
 * The same for a loop of a proof: whether another round follows after `done` rounds since `startedAt`. However short its time
 * is, the long form makes no fewer rounds than the quick one, or it would not see each outcome.
 */
export const hasAnotherRound = (done: number, startedAt: number, quick: number, long: number, share: number): boolean =>
  done < quick || (isLong && done < long && Date.now() - startedAt <= minutes * share * 60_000);

/** Prints the counts of a proof in its long form. */
export function report(what: string, counts: Record<string, number>): void {
  if (!isLong) return;
  const listed = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  process.stderr.write(`${what}: ${listed.join(", ")} (seed ${seed})\n`);
}
