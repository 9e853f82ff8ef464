import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The effort of the proofs: `minutes` is 0 in `npm test`, and the option of `npm run proof` otherwise. */
    effort: { minutes: number; seed: number };
  }
}

const { minutes, seed } = inject("effort");
const isLong = minutes > 0;

/** Options for fast-check: `quick` runs in `npm test`; in the long form `long` runs, or as many as fit into this share of the time. */
export const runs = (quick: number, long: number, share: number) => ({
  seed,
  numRuns: isLong ? long : quick,
  ...(isLong && { interruptAfterTimeLimit: minutes * share * 60_000, markInterruptAsFailure: false }),
});

/** The same for a proof's own loop: whether to go on after `done` rounds that began at `startedAt`. */
export const goesOn = (done: number, startedAt: number, quick: number, long: number, share: number): boolean =>
  done < (isLong ? long : quick) && !(isLong && Date.now() - startedAt > minutes * share * 60_000);

/** Prints what a proof in the long form has done. */
export function report(what: string, counts: Record<string, number>): void {
  if (!isLong) return;
  const listed = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  process.stderr.write(`${what}: ${listed.join(", ")} (seed ${seed})\n`);
}
