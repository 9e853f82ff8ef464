import {
  type EnvironmentClient,
  type GroupState,
  type ListedGroup,
  type NumberedGroup,
  UserGroupServiceError,
} from "../../src/client/index.ts";
import { CommandError } from "../command.ts";
import type { Output } from "../support/operator-command.ts";
import { quoted } from "../support/printable.ts";
import { tableOf, tableOfItems } from "../support/table.ts";
import { itemNumber, wholeNumber } from "../support/whole-number.ts";
import { toWire } from "../support/wire.ts";

/** The options of these commands, apart from those that all of them take. */
export const MANAGE_OPTIONS = {
  id: { type: "string" },
  prefix: { type: "string" },
  state: { type: "string" },
  limit: { type: "string" },
  "new-id": { type: "string" },
  "rotate-token": { type: "boolean" },
  yes: { type: "boolean" },
} as const;

type Option = keyof typeof MANAGE_OPTIONS;

/** What a command works with. */
export type Task = {
  client: EnvironmentClient;
  values: {
    [Name in Option]?: ((typeof MANAGE_OPTIONS)[Name]["type"] extends "string" ? string : boolean) | undefined;
  };
  /** The number that was typed, if the command takes a group. */
  number: string | undefined;
  /** The options that name the environment, as a shell takes them. */
  where: string;
};

/** Names one group, by the service's number or the integrator's id. */
type Name = { teamId: number } | { userGroupId: string };

const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 100_000;
const GROUPS_PER_PAGE = 1_000;

/** The commands on single groups: which options each takes, whether it takes a group, and what it does. */
export const MANAGE: Record<
  string,
  { options: readonly Option[]; takesGroup: boolean; run: (task: Task) => Promise<Output> }
> = {
  list: { options: ["prefix", "state", "limit"], takesGroup: false, run: list },
  show: { options: ["id"], takesGroup: true, run: show },
  suspend: { options: ["id"], takesGroup: true, run: suspend },
  resume: { options: ["id"], takesGroup: true, run: resume },
  delete: { options: ["id", "yes"], takesGroup: true, run: remove },
  restore: { options: ["id", "new-id", "rotate-token"], takesGroup: true, run: restore },
  purge: { options: ["id", "yes"], takesGroup: true, run: purge },
};

async function list({ client, values: { prefix, state, limit } }: Task): Promise<Output> {
  const most = wholeNumber(limit ?? String(LIMIT_DEFAULT), "limit", LIMIT_MAX);
  const groups: ListedGroup[] = [];
  for await (const group of client.list({ prefix, state: stateOf(state), pageSize: GROUPS_PER_PAGE })) {
    if (groups.length === most) {
      console.error(`These are the first ${most} groups. Give a higher --limit, or use export.`);
      break;
    }
    groups.push(group);
  }
  return { body: { success: 1, user_groups: groups.map(toWireGroup) }, text: tableOfGroups(groups) };
}

async function show(task: Task): Promise<Output> {
  const group = await findAny(task);
  const contents = tableOf([
    ["mapping", JSON.stringify(group.mapping)],
    ["properties", JSON.stringify(group.properties)],
  ]);
  return outputOf(group, contents);
}

async function suspend(task: Task): Promise<Output> {
  const { teamId } = await findExisting(task);
  const group = await task.client.suspendByNumber({ teamId });
  return outputOf(group, `Group ${teamId} is suspended. To undo it: ${commandLine(task, `resume ${teamId}`)}`);
}

async function resume(task: Task): Promise<Output> {
  const { teamId } = await findExisting(task);
  const group = await task.client.resumeByNumber({ teamId });
  return outputOf(group, `Group ${teamId} is active. To undo it: ${commandLine(task, `suspend ${teamId}`)}`);
}

async function remove(task: Task): Promise<Output> {
  const { client, values } = task;
  const group = await findExisting(task);
  const { teamId } = group;
  if (!values.yes) throw unconfirmed(task, "delete", group);
  const deleted = await client.removeByNumber({ teamId });
  const isKept = deleted.purgeAt !== deleted.deletedAt;
  const undo = `To undo it, until ${deleted.purgeAt}: ${commandLine(task, `restore ${teamId}`)}`;
  return outputOf(deleted, `Group ${teamId} is deleted. ${isKept ? undo : "It cannot be restored."}`);
}

async function restore(task: Task): Promise<Output> {
  const { client, values } = task;
  const deleted = await findDeleted(task);
  if (!deleted) {
    const group = await findExisting(task);
    return outputOf(group, `Group ${group.teamId} is not deleted. Nothing was changed.`);
  }
  const { teamId } = deleted;
  const rotateToken = values["rotate-token"];
  const restored = await client
    .restore({ teamId, newUserGroupId: values["new-id"], rotateToken })
    .catch((error: unknown) => {
      throw hasCode(error, "user_group_id_taken")
        ? new CommandError("Another group has this id now. Give the restored one an id of its own with --new-id.")
        : error;
    });
  const token = rotateToken ? "a new token" : "its token";
  const undo = commandLine(task, `delete ${teamId}`);
  return outputOf(restored, `Group ${teamId} is restored with ${token}. To undo it: ${undo}`);
}

async function purge(task: Task): Promise<Output> {
  const deleted = await findDeleted(task);
  if (!deleted) {
    const { teamId } = await findExisting(task);
    throw new CommandError(`Group ${teamId} is not deleted. Delete it first: ${commandLine(task, `delete ${teamId}`)}`);
  }
  const { teamId } = deleted;
  if (!task.values.yes) throw unconfirmed(task, "purge", deleted);
  await task.client.purge({ teamId });
  return { body: { success: 1 }, text: `Group ${teamId} is purged. This cannot be undone.` };
}

/** The group that exists with the name in the arguments, or else the deleted one. */
async function findAny(task: Task): Promise<ListedGroup> {
  const name = nameOf(task);
  return (
    (await findByName(task.client, name)) ??
    (await findDeletedByName(task.client, name)) ??
    Promise.reject(missing(name))
  );
}

async function findExisting(task: Task): Promise<ListedGroup> {
  const name = nameOf(task);
  return (await findByName(task.client, name)) ?? Promise.reject(missing(name));
}

const findDeleted = (task: Task): Promise<ListedGroup | undefined> => findDeletedByName(task.client, nameOf(task));

/** The group that exists. */
async function findByName(client: EnvironmentClient, name: Name): Promise<ListedGroup | undefined> {
  if ("teamId" in name) return foundOrNot(client.get(name));
  const { groups } = await client.listPage({ userGroupId: name.userGroupId });
  return groups[0];
}

/** The deleted group. Several may have had one id. */
async function findDeletedByName(client: EnvironmentClient, name: Name): Promise<ListedGroup | undefined> {
  if ("teamId" in name) return foundOrNot(client.get({ ...name, state: "deleted" }));
  const found: ListedGroup[] = [];
  for await (const group of client.list({ state: "deleted", pageSize: GROUPS_PER_PAGE }))
    if (group.userGroupId === name.userGroupId) found.push(group);
  if (found.length > 1)
    throw new CommandError(
      `Several deleted groups had this id. Name one by its number: ${found.map(({ teamId }) => teamId).join(", ")}.`,
    );
  return found[0];
}

const hasCode = (error: unknown, code: string) => error instanceof UserGroupServiceError && error.code === code;

/** The group, or `undefined` if there is none. */
const foundOrNot = (call: Promise<NumberedGroup>): Promise<NumberedGroup | undefined> =>
  call.catch((error: unknown) => {
    if (hasCode(error, "user_group_not_found")) return undefined;
    throw error;
  });

/** The name of the group in the arguments. */
function nameOf({ number, values: { id } }: Task): Name {
  if ((number === undefined) === (id === undefined))
    throw new CommandError("Name one group: by its number, as list shows it, or with --id.");
  if (id !== undefined) return { userGroupId: id };
  const teamId = itemNumber(number ?? "");
  if (teamId === undefined)
    throw new CommandError("Give the number of the group as a positive whole number, or its id with --id.");
  return { teamId };
}

const missing = (name: Name): CommandError =>
  new CommandError(
    "teamId" in name
      ? `There is no group ${name.teamId} in this environment. List the groups, and those with --state deleted.`
      : `There is no group with the id ${quoted(name.userGroupId)} in this environment. Ids are case-sensitive: list the groups.`,
  );

/** The error that shows which group a command would delete, and the command that does it. */
function unconfirmed(
  task: Task,
  command: "delete" | "purge",
  { teamId, userGroupId, name }: ListedGroup,
): CommandError {
  const group = `group ${teamId}, ${quoted(userGroupId)}, named ${quoted(name)}`;
  const line = commandLine(task, `${command} ${teamId} --yes`);
  return new CommandError(`This would ${command} ${group}. Nothing was changed. To do it: ${line}`);
}

const commandLine = ({ where }: Task, command: string): string => `npm run groups -- ${command}${where}`;

function stateOf(text: string | undefined): GroupState | undefined {
  if (text === undefined || text === "active" || text === "suspended" || text === "deleted") return text;
  throw new CommandError("Give --state as active, suspended or deleted.");
}

const outputOf = (group: ListedGroup, text: string): Output => ({
  body: { success: 1, user_group: toWireGroup(group) },
  text: `${tableOfGroups([group])}\n\n${text}`,
});

/** A group with the names of a list on the wire. */
function toWireGroup({ teamId, userGroupId, ...group }: ListedGroup): Record<string, unknown> {
  const { etag: _, ...fields } = toWire({ teamId, providedId: userGroupId, ...group });
  return fields;
}

function tableOfGroups(groups: readonly ListedGroup[]): string {
  const ofDeleted = groups.some(({ state }) => state === "deleted") ? ["deleted_at", "purge_at"] : [];
  const fields = ["team_id", "provided_id", "name", "state", "created_at", "updated_at", ...ofDeleted];
  return tableOfItems(fields, groups.map(toWireGroup));
}
