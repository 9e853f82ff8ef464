import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** How hard the proofs try: `minutes` is 0 in `npm test`, and what `npm run proof` was told otherwise. */
    effort: { minutes: number; seed: number };
  }
}

const { minutes, seed } = inject("effort");

/** What fast-check is told: so many runs in `npm test`, or as many as fit into the proof's share of the minutes. */
export const runs = (quick: number, long: number, shareOfMinutes: number) => ({
  seed,
  numRuns: minutes === 0 ? quick : long,
  ...(minutes === 0
    ? {}
    : { interruptAfterTimeLimit: minutes * shareOfMinutes * 60_000, markInterruptAsFailure: false }),
});

/** So many rounds in `npm test`, or so many in the long form. */
export const rounds = (quick: number, long: number): number => (minutes === 0 ? quick : long);

/** Tells what a proof has done, on the standard error of the run. */
export const told = (what: string, counts: Record<string, number>): void => {
  if (minutes > 0)
    process.stderr.write(
      `${what}: ${Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(", ")} (seed ${seed})\n`,
    );
};
