/**
 * `npm run proof -- --minutes N [--seed S]`: the proofs that `npm test` runs in their quick form, for N
 * minutes. Each ends at its full count or its share of the time, whichever comes first.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

const USAGE = "Usage: npm run proof -- --minutes N [--seed S], with N from 1 to 600 and S a whole number.";

function readArguments() {
  try {
    const { minutes, seed } = parseArgs({ options: { minutes: { type: "string" }, seed: { type: "string" } } }).values;
    return { minutes: Number(minutes), seed: seed === undefined ? randomInt(2 ** 31) : Number(seed) };
  } catch {
    return undefined;
  }
}

const read = readArguments();
if (!read || !(read.minutes >= 1 && read.minutes <= 600) || !Number.isInteger(read.seed)) {
  console.error(USAGE);
  process.exit(1);
}

console.info(`Seed ${read.seed}; repeat this run with: npm run proof -- --minutes ${read.minutes} --seed ${read.seed}`);
const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "proof"], {
  stdio: "inherit",
  env: { ...process.env, PROOF_MINUTES: String(read.minutes), PROOF_SEED: String(read.seed) },
});
process.exit(status ?? 1);
