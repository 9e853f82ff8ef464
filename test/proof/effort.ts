import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** How hard the proofs try: `minutes` is 0 in `npm test`, and what `npm run proof` was told otherwise. */
    effort: { minutes: number; seed: number };
  }
}

const { minutes, seed } = inject("effort");
const isLong = minutes > 0;

/** What fast-check is told: so many runs in `npm test`; in the long form so many more, or what fits into this share of it. */
export const runs = (quick: number, long: number, share: number) => ({
  seed,
  numRuns: isLong ? long : quick,
  ...(isLong && { interruptAfterTimeLimit: minutes * share * 60_000, markInterruptAsFailure: false }),
});

/** The same for a proof's own loop: whether to go on after `done` rounds that began at `startedAt`. */
export const goesOn = (done: number, startedAt: number, quick: number, long: number, share: number): boolean =>
  done < (isLong ? long : quick) && !(isLong && Date.now() - startedAt > minutes * share * 60_000);

/** Tells what a proof in the long form has done. */
export function told(what: string, counts: Record<string, number>): void {
  if (!isLong) return;
  const listed = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  process.stderr.write(`${what}: ${listed.join(", ")} (seed ${seed})\n`);
}
