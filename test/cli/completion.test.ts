import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, inject, it } from "vitest";
import { outcomeOf, startCommand } from "../support/node/commands.ts";

const { folder } = inject("service");
const home = mkdtempSync(join(tmpdir(), "ug-completion-"));
const env = { XDG_CONFIG_HOME: home, PATH: `${home}/bin:${process.env.PATH}`, HOME: home };

beforeAll(() => {
  mkdirSync(join(home, "ug/contexts"), { recursive: true });
  for (const name of ["prod", "staging"]) writeFileSync(join(home, `ug/contexts/${name}.json`), "{}", { mode: 0o600 });
  mkdirSync(join(home, "bin"));
  // As a package puts ug in a folder of PATH.
  writeFileSync(join(home, "bin/ug"), `#!/bin/sh\nexec ${process.execPath} -- ${folder}/cli/src/main.ts "$@"\n`);
  chmodSync(join(home, "bin/ug"), 0o755);
  writeFileSync(join(home, "customers.csv"), "");
  return () => rmSync(home, { recursive: true, force: true });
});

/** What is proposed for the last of these words. */
const proposed = async (...words: string[]): Promise<string[]> => {
  const { stdout } = await outcomeOf(startCommand("complete", ["--", ...words], env));
  return stdout.split("\n").map((line) => line.split("\t")[0] ?? "");
};

it("proposes commands, options, values and contexts, and leaves files to the shell", async () => {
  expect(await proposed("gr")).toEqual(["groups", ":4"]);
  expect(await proposed("groups", "su")).toEqual(["suspend", ":4"]);
  expect(await proposed("groups", "list", "--st")).toEqual(["--state", ":4"]);
  expect(await proposed("groups", "list", "--state", "")).toEqual(["active", "suspended", "deleted", ":4"]);
  expect(await proposed("groups", "list", "--context", "")).toEqual(["prod", "staging", ":4"]);
  expect(await proposed("context", "use", "s")).toEqual(["staging", ":4"]);
  expect(await proposed("groups", "import", "cus")).toEqual([":0"]);
  expect(await proposed("whoami", "--key-file", "")).toEqual([":0"]);
  expect(await proposed("complete")).not.toContain("complete");
});

const BASH_COMPLETION = "/usr/share/bash-completion/bash_completion";
const isThere = (program: string) =>
  spawnSync(program, ["--version"]).status === 0 && (program !== "bash" || existsSync(BASH_COMPLETION));

/** Each shell with what it runs to complete a line, which prints the proposals. */
const SHELLS = {
  bash: (line: string) => [
    "-c",
    `source ${BASH_COMPLETION}; source <(ug completion bash); COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; read -ra COMP_WORDS <<< "$COMP_LINE"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); $(complete -p ug | sed 's/.*-F \\([^ ]*\\).*/\\1/') ug; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  fish: (line: string) => ["-c", `ug completion fish | source; complete -C '${line}'`],
} as const;

it.for(["bash", "fish"] as const)("completes in %s", (shell, { skip }) => {
  if (!isThere(shell)) skip(`${shell} or its package of completions is not installed`);
  const complete = (line: string) =>
    execFileSync(shell, SHELLS[shell](line), {
      env: { ...process.env, ...env },
      cwd: home,
      encoding: "utf8",
      // compopt complains outside of a completion.
      stdio: ["ignore", "pipe", "ignore"],
    });
  expect(complete("ug groups susp")).toMatch(/^suspend/m);
  expect(complete("ug groups list --context pr")).toMatch(/^prod/m);
});

it("completes in zsh", ({ skip }) => {
  if (!isThere("zsh")) skip("zsh is not installed");
  const run = `autoload -Uz compinit; compinit -u -D; source <(ug completion zsh); (( $+functions[_ug] )) && echo $_comps[ug]; compadd() { shift $(( \${argv[(i)--]} )); print -rl -- $@ }; _describe() { print -rl -- \${(P)2} \${(P)3} \${(P)4} }; words=(ug groups susp); CURRENT=3; _ug 2>&1`;
  const printed = execFileSync("zsh", ["-f", "-c", run], {
    env: { ...process.env, ...env },
    cwd: home,
    encoding: "utf8",
  });
  expect(printed).toMatch(/^_ug$/m);
  expect(printed).toMatch(/^suspend/m);
});
