/**
 * `npm run proof -- --minutes N [--seed S]`: the proofs that `npm test` runs in their quick form, for N
 * minutes. Each ends at its full count or its share of the time, whichever comes first.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { Command } from "commander";
import { CommandError } from "../common/command-error.ts";
import { runTool } from "./command.ts";

const SEED_MAX = 2 ** 31;

/** Those that measure a box under attack run last and one at a time: others would take its processor. Each group has its share of the time. */
const GROUPS = [
  { options: ["--project", "runtime", "--project", "node"], share: 0.6 },
  { options: ["--project", "all", "--maxWorkers", "1"], share: 0.4 },
];

function prove(values: { minutes: string; seed?: string }): void {
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? randomInt(SEED_MAX));
  if (!(minutes >= 1 && minutes <= 600) || !Number.isInteger(seed))
    throw new CommandError("Give --minutes as a number from 1 to 600, and --seed as a whole number.");

  console.info(`Seed ${seed}; repeat this run with: npm run proof -- --minutes ${minutes} --seed ${seed}`);
  const statuses = GROUPS.map(({ options, share }) => {
    const env = { ...process.env, PROOF_MINUTES: String(minutes * share), PROOF_SEED: String(seed) };
    return spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "proof", ...options], {
      stdio: "inherit",
      env,
    }).status;
  });
  process.exitCode = Math.max(...statuses.map((status) => status ?? 1));
}

await runTool(
  new Command("npm run proof --")
    .requiredOption("--minutes <n>", "for how long, from 1 to 600")
    .option("--seed <s>", "a whole number, which an earlier run has printed")
    .action(prove),
);
