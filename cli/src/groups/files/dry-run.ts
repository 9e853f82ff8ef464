/** What an import would do, by reads alone. */
import { CommandError } from "../../../../common/command-error.ts";
import { sentenceOf } from "../../support/transport.ts";
import { listedGroups, type Service } from "./group-calls.ts";
import { changedNames, differencesOf, type GroupLine } from "./group-line.ts";
import type { ImportSource } from "./source.ts";

/** What an import would create, change and leave. Without --update, it would leave what differs as well. */
export type Plan = {
  create: string[];
  differing: { id: string; changed: string[] }[];
  /** Groups that are what their lines say already. */
  same: number;
  refused: number;
  /** Groups to create whose ids are numbers, and that of a group that exists but for zeros at its beginning. */
  withoutZeros: { id: string; existing: string }[];
};

/** A number without the zeros at its beginning, which spreadsheets remove; `undefined` for any other id. */
const withoutZeros = (id: string): string | undefined => (/^\d+$/.test(id) ? id.replace(/^0+(?=\d)/, "") : undefined);

/** All groups of the file are in memory until they are compared. */
const GROUPS_MAX = 1_000_000;
/** More groups are looked for in the list of all, which takes fewer calls. */
const SINGLE_READS_MAX = 100;

/** Compares the lines with the groups that exist. What the service would refuse of a line, such as a name too long, it does not know. */
export async function planOf(service: Service, source: ImportSource, fromLine: number): Promise<Plan> {
  const { groups, refused } = await groupsOf(source, fromLine);
  const plan: Plan = { create: [], differing: [], same: 0, refused, withoutZeros: [] };
  const numbers = new Set([...groups.keys()].map(withoutZeros));
  numbers.delete(undefined);
  const similar = new Map<string, string>();
  for await (const listed of existing(service, [...groups.keys()], numbers.size > 0))
    for (const current of listed) {
      const id = String(current.provided_id);
      const line = groups.get(id);
      const number = withoutZeros(id);
      if (number !== undefined && numbers.has(number)) similar.set(number, id);
      if (!line) continue;
      groups.delete(id);
      const changed = changedNames(differencesOf(line, current), current);
      if (changed.length > 0) plan.differing.push({ id, changed });
      else plan.same += 1;
    }
  plan.create = [...groups.keys()];
  plan.withoutZeros = plan.create.flatMap((id) => {
    const existing = similar.get(withoutZeros(id) ?? "");
    return existing === undefined ? [] : [{ id, existing }];
  });
  return plan;
}

async function groupsOf({ unit, lines }: ImportSource, fromLine: number) {
  const groups = new Map<string, GroupLine>();
  let refused = 0;
  let failure: unknown;
  const noteFailure = (error: unknown) => {
    failure = error;
  };
  for await (const { number, group, refusal } of lines(new AbortController().signal, noteFailure)) {
    if (number < fromLine) continue;
    const id = group?.fields.user_group_id;
    if (group && typeof id === "string") groups.set(id, group);
    if (groups.size > GROUPS_MAX)
      throw new CommandError(`A dry run takes at most ${GROUPS_MAX} groups. Try it with a part of the file.`);
    const problem = refusal ?? (group && typeof id !== "string" ? NO_ID : undefined);
    if (!problem) continue;
    refused += 1;
    console.error(`${unit} ${number}: ${sentenceOf(problem)}`);
  }
  if (failure !== undefined) throw failure;
  return { groups, refused };
}

const NO_ID = { code: "invalid_body", message: "Give user_group_id as a text." };

/** The groups that exist: all, or at least those with these ids. */
async function* existing(service: Service, ids: readonly string[], all: boolean) {
  if (all || ids.length > SINGLE_READS_MAX) return yield* listedGroups(service, {});
  for (const id of ids) yield* listedGroups(service, { user_group_id: id });
}
