import { type Policy, qualified, type Relation } from "../catalogue.ts";
import { identifier } from "../database.ts";
import type { Findings, NotJudged } from "../finding.ts";
import { isOfQueries } from "../roles.ts";
import { type Bound, keyOf } from "../sql/atoms.ts";
import { policyName } from "../suggestions.ts";
import { conditionOf } from "../table-bounds.ts";
import { alter, COMMANDS, type Policies } from "./policies.ts";

/** Names policies that bind new rows by other columns than those by which customers read: a customer could write rows that another one reads. */
export function checkWrittenRows(policies: Policies, relation: Relation): Partial<Findings> {
  const { bounds, queries } = policies;
  const roles = Object.entries(relation.privileges).filter(
    ([role, held]) => isOfQueries(role, queries) && held.includes("SELECT"),
  );
  const notJudged = roles.flatMap(([role, held]) =>
    (["a", "w"] as const)
      .filter((command) => held.includes(command === "a" ? "INSERT" : "UPDATE"))
      .flatMap((command) => {
        const read = separatingColumns(policies, bounds.ofTable(relation, role, ["r", "using"]));
        const written = separatingColumns(policies, bounds.ofTable(relation, role, [command, "check"]));
        if (read.length === 0 || written.length === 0 || written.some((column) => read.includes(column))) return [];
        const [readers, writers] = (["r", command] as const).map((each) =>
          bounds.applied(relation, role, each).filter(({ permissive }) => permissive),
        );
        return (writers ?? []).map((writer) => elsewhere(relation, writer, { read, written, readers: readers ?? [] }));
      }),
  );
  return { notJudged };
}

/** The columns by which a bound tells the two callers apart. */
const separatingColumns = ({ callers }: Policies, bound: Bound): string[] =>
  bound === "any"
    ? []
    : [...bound].flatMap(([key, atom]) => (callers.differIn(atom) ? [key.slice(0, -` = ${keyOf(atom)}`.length)] : []));

function elsewhere(
  relation: Relation,
  writer: Policy,
  { read, written, readers }: { read: string[]; written: string[]; readers: readonly Policy[] },
): NotJudged {
  const object = policyName(writer, relation);
  const seen = readers.map(({ using }) => using ?? "true").join(" OR ");
  const columns = (names: readonly string[]) => names.map(identifier).join(", ");
  return {
    object,
    message: `This policy (for ${COMMANDS[writer.command]}) binds new rows by ${columns(written)}, but customers read rows of ${qualified(relation)} by ${columns(read)}: a customer could write a row that another one reads as its own.`,
    fix: `${alter(writer, relation)} WITH CHECK ((${conditionOf(writer, "check")}) AND (${seen})); -- If you have judged it: --accept ${object}`,
  };
}
