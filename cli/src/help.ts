/** The help of a command. It imports little, so that a command loads no more than it needs. */
import { Command } from "commander";
import { capitalized } from "./support/printable.ts";

/** Command lines, each with what it does. */
export type Examples = Readonly<Record<string, string>>;

/** What a command is, besides its options. */
export type About = { summary: string; examples: Examples; notes?: string };

/** A command with its help, whose description is the summary as a sentence. */
export function described(name: string, { summary, examples, notes }: About): Command {
  const lines = Object.entries(examples).map(([line, meaning]) => `  # ${meaning}\n  $ ${line}`);
  const help = `\nExamples:\n${lines.join("\n")}${notes === undefined ? "" : `\n\n${notes}`}`;
  return new Command(name)
    .description(`${capitalized(summary)}.`)
    .summary(summary)
    .addHelpText("after", help);
}

/** A command that only holds others. Its help shows them under the headings. */
export function commandGroup(
  name: string,
  about: About,
  commands: readonly Command[] | Record<string, readonly Command[]>,
): Command {
  const group = described(name, about).usage("<command> [options]");
  for (const [heading, each] of Object.entries(Array.isArray(commands) ? { Commands: commands } : commands))
    for (const command of each) group.addCommand(command.helpGroup(`${heading}:`));
  return group;
}

/** A command that calls no service by its options. */
export const plainCommand = (name: string, about: About): Command =>
  described(name, about).option("--json", "print JSON, for failures too");
