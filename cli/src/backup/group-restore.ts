/** Brings the content of one customer back from a backup, by the calls that change a group. */
import type { EnvironmentClient, GroupFields, NumberedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../common/content.ts";
import { type Output, requireYes } from "../command.ts";
import { ownOf } from "../groups/files/group-line.ts";
import { findById, findByNumber } from "../groups/find-group.ts";
import { onStopSignal } from "../groups/stop-signals.ts";
import { described, outputOf } from "../groups/task.ts";
import { accessToEnvironment, hasCode, type ServiceOptions, withApiKey } from "../service-access.ts";
import { capitalized, quoted } from "../support/printable.ts";
import { tableOf } from "../support/table.ts";
import { type BackedUpGroup, groupInBackup } from "./group-in-backup.ts";
import { nameOf } from "./service-pages.ts";

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
  readonly #client: EnvironmentClient;
  readonly #found: BackedUpGroup;
  readonly #options: GroupOptions;
  readonly #stopping: AbortController;
  readonly #wanted: Wanted;
  readonly #teamId: number;

  constructor({ client, found, options, stopping }: Parts) {
    this.#client = client;
    this.#found = found;
    this.#options = options;
    this.#stopping = stopping;
    this.#teamId = Number(found.group.team_id);
    const fields = GROUP_FIELDS.map((field) => [field, found.group[CONTENT[field].column] ?? null]);
    this.#wanted = {
      userGroupId: options.newId ?? String(found.group.provided_id),
      fields: Object.fromEntries(fields) as GroupFields,
      suspended: found.group.suspended_at !== null,
    };
  }

  async run(): Promise<Output> {
    const before = await this.#present();
    await this.#requireFreeId(before);
    const rows = differencesOf(before, this.#wanted);
    if (before && before.state !== "deleted" && rows.length === 0)
      return outputOf(before, `Group ${before.teamId} is as it was in the backup. Nothing was changed.`);
    if (!before && !("whoami" in this.#client))
      throw new CommandError(
        `Group ${this.#teamId} of the backup is gone, and operators create no groups. Give an API key of ${nameOf(this.#found.place)} with the scope groups:write: the group gets a new number and a new token.`,
        { code: "user_group_not_found" },
      );
    if (!this.#options.json) console.error(tableOf([["field", "now", "in the backup"], ...rows]));
    const what = `${this.#how(before)} to the content of ${this.#found.takenAt}`;
    requireYes(this.#options, what, { todo: "To do it, add --yes." });
    const removeHandlers = onStopSignal(() => this.#stopping.abort());
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
  async #present(client = this.#client): Promise<NumberedGroup | undefined> {
    const group = await findByNumber(client, this.#teamId);
    return group?.createdAt === this.#found.group.created_at ? group : undefined;
  }

  async #requireFreeId(before: NumberedGroup | undefined): Promise<void> {
    const { userGroupId } = this.#wanted;
    const holder = await findById(this.#client, userGroupId);
    if (!holder || holder.teamId === before?.teamId) return;
    throw new CommandError(
      `${capitalized(described(holder))} has this id now. Give the restored one an id of its own with --new-id, or first rename or delete the other one. Nothing was changed.`,
      { code: "user_group_id_taken" },
    );
  }

  /** Writes what is missing. All content is one call, which succeeds as a whole or not at all. */
  async #write(before: NumberedGroup | undefined): Promise<Written> {
    const { userGroupId, fields, suspended } = this.#wanted;
    const { reason } = this.#options;
    if (!before) {
      const { created, group } = await withApiKey(this.#client).ensure({ userGroupId, ...fields });
      if (!created) throw new CommandError("Somebody has just created a group with this id, which was not changed.");
      const { teamId } = group;
      if (suspended) await this.#client.suspendByNumber({ teamId, reason });
      return { group: await this.#client.get({ teamId }), token: group.token };
    }
    const { teamId } = before;
    const newUserGroupId = userGroupId === before.userGroupId ? undefined : userGroupId;
    const isDeleted = before.state === "deleted";
    const present = isDeleted ? await this.#client.restore({ teamId, newUserGroupId, reason }) : before;
    const rename = isDeleted ? {} : { newUserGroupId };
    return {
      group: await this.#client.updateByNumber({ teamId, ifMatch: present.etag, ...fields, ...rename, reason }),
    };
  }

  /** Looks at what a failure has left, also after a signal, which ends only waits. Returns the group if all was written. */
  async #afterFailure(error: unknown, before: NumberedGroup | undefined): Promise<Written> {
    if (error instanceof CommandError) throw error;
    if (hasCode(error, "revision_mismatch")) throw new CommandError(CHANGED, error);
    const { client, explained } = accessToEnvironment(this.#options);
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

  #output(
    group: NumberedGroup,
    { before, token }: { before: NumberedGroup | undefined; token: string | undefined },
  ): Output {
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
function differencesOf(
  now: (GroupFields & { userGroupId: string }) | undefined,
  { userGroupId, fields }: Wanted,
): string[][] {
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
