/** The commands that show and change single groups. */

import type { GroupFields, GroupState, ListedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../common/content.ts";
import { DAY_MS, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { inShell, type Output, type ReasonOptions } from "../command.ts";
import { reworded, withApiKey } from "../service-access.ts";
import { given } from "../support/given.ts";
import { escapeInvisible, quoted } from "../support/printable.ts";
import { tableOf } from "../support/table.ts";
import { CONTENT_OPTIONS, type ContentOptions, contentIn } from "./content-options.ts";
import { findAny, findDeleted, findExisting, groupNameOf } from "./find-group.ts";
import { commandLine, described, outputOf, requireYesTo, type Task, tableOfGroups, toWireGroup } from "./task.ts";

type ById = { id?: string };
type Change = ById & ReasonOptions;
type Confirmed = Change & { yes?: true };

const nameOf = ({ number, values: { id } }: Task<ById>) => groupNameOf(number, id);
const existing = (task: Task<ById>): Promise<ListedGroup> => findExisting(task.client, nameOf(task));

type Listing = { prefix?: string; search?: string; notViewedFor?: number; state?: GroupState; limit: number };

/** Lists groups, up to a limit. */
export async function list({ client, values }: Task<Listing>) {
  const { prefix, search, notViewedFor, state, limit: most } = values;
  if (prefix !== undefined && search !== undefined) throw new UsageError("Give --prefix or --search, not both.");
  const lastViewedBefore = notViewedFor === undefined ? undefined : new Date(Date.now() - notViewedFor * DAY_MS);
  const groups: ListedGroup[] = [];
  const query = { ...given({ prefix, search, lastViewedBefore, state }), pageSize: LIST_ITEMS_MAX };
  for await (const group of client.list(query)) {
    if (groups.length === most) {
      console.error(`These are the first ${most} groups. Give a higher --limit, or use export.`);
      break;
    }
    groups.push(group);
  }
  return { body: { success: 1, user_groups: groups.map(toWireGroup) }, text: tableOfGroups(groups) };
}

/** Shows a group with its contents. */
export async function show(task: Task<ById>): Promise<Output> {
  const group = await findAny(task.client, nameOf(task));
  const contents = GROUP_FIELDS.filter((field) => CONTENT[field].isNullable).map((field) => [
    CONTENT[field].column,
    JSON.stringify(group[field]),
  ]);
  return outputOf(group, tableOf(contents));
}

/** Creates a group. `id` is the argument of the command. */
export async function create({ client, values }: Task<ContentOptions>, id: string): Promise<Output> {
  const { created, group } = await withApiKey(client)
    .ensure({ userGroupId: id, ...contentIn(values) })
    .catch((error: unknown) => {
      const sentence = "This API key may not create groups. Use one with the scope groups:write.";
      throw reworded(error, "user_group_not_found", sentence);
    });
  const { teamId, name } = group;
  if (!created)
    throw new CommandError(
      `There is a group with the id ${quoted(id)} already: number ${teamId}. Nothing was changed. To change it: ug groups update ${teamId}`,
      { code: "user_group_exists" },
    );
  return {
    body: { success: 1, user_group: { team_id: teamId, provided_id: id, name } },
    text: `Created group ${teamId}, ${quoted(id)}, named ${quoted(name)}.`,
  };
}

/** Changes the fields that are given. */
export async function update(task: Task<RenamingChange & ContentOptions>): Promise<Output> {
  const fields = contentIn(task.values);
  if (Object.keys(fields).length === 0 && task.values.newId === undefined)
    throw new UsageError(`Give what to change: ${CONTENT_OPTIONS.join(", ")} or --new-id.`);
  const { teamId } = await existing(task);
  return outputOf(await change(task, teamId, fields), `Group ${teamId} is updated.`);
}

/** Changes the name or the id of a group, and names the undo. */
export async function rename(task: Task<Change & { name?: string; newId?: string }>): Promise<Output> {
  const { name, newId } = task.values;
  if (name === undefined && newId === undefined) throw new UsageError("Give --name, --new-id, or both.");
  const before = await existing(task);
  const { teamId } = before;
  const group = await change(task, teamId, given({ name }));
  const names = name === undefined ? "" : ` --name ${inShell(before.name)}`;
  const ids = newId === undefined ? "" : ` --new-id ${inShell(before.userGroupId)}`;
  const undo = escapeInvisible(commandLine(task, `rename ${teamId}${names}${ids}`));
  return outputOf(group, `Group ${teamId}, which was ${described(before)}, is renamed. To undo it: ${undo}`);
}

type RenamingChange = Change & { merge?: boolean; newId?: string };

async function change({ client, values }: Task<RenamingChange>, teamId: number, fields: GroupFields) {
  const call = values.merge ? client.mergeByNumber : client.updateByNumber;
  return call({ teamId, ...fields, newUserGroupId: values.newId, reason: values.reason }).catch((error: unknown) => {
    throw reworded(error, "user_group_id_taken", "Another group has this id. Give another one as --new-id.");
  });
}

/** Replaces the token of a group. */
export async function rotate(task: Task<Confirmed & { grace?: number }>): Promise<Output> {
  const { grace: graceSeconds, reason } = task.values;
  const group = await existing(task);
  const { teamId } = group;
  const grace = graceSeconds === undefined ? "" : ` --grace ${graceSeconds}s`;
  requireYesTo(task, `replace the token of ${described(group)}`, `rotate ${teamId}${grace}`);
  const rotated = await task.client.rotateTokenByNumber({ teamId, graceSeconds, reason });
  const before = graceSeconds ? `The one before is valid for ${graceSeconds} s more` : "The one before is refused";
  return outputOf(
    rotated,
    `Group ${teamId} has a new token. ${before}. The integrator gets the new one with GET /api/user.`,
  );
}

/** Suspends a group. */
export async function suspend(task: Task<Change>): Promise<Output> {
  const { teamId } = await existing(task);
  const group = await task.client.suspendByNumber({ teamId, reason: task.values.reason });
  return outputOf(group, `Group ${teamId} is suspended. To undo it: ${commandLine(task, `resume ${teamId}`)}`);
}

/** Ends the suspension of a group. */
export async function resume(task: Task<Change>): Promise<Output> {
  const { teamId } = await existing(task);
  const group = await task.client.resumeByNumber({ teamId, reason: task.values.reason });
  return outputOf(group, `Group ${teamId} is active. To undo it: ${commandLine(task, `suspend ${teamId}`)}`);
}

/** Deletes a group, and names the undo. */
export async function remove(task: Task<Change>): Promise<Output> {
  const { teamId } = await existing(task);
  const deleted = await task.client.removeByNumber({ teamId, reason: task.values.reason });
  const isKept = deleted.purgeAt !== deleted.deletedAt;
  const undo = `To undo it, until ${deleted.purgeAt}: ${commandLine(task, `restore ${teamId}`)}`;
  return outputOf(deleted, `Group ${teamId} is deleted. ${isKept ? undo : "It cannot be restored."}`);
}

/** Restores a deleted group. */
export async function restore(task: Task<Change & { newId?: string; rotateToken?: true }>): Promise<Output> {
  const { client, values } = task;
  const deleted = await findDeleted(client, nameOf(task));
  if (!deleted) {
    const group = await existing(task);
    return outputOf(group, `Group ${group.teamId} is not deleted. Nothing was changed.`);
  }
  const { teamId } = deleted;
  const { newId, rotateToken, reason } = values;
  const restored = await client
    .restore({ teamId, newUserGroupId: newId, rotateToken, reason })
    .catch((error: unknown) => {
      const sentence = "Another group has this id now. Give the restored one an id of its own with --new-id.";
      throw reworded(error, "user_group_id_taken", sentence);
    });
  const token = rotateToken ? "a new token" : "its token";
  const undo = commandLine(task, `delete ${teamId}`);
  return outputOf(restored, `Group ${teamId} is restored with ${token}. To undo it: ${undo}`);
}

/** Erases a deleted group, and names it. */
export async function purge(task: Task<Confirmed>): Promise<Output> {
  const deleted = await findDeleted(task.client, nameOf(task));
  if (!deleted) {
    const { teamId } = await existing(task);
    const sentence = `Group ${teamId} is not deleted. Delete it first: ${commandLine(task, `delete ${teamId}`)}`;
    throw new CommandError(sentence, { code: "user_group_not_deleted" });
  }
  const { teamId } = deleted;
  requireYesTo(task, `purge ${described(deleted)}`, `purge ${teamId}`);
  await task.client.purge({ teamId, reason: task.values.reason });
  const { userGroupId, name } = deleted;
  return {
    body: { success: 1, purged: { team_id: teamId, provided_id: userGroupId, name } },
    text: `Purged ${described(deleted)}. This cannot be undone.`,
  };
}
