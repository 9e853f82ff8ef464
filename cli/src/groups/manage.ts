/** The commands that show and change single groups. */

import type { GroupState, ListedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../common/content.ts";
import { DAY_MS, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import type { Output, ReasonOptions } from "../command.ts";
import { given } from "../support/given.ts";
import { tableOf } from "../support/table.ts";
import { CONTENT_OPTIONS, type ContentOptions, contentIn } from "./content-options.ts";
import { findAny, findDeleted, findExisting, groupNameOf } from "./find-group.ts";
import { reworded } from "./service-errors.ts";
import { commandLine, described, outputOf, type Task, tableOfGroups, toWireGroup, unconfirmed } from "./task.ts";

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

/** Changes the fields that are given. */
export async function update(
  task: Task<Change & ContentOptions & { merge?: boolean; newId?: string }>,
): Promise<Output> {
  const { newId: newUserGroupId, reason } = task.values;
  const changes = contentIn(task.values);
  if (Object.keys(changes).length === 0 && newUserGroupId === undefined)
    throw new UsageError(`Give what to change: ${CONTENT_OPTIONS.join(", ")} or --new-id.`);
  const { teamId } = await existing(task);
  const call = task.values.merge ? task.client.mergeByNumber : task.client.updateByNumber;
  const group = await call({ teamId, ...changes, newUserGroupId, reason }).catch((error: unknown) => {
    throw reworded(error, "user_group_id_taken", "Another group has this id. Give another one as --new-id.");
  });
  return outputOf(group, `Group ${teamId} is updated.`);
}

/** Replaces the token of a group. */
export async function rotate(task: Task<Confirmed & { grace?: number }>): Promise<Output> {
  const { grace: graceSeconds, reason, yes } = task.values;
  const group = await existing(task);
  const { teamId } = group;
  if (!yes)
    throw unconfirmed(
      task,
      `replace the token of ${described(group)}`,
      `rotate ${teamId}${graceSeconds === undefined ? "" : ` --grace ${graceSeconds}s`}`,
    );
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
  if (!task.values.yes) throw unconfirmed(task, `purge ${described(deleted)}`, `purge ${teamId}`);
  await task.client.purge({ teamId, reason: task.values.reason });
  const { userGroupId, name } = deleted;
  return {
    body: { success: 1, purged: { team_id: teamId, provided_id: userGroupId, name } },
    text: `Purged ${described(deleted)}. This cannot be undone.`,
  };
}
