/** The table of consumers.md, made of the list and of the last runs, which stand in it alone. */
import type { Consumer, Verdict } from "./consumers.ts";

/** When each consumer last worked, as a date of UTC, and its version then. */
export type LastRuns = Record<string, { on: string; version: string | undefined }>;

const VERDICTS: Record<Verdict, string> = {
  works: "yes",
  documented: "by its documents",
  unsafe: "**unsafe**",
  no: "**no**",
};

const HEAD =
  "| consumer, and the version that ran | works | how, and what checks `aud` | last run |\n| --- | --- | --- | --- |";

/** A table of the page, from its head to the empty line. */
export const TABLE = new RegExp(`${RegExp.escape(HEAD)}\n(?:\\|.*\n)*`);

/** The last runs that the table of a page has of these consumers. */
export function lastRunsIn(page: string, consumers: readonly Consumer[]): LastRuns {
  const runs: LastRuns = {};
  for (const { name } of consumers) {
    const row = new RegExp(
      `^\\|(?:[^|]*,)? ${RegExp.escape(name)}(?: ([^ ,|]+))?(?:,[^|]*)? \\|.*\\| ([\\d-]+) \\|$`,
      "m",
    );
    const [, version, on] = row.exec(page) ?? [];
    if (on !== undefined) runs[name] = { on, version };
  }
  return runs;
}

/** The lines of the table. Consumers that are connected in the same way, and last ran on the same day, share one. */
export function tableOf(consumers: readonly Consumer[], lastRuns: LastRuns): string {
  const rows = Map.groupBy(consumers, ({ name, verdict, how }) => {
    const on = lastRuns[name]?.on ?? "never";
    return `${VERDICTS[verdict]} | ${how} | ${on} |`;
  });
  const versioned = ({ name }: Consumer) => [name, lastRuns[name]?.version].filter(Boolean).join(" ");
  const lines = [...rows].map(([rest, same]) => `| ${same.map(versioned).join(", ")} | ${rest}`);
  return `${[HEAD, ...lines].join("\n")}\n`;
}
