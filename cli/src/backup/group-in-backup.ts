/** Finds one group in a backup. */
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { itemNumber } from "../option-values.ts";
import { quoted } from "../support/printable.ts";
import { BrokenFile, readFile } from "./files.ts";
import { backupAt } from "./folder.ts";
import { lastLineOf, nameOf, type Place, parsed } from "./service-pages.ts";

type Fields = Record<string, unknown>;

/** A group as a backup has it, in the names of its lines, and the environment and the time of the backup. */
export type BackedUpGroup = { group: Fields; place: NonNullable<Place>; takenAt: string };

/** The group to find, by its id or else its number, and the environment, if a folder has several. */
export type Sought = { id: string; identityFile?: string | undefined; place?: Place; isNamed: boolean };

/** The group at the end of the backup at a path. @throws CommandError if it has none, or several */
export async function groupInBackup(path: string, sought: Sought): Promise<BackedUpGroup> {
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
