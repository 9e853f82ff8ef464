import { globSync, readFileSync } from "node:fs";

/** One `@example` of a docstring: a program, and the lines that it prints. */
export type DocExample = { name: string; program: string; printed: string[] };

/** What an example without an `import` has in scope: the clients of the classes' own examples. */
const PRELUDE = `
import { OperatorClient, UserGroupClient, UserGroupServiceError, ViewerClient } from "user-group-service/client";
const url = "http://localhost:8787";
const groups = new UserGroupClient({ url, apiKey: process.env.API_KEY ?? "" });
const operator = new OperatorClient({ url, operatorKey: process.env.OPERATOR_KEY ?? "" });
`;

/** All examples in the docstrings of the client. A comment right below a statement is what that prints. */
export const docExamples = (): DocExample[] =>
  globSync("client/src/**/*.ts")
    .toSorted()
    .flatMap((file) => examplesIn(readFileSync(file, "utf8"), file));

function examplesIn(source: string, file: string): DocExample[] {
  const found = source.matchAll(/^ *\* @example\n((?: *\*(?: .*)?\n)+?) *\*\/\n(?:\s*\/\/.*\n)*(.*)$/gm);
  return [...found].map(([, block = "", declaration = ""]) => {
    const text = block.replaceAll(/^ *\* ?/gm, "");
    const [, symbol] = /^\s*(?:export )?(?:async )?\*?(?:class |const |function )?(\w+)/.exec(declaration) ?? [];
    return {
      name: `${symbol} (${file})`,
      program: text.includes("import ") ? text : PRELUDE + text,
      printed: [...text.matchAll(/[;}]\n((?:\/\/ .*\n)+)/g)].flatMap(([, lines = ""]) =>
        lines
          .trimEnd()
          .split("\n")
          .map((line) => line.slice("// ".length)),
      ),
    };
  });
}
