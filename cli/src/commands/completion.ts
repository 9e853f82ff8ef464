/** `ug completion`: lets bash, zsh and fish complete the command line. */
import tab, { ShellCompDirective, script } from "@bomb.sh/tab";
import completeCommander from "@bomb.sh/tab/commander";
import { Argument, Command } from "commander";
import { contextNames } from "../contexts/context-store.ts";
import { described } from "../help.ts";
import { print } from "../support/output.ts";

const SHELLS = ["bash", "zsh", "fish"];

export const command = (): Command =>
  described("completion", {
    summary: "print the script with which a shell completes commands, options and the names of contexts",
    examples: {
      "ug completion bash > ~/.local/share/bash-completion/completions/ug": "bash, with the package bash-completion",
      "ug completion zsh > ~/.zsh/completions/_ug": "zsh, if this folder is in fpath before compinit",
      "ug completion fish > ~/.config/fish/completions/ug.fish": "fish",
    },
    notes: "The script calls ug, so ug must be in a folder of PATH.",
  })
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(SHELLS))
    .action((shell: string) => script(shell, "ug", "ug"));

/** `ug complete`, which the script calls with the words of the command line. `grammarOf` returns the grammar for these words. */
export const completeCommand = (grammarOf: (words: readonly string[]) => Promise<Command>): Command =>
  new Command("complete").argument("[words...]").action(async (words: string[]) => {
    const program = await grammarOf(words.filter((word) => word !== "complete"));
    // The shell knows its files.
    if (isFile(program, words)) return print(`:${ShellCompDirective.ShellCompDirectiveDefault}`);
    // It adds a command of its own to the grammar.
    completeCommander(program);
    tab.commands.delete("complete");
    completeContexts();
    tab.parse(words);
  });

/** Whether the last word is the name of a file or a folder, by the option before it or by its place among the arguments. */
function isFile(program: Command, words: readonly string[]): boolean {
  const before = words.slice(0, -1);
  const command = before.reduce((at, word) => at.commands.find((each) => each.name() === word) ?? at, program);
  const option = command.options.find(({ long, required }) => required && long === before.at(-1));
  if (option) return isNameOfFile(option.flags);
  const [argument] = command.registeredArguments;
  return argument !== undefined && isNameOfFile(argument.name()) && !words.at(-1)?.startsWith("-");
}

const isNameOfFile = (text: string): boolean => /\b(?:file|folder|dir|path)\b(?!-)/.test(text.replace(/^--[\w-]+/, ""));

/** The names of contexts, for --context and for the commands on one context. */
function completeContexts(): void {
  const complete = (add: (value: string, description: string) => void) => {
    for (const name of contextNames()) add(name, "context");
  };
  for (const [path, command] of tab.commands) {
    const option = command.options.get("context");
    if (option) option.handler = complete;
    const argument = command.arguments.get("name");
    if (/^context (?:use|remove)$/.test(path) && argument) argument.handler = complete;
  }
}
