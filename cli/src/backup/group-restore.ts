/** Brings the content of one customer back from a backup, by the calls that change a group. */
import type { EnvironmentClient, GroupFields, NumberedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../common/content.ts";
import { type Output, requireYes } from "../command.ts";
import { ownOf } from "../groups/files/group-line.ts";
import { findById, findByNumber } from "../groups/find-group.ts";
import { onStopSignal } from "../groups/stop-signals.ts";
import { described, outputOf } from "../groups/task.ts";
import { itemNumber } from "../option-values.ts";
import { accessToEnvironment, hasCode, type ServiceOptions, withApiKey } from "../service-access.ts";
import { capitalized, quoted } from "../support/printable.ts";
import { tableOf } from "../support/table.ts";
import { BrokenFile, readFile } from "./files.ts";
import { backupAt } from "./folder.ts";
import { lastLineOf, nameOf, type Place, parsed } from "./service-pages.ts";

export type GroupOptions = ServiceOptions & { group: string; newId?: string; identityFile?: string };

/** The group that a restore makes: its id and its other content, and whether it is suspended if it has to be created. */
type Wanted = { userGroupId: string; fields: GroupFields; suspended: boolean };

/** What has happened to the group, and the token of one that was created, if the credential may see it. */
type Written = { group: NumberedGroup; token?: string | undefined };

export async function restoreGroup(path: string, options: GroupOptions): Promise<Output> {
  const { workspace, environment } = options;
  const place = workspace !== undefined && environment !== undefined ? { workspace, environment } : undefined;
  const found = await groupInBackup(path, { ...options, id: options.group, place });
  const stopping = new AbortController();
  const there = { ...options, ...found.place };
  const { client, explained } = accessToEnvironment(there, stopping.signal);
  try {
    await requireSameEnvironment(client, found);
    return await new GroupRestore({ client, found, options: there, stopping }).run();
  } catch (error) {
    throw explained(error);
  }
}

/** An API key acts in its own environment, where another customer may have the same id and number. */
async function requireSameEnvironment(client: EnvironmentClient, { place }: BackedUpGroup): Promise<void> {
  if (!("whoami" in client)) return;
  const { workspace, environment } = await withApiKey(client).whoami();
  const own = nameOf({ workspace: workspace ?? "", environment: environment ?? "untagged" });
  if (own !== nameOf(place))
    throw new UsageError(
      `The backup is of ${nameOf(place)}, and the API key of ${own}. Give a key of the same environment.`,
    );
}

type Parts = { client: EnvironmentClient; found: BackedUpGroup; options: GroupOptions; stopping: AbortController };

class GroupRestore {
  readonly #parts: Parts;
  readonly #wanted: Wanted;
  readonly #teamId: number;

  constructor(parts: Parts) {
    const { group } = parts.found;
    this.#parts = parts;
    this.#teamId = Number(group.team_id);
    const fields = GROUP_FIELDS.map((field) => [field, group[CONTENT[field].column] ?? null]);
    this.#wanted = {
      userGroupId: parts.options.newId ?? String(group.provided_id),
      fields: Object.fromEntries(fields) as GroupFields,
      suspended: group.suspended_at !== null,
    };
  }

  async run(): Promise<Output> {
    const before = await this.#present();
    await this.#requireFreeId(before);
    const rows = differencesOf(before, this.#wanted);
    if (before && before.state !== "deleted" && rows.length === 0)
      return outputOf(before, `Group ${before.teamId} is as it was in the backup. Nothing was changed.`);
    if (!before && !("whoami" in this.#parts.client))
      throw new CommandError(
        `Group ${this.#teamId} of the backup is gone, and operators create no groups. Give an API key of ${nameOf(this.#parts.found.place)} with the scope groups:write: the group gets a new number and a new token.`,
        { code: "user_group_not_found" },
      );
    if (!this.#parts.options.json) console.error(tableOf([["field", "now", "in the backup"], ...rows]));
    const what = `${this.#how(before)} to the content of ${this.#parts.found.takenAt}`;
    requireYes(this.#parts.options, what, { todo: "To do it, add --yes." });
    const removeHandlers = onStopSignal(() => this.#parts.stopping.abort());
    const { group, token } = await this.#write(before).catch((error: unknown) => this.#afterFailure(error, before));
    removeHandlers();
    return this.#output(group, { before, token });
  }

  #how(before: NumberedGroup | undefined): string {
    if (!before)
      return `create a group ${quoted(this.#wanted.userGroupId)} in place of group ${this.#teamId}, which is gone,`;
    return `${before.state === "deleted" ? "restore" : "change"} ${described(before)}`;
  }

  /** The group of the backup, if it exists or can be restored. In another deployment, another group has its number. */
  async #present(client = this.#parts.client): Promise<NumberedGroup | undefined> {
    const group = await findByNumber(client, this.#teamId);
    return group?.createdAt === this.#parts.found.group.created_at ? group : undefined;
  }

  async #requireFreeId(before: NumberedGroup | undefined): Promise<void> {
    const { userGroupId } = this.#wanted;
    const holder = await findById(this.#parts.client, userGroupId);
    if (!holder || holder.teamId === before?.teamId) return;
    throw new CommandError(
      `${capitalized(described(holder))} has this id now. Give the restored one an id of its own with --new-id, or first rename or delete the other one. Nothing was changed.`,
      { code: "user_group_id_taken" },
    );
  }

  /** Writes what is missing. All content is one call, which succeeds as a whole or not at all. */
  async #write(before: NumberedGroup | undefined): Promise<Written> {
    const { userGroupId, fields, suspended } = this.#wanted;
    const { reason } = this.#parts.options;
    if (!before) {
      const { created, group } = await withApiKey(this.#parts.client).ensure({ userGroupId, ...fields });
      if (!created) throw new CommandError("Somebody has just created a group with this id, which was not changed.");
      const { teamId } = group;
      if (suspended) await this.#parts.client.suspendByNumber({ teamId, reason });
      return { group: await this.#parts.client.get({ teamId }), token: group.token };
    }
    const { teamId } = before;
    const newUserGroupId = userGroupId === before.userGroupId ? undefined : userGroupId;
    const isDeleted = before.state === "deleted";
    const present = isDeleted ? await this.#parts.client.restore({ teamId, newUserGroupId, reason }) : before;
    const rename = isDeleted ? {} : { newUserGroupId };
    return {
      group: await this.#parts.client.updateByNumber({ teamId, ifMatch: present.etag, ...fields, ...rename, reason }),
    };
  }

  /** Looks at what a failure has left, also after a signal, which ends only waits. Returns the group if all was written. */
  async #afterFailure(error: unknown, before: NumberedGroup | undefined): Promise<Written> {
    if (error instanceof CommandError) throw error;
    if (hasCode(error, "revision_mismatch")) throw new CommandError(CHANGED, error);
    const { client, explained } = accessToEnvironment(this.#parts.options);
    const failure = explained(error);
    const look = before ? this.#present(client) : findById(client, this.#wanted.userGroupId);
    const now = await look.catch(() => null);
    if (now && now.state !== "deleted" && differencesOf(now, this.#wanted).length === 0) {
      const isWhole = before !== undefined || (now.state === "suspended") === this.#wanted.suspended;
      if (isWhole) return { group: { etag: "", ...now } };
    }
    const cause = failure instanceof CommandError ? `${failure.message} ` : "Stopped. ";
    const details = failure instanceof CommandError ? failure : { code: "stopped" };
    throw new CommandError(cause + leftBy(now, before), details);
  }

  #output(group: NumberedGroup, { before, token }: { before: NumberedGroup | undefined; token: string | undefined }) {
    const stays = group.state === "suspended" ? " It is suspended." : "";
    const { body, text } = outputOf(group, `Group ${group.teamId} is as it was in the backup.${stays}`);
    if (before) return { body, text: `${text} Its token is that of now.` };
    const missing = " It has a new token, which the integrator gets with GET /api/user.";
    if (token === undefined) return { body, text: text + missing };
    return { body: { ...body, token }, text: `${text}\n\nThe new token, shown this once:\n\n${token}` };
  }
}

const CHANGED =
  "Somebody else has changed the group since the difference was shown. This command has changed nothing: run it again.";

type Seen = Pick<NumberedGroup, "state" | "updatedAt"> | undefined | null;

/** What a restore that has failed has left: `now` is `null` if that cannot be seen. */
function leftBy(now: Seen, before: Seen): string {
  if (now === null) return "Whether it was changed is unknown: run the command again, which shows the difference.";
  const isSame = now?.state === before?.state && now?.updatedAt === before?.updatedAt;
  return isSame ? "The group is as it was." : "Only a part was done: run the command again, which does the rest.";
}

/** The fields that differ, each with its JSON now and in the backup; of `mapping` and `properties`, each key. */
function differencesOf(now: (GroupFields & { userGroupId: string }) | undefined, { userGroupId, fields }: Wanted) {
  const pairs: [name: string, now: unknown, wanted: unknown][] = [["user_group_id", now?.userGroupId, userGroupId]];
  for (const field of GROUP_FIELDS) {
    const name = CONTENT[field].column;
    const [present, wanted] = [now?.[field], fields[field]];
    const keys = Object.keys({ ...Object(present), ...Object(wanted) });
    if (CONTENT[field].kind === "text" || keys.length === 0) pairs.push([name, present, wanted]);
    else
      pairs.push(
        ...keys.map((key): [string, unknown, unknown] => [`${name}.${key}`, ownOf(present, key), ownOf(wanted, key)]),
      );
  }
  return pairs
    .map(([name, ...values]) => [name, ...values.map((value) => JSON.stringify(value) ?? "-")])
    .filter(([, present, wanted]) => present !== wanted);
}

type Fields = Record<string, unknown>;

/** A group as a backup has it, in the names of its lines, and the environment and the time of the backup. */
type BackedUpGroup = { group: Fields; place: NonNullable<Place>; takenAt: string };

/** The group to find, by its id or else its number, and the environment, if a folder has several. */
type Sought = { id: string; identityFile?: string | undefined; place?: Place; isNamed: boolean };

/** The group at the end of the backup at a path. @throws CommandError if it has none, or several */
async function groupInBackup(path: string, sought: Sought): Promise<BackedUpGroup> {
  const { files, folder } = backupAt(path);
  const chosen = folder !== undefined || sought.isNamed ? sought.place : undefined;
  const places: string[] = [];
  const found: BackedUpGroup[] = [];
  for (const file of files) {
    const { place, takenAt, group } = await groupIn(file, { ...sought, place: chosen });
    if (place) places.push(nameOf(place));
    if (place && group) found.push({ group, place, takenAt });
  }
  if (places.length === 0)
    throw new UsageError(`${path} has no backup of ${chosen ? nameOf(chosen) : "an environment"}.`);
  return onlyOf(found, quoted(sought.id), places);
}

/** @throws CommandError that says what to do, unless there is exactly one group, which existed at the time of the backup */
function onlyOf(found: readonly BackedUpGroup[], named: string, places: readonly string[]): BackedUpGroup {
  const [only, another] = found;
  const code = "user_group_not_found";
  if (!only)
    throw new CommandError(
      `The backup of ${places.join(", ")} has no group ${named}. Ids are case-sensitive, and are those of that time.`,
      { code },
    );
  if (another)
    throw new UsageError(
      `Groups ${named} are in ${found.map(({ place }) => nameOf(place)).join(", ")}. Name one environment with --workspace and --environment.`,
    );
  if (only.group.deleted_at === null) return only;
  throw new CommandError(`Group ${named} was deleted before the backup was taken. Take an older backup.`, { code });
}

/** The group of a file that has the id, or else the number. Of a file of another environment, only the header is read. */
async function groupIn(file: string, { id, identityFile, place: chosen }: Omit<Sought, "isNamed">) {
  const groups = new SoughtGroups(id);
  let place: Place;
  let last = "";
  for await (const read of readFile(file, identityFile)) {
    place = read.place;
    if (!place || (chosen && nameOf(place) !== nameOf(chosen)))
      return { place: undefined, takenAt: "", group: undefined };
    last = read.page;
    for (const line of last.split("\n")) groups.add(parsed(line) ?? {});
  }
  if (lastLineOf(last)?.next_cursor !== null) throw new BrokenFile(`${file} ends before its last page. Take another.`);
  return { place, takenAt: groups.takenAt, group: groups.best() };
}

/** The last lines of the groups that may be the one to find, so that memory holds no others. */
class SoughtGroups {
  readonly #id: string;
  readonly #number: number | undefined;
  readonly #groups = new Map<unknown, Fields>();
  takenAt = "";

  constructor(id: string) {
    this.#id = id;
    this.#number = itemNumber(id);
  }

  add(line: Fields): void {
    const { kind, type, team_id: teamId, provided_id: providedId } = line;
    if (kind === "header") this.takenAt = String(line.taken_at);
    if (kind === "event" && type === "user_group.purged") this.#groups.delete(teamId);
    const isSought = providedId === this.#id || teamId === this.#number || this.#groups.has(teamId);
    if (kind === "user_group" && isSought) this.#groups.set(teamId, line);
  }

  /** The one that exists with the id, or else with the number, or else a deleted one. */
  best(): Fields | undefined {
    const groups = [...this.#groups.values()].filter((group) => group.provided_id === this.#id);
    return groups.find((group) => group.deleted_at === null) ?? this.#groups.get(this.#number) ?? groups[0];
  }
}
