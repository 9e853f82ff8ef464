/**
 * `npm run proof -- --minutes N [--seed S]`: the proofs that `npm test` runs in their quick form, for N
 * minutes. Each ends at its full count or its share of the time, whichever comes first.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { CommandError } from "../common/command-error.ts";
import { runCommand, type ValuesOf } from "./command.ts";

const USAGE = "Usage: npm run proof -- --minutes N [--seed S], with N from 1 to 600 and S a whole number.";
const OPTIONS = { minutes: { type: "string" }, seed: { type: "string" } } as const;
const SEED_MAX = 2 ** 31;

async function prove(values: ValuesOf<typeof OPTIONS>, positionals: string[]): Promise<void> {
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? randomInt(SEED_MAX));
  if (!(minutes >= 1 && minutes <= 600) || !Number.isInteger(seed) || positionals.length > 0)
    throw new CommandError(USAGE);

  console.info(`Seed ${seed}; repeat this run with: npm run proof -- --minutes ${minutes} --seed ${seed}`);
  const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "proof"], {
    stdio: "inherit",
    env: { ...process.env, PROOF_MINUTES: String(minutes), PROOF_SEED: String(seed) },
  });
  process.exitCode = status ?? 1;
}

await runCommand({ usage: USAGE, options: OPTIONS, run: prove });
