import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { outcomeOf } from "../../support/node/commands.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { hasPostgres, type Postgres, startPostgres } from "../../support/node/postgres.ts";
import { runIn } from "../../support/node/service.ts";
import { succeeds } from "../../support/node/verify-session.ts";

const { url, key } = inject("service");
const page = readFileSync("docs/integrators/first-rows.md", "utf8");
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);

const LANGUAGES = [
  { language: "TypeScript", program: "orders.ts", isThere: true, needs: "" },
  {
    language: "Python",
    program: "orders.py",
    isThere: succeeds("python3", "-c", "import jwt, cryptography, psycopg"),
    needs: ", python3 with PyJWT and psycopg",
  },
];

describe("the page of first rows", () => {
  let postgres: Postgres;

  /** The page as somebody pastes it who has chosen one of the programs. */
  const scriptFor = (program: string) =>
    blocksOf("bash")
      .filter((block) => !block.includes("orders()") || block.includes(program))
      .join("\n")
      .replaceAll("http://localhost:8787", url)
      .replaceAll(/postgresql:\/\/(\w+)@localhost:5432\/postgres/g, (_, role: string) => `'${postgres.url(role)}'`)
      .replace("API_KEY=ugk_testing_…", `API_KEY=${key}`)
      // Offline: this project has the other package.
      .replace(
        "npm install --silent ./$PACKAGE pg",
        `npm install --silent --offline ./$PACKAGE '${resolve("node_modules/pg")}'`,
      )
      .replace(
        "pip install --quiet",
        "export PYTHONPATH=$PWD/python; python3 -m pip install --quiet --no-deps --no-index --root-user-action ignore --target python",
      )
      .replace(" 'psycopg[binary]'", "");

  for (const { language, program, isThere, needs } of LANGUAGES) {
    const isSkipped = !hasPostgres || !isThere;
    it.skipIf(isSkipped)(
      `prints what it shows in ${language}${isSkipped ? `, skipped: PostgreSQL${needs} is missing` : ""}`,
      async () => {
        postgres = await startPostgres();
        try {
          const outcome = await outcomeOf(runIn(newFolder(), ["bash", "-ec", scriptFor(program)]));
          expect(outcome).toEqual({ status: 0, stdout: blocksOf("text").join("").trim(), stderr: "" });
        } finally {
          await postgres.stop();
        }
      },
    );
  }
});
