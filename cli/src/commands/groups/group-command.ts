/** What the commands of `ug groups` share. */
import type { Command } from "commander";
import { type Change, serviceCommand } from "../../command.ts";
import type { Examples } from "../../help.ts";
import { wholeNumberReader } from "../../option-values.ts";

const CONCURRENCY_MAX = 64;
const CONCURRENCY_DEFAULT = 16;

export const withConcurrency = (command: Command, meaning: string): Command =>
  command.option("--concurrency <n>", meaning, wholeNumberReader("concurrency", CONCURRENCY_MAX), CONCURRENCY_DEFAULT);

/** Which credential decides the environment. */
export const WHOSE =
  "The API key in API_KEY decides the environment. An operator sets OPERATOR_KEY, and names it with --workspace and --environment.";

export const groupsOf = (name: string, summary: string, examples: Examples, change?: Change): Command =>
  serviceCommand(name, { summary, examples, notes: WHOSE, inEnvironment: true, ...(change && { change }) });

export const groupOf = (...about: Parameters<typeof groupsOf>): Command =>
  groupsOf(...about)
    .argument("[number]", "the number of the group (team_id), or else its user_group_id")
    .option("--id <id>", "the user_group_id of the group, if it has only digits");

export const changeOf = (name: string, summary: string, examples: Examples, change: Change = "undoable"): Command =>
  groupOf(name, summary, examples, change);
