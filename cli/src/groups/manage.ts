/** The commands that show and change single groups. */
import type { EnvironmentClient, GroupFields, GroupState, ListedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../common/content.ts";
import { DAY_MS, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { inShell, type Output, requireYes } from "../command.ts";
import { reworded, withApiKey } from "../service-access.ts";
import { given } from "../support/given.ts";
import { escapeInvisible, quoted } from "../support/printable.ts";
import { tableOf } from "../support/table.ts";
import { CONTENT_OPTIONS, type ContentOptions, contentIn } from "./content-options.ts";
import { findAny, findDeleted, findExisting, groupNameOf } from "./find-group.ts";
import { commandLine, described, type Options, outputOf, tableOfGroups, toWireGroup } from "./task.ts";

type Client = EnvironmentClient;
type Renaming = Options & { newId?: string };

const existing = (client: Client, { id }: Options, named?: string) => findExisting(client, groupNameOf(named, id));

type Listing = { prefix?: string; search?: string; notViewedFor?: number; state?: GroupState; limit: number };

export async function list(client: Client, { prefix, search, notViewedFor, state, limit: most }: Listing) {
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

export async function show(client: Client, { id }: Options, named?: string): Promise<Output> {
  const group = await findAny(client, groupNameOf(named, id));
  const contents = GROUP_FIELDS.filter((field) => CONTENT[field].isNullable).map((field) => [
    CONTENT[field].column,
    JSON.stringify(group[field]),
  ]);
  return outputOf(group, tableOf(contents));
}

/** Creates a group. `id` is the argument of the command. */
export async function create(client: Client, options: ContentOptions, id: string): Promise<Output> {
  const { created, group } = await withApiKey(client)
    .ensure({ userGroupId: id, ...contentIn(options) })
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

export async function update(client: Client, options: Changing & ContentOptions, named?: string): Promise<Output> {
  const fields = contentIn(options);
  if (Object.keys(fields).length === 0 && options.newId === undefined)
    throw new UsageError(`Give what to change: ${CONTENT_OPTIONS.join(", ")} or --new-id.`);
  const { teamId } = await existing(client, options, named);
  return outputOf(await change(client, options, teamId, fields), `Group ${teamId} is updated.`);
}

/** Changes the name or the id of a group, and names the undo. */
export async function rename(client: Client, options: Renaming & { name?: string }, named?: string): Promise<Output> {
  const { name, newId } = options;
  if (name === undefined && newId === undefined) throw new UsageError("Give --name, --new-id, or both.");
  const before = await existing(client, options, named);
  const { teamId } = before;
  const group = await change(client, options, teamId, given({ name }));
  const names = name === undefined ? "" : ` --name ${inShell(before.name)}`;
  const ids = newId === undefined ? "" : ` --new-id ${inShell(before.userGroupId)}`;
  const undo = escapeInvisible(commandLine(options, `rename ${teamId}${names}${ids}`));
  return outputOf(group, `Group ${teamId}, which was ${described(before)}, is renamed. To undo it: ${undo}`);
}

type Changing = Renaming & { merge?: boolean };

async function change(client: Client, { merge, newId, reason }: Changing, teamId: number, fields: GroupFields) {
  const call = merge ? client.mergeByNumber : client.updateByNumber;
  return call({ teamId, ...fields, newUserGroupId: newId, reason }).catch((error: unknown) => {
    throw reworded(error, "user_group_id_taken", "Another group has this id. Give another one as --new-id.");
  });
}

export async function rotate(client: Client, options: Options & { grace?: number }, named?: string): Promise<Output> {
  const { grace: graceSeconds, reason } = options;
  const group = await existing(client, options, named);
  const { teamId } = group;
  const grace = graceSeconds === undefined ? "" : ` --grace ${graceSeconds}s`;
  const todo = `To do it: ${commandLine(options, `rotate ${teamId}${grace} --yes`)}`;
  requireYes(options, `replace the token of ${described(group)}`, { name: group.userGroupId, todo });
  const rotated = await client.rotateTokenByNumber({ teamId, graceSeconds, reason });
  const before = graceSeconds ? `The one before is valid for ${graceSeconds} s more` : "The one before is refused";
  return outputOf(
    rotated,
    `Group ${teamId} has a new token. ${before}. The integrator gets the new one with GET /api/user.`,
  );
}

export async function suspend(client: Client, options: Options, named?: string): Promise<Output> {
  const { teamId } = await existing(client, options, named);
  const group = await client.suspendByNumber({ teamId, reason: options.reason });
  return outputOf(group, `Group ${teamId} is suspended. To undo it: ${commandLine(options, `resume ${teamId}`)}`);
}

export async function resume(client: Client, options: Options, named?: string): Promise<Output> {
  const { teamId } = await existing(client, options, named);
  const group = await client.resumeByNumber({ teamId, reason: options.reason });
  return outputOf(group, `Group ${teamId} is active. To undo it: ${commandLine(options, `suspend ${teamId}`)}`);
}

/** Deletes a group, and names the undo. */
export async function remove(client: Client, options: Options, named?: string): Promise<Output> {
  const { teamId } = await existing(client, options, named);
  const deleted = await client.removeByNumber({ teamId, reason: options.reason });
  const isKept = deleted.purgeAt !== deleted.deletedAt;
  const undo = `To undo it, until ${deleted.purgeAt}: ${commandLine(options, `restore ${teamId}`)}`;
  return outputOf(deleted, `Group ${teamId} is deleted. ${isKept ? undo : "It cannot be restored."}`);
}

export async function restore(client: Client, options: Renaming & { rotateToken?: true }, named?: string) {
  const { id, newId, rotateToken, reason } = options;
  const deleted = await findDeleted(client, groupNameOf(named, id));
  if (!deleted) {
    const group = await existing(client, options, named);
    return outputOf(group, `Group ${group.teamId} is not deleted. Nothing was changed.`);
  }
  const { teamId } = deleted;
  const restored = await client
    .restore({ teamId, newUserGroupId: newId, rotateToken, reason })
    .catch((error: unknown) => {
      const sentence = "Another group has this id now. Give the restored one an id of its own with --new-id.";
      throw reworded(error, "user_group_id_taken", sentence);
    });
  const token = rotateToken ? "a new token" : "its token";
  const undo = commandLine(options, `delete ${teamId}`);
  return outputOf(restored, `Group ${teamId} is restored with ${token}. To undo it: ${undo}`);
}

/** Erases a deleted group, and names it. */
export async function purge(client: Client, options: Options, named?: string): Promise<Output> {
  const deleted = await findDeleted(client, groupNameOf(named, options.id));
  if (!deleted) {
    const { teamId } = await existing(client, options, named);
    const sentence = `Group ${teamId} is not deleted. Delete it first: ${commandLine(options, `delete ${teamId}`)}`;
    throw new CommandError(sentence, { code: "user_group_not_deleted" });
  }
  const { teamId, userGroupId, name } = deleted;
  const todo = `To do it: ${commandLine(options, `purge ${teamId} --yes`)}`;
  requireYes(options, `purge ${described(deleted)}`, { name: userGroupId, todo });
  await client.purge({ teamId, reason: options.reason });
  return {
    body: { success: 1, purged: { team_id: teamId, provided_id: userGroupId, name } },
    text: `Purged ${described(deleted)}. This cannot be undone.`,
  };
}
