/** What the commands of `ug groups` share. */
import type { Command } from "commander";
import { REASON, serviceCommand } from "../../command.ts";
import type { Examples } from "../../help.ts";
import { readId, wholeNumberReader } from "../../option-values.ts";

const CONCURRENCY_MAX = 64;
const CONCURRENCY_DEFAULT = 16;

export const withConcurrency = (command: Command, meaning: string): Command =>
  command.option("--concurrency <n>", meaning, wholeNumberReader("concurrency", CONCURRENCY_MAX), CONCURRENCY_DEFAULT);

/** Which credential decides the environment. */
export const WHOSE =
  "The API key in API_KEY decides the environment. An operator sets OPERATOR_KEY, and names it with --workspace and --environment.";

export const groupsOf = (name: string, summary: string, examples: Examples): Command =>
  serviceCommand(name, { summary, examples, notes: WHOSE, inEnvironment: true });

export const groupOf = (name: string, summary: string, examples: Examples): Command =>
  groupsOf(name, summary, examples)
    .argument("[number]", "the number of the group (team_id)", readId)
    .option("--id <id>", "the user_group_id of the group, in place of its number");

export const changeOf = (...about: Parameters<typeof groupOf>): Command => groupOf(...about).option(...REASON);
