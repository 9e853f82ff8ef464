/** The help of a command. This file imports nothing, so that a command loads no more than it needs. */

/** Command lines, each with what it does. */
export type Examples = readonly (readonly [line: string, meaning: string])[];

/** The text below a command's options. */
export function helpOf({ examples, notes }: { examples: Examples; notes?: string }): string {
  const lines = examples.map(([line, meaning]) => `  # ${meaning}\n  $ ${line}`);
  return `\nExamples:\n${lines.join("\n")}${notes === undefined ? "" : `\n\n${notes}`}`;
}
