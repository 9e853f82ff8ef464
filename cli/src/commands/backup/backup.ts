/** `ug backup`: backs up an environment, the registry, or all; proves a backup, and says what it would bring back. */
import { type Command, Option } from "commander";
import { CommandError, UsageError } from "../../../../common/command-error.ts";
import { encrypterFor, STANDARD_OUTPUT, writeFile } from "../../backup/files.ts";
import { beginFolder, environmentFilesIn, fileOf, prune } from "../../backup/folder.ts";
import {
  type Admin,
  adminFor,
  environmentsOf,
  nameOf,
  type Place,
  pagesOf,
  parsed,
} from "../../backup/service-pages.ts";
import { action, type Output, serviceCommand } from "../../command.ts";
import { environmentQueryOf } from "../../environment-options.ts";
import { Progress } from "../../groups/progress.ts";
import { collected, wholeNumberReader } from "../../option-values.ts";
import type { ServiceOptions } from "../../service-access.ts";
import { compareCommand, keygenCommand, verifyCommand } from "./examine.ts";

const KEEP_MAX = 10_000;

type TakeOptions = ServiceOptions & { registry?: boolean; all?: string; keep?: number; recipient: string[] };

export const command = (): Command =>
  serviceCommand("backup", {
    summary: "back up environments and the registry, and verify backups",
    examples: {
      "ug backup acme.ndjson --workspace acme --environment Customer": "one environment",
      "ug backup registry.ndjson --registry": "operators, environments and numbers of purged groups",
      "ug backup --all /var/backups/user-groups --keep 30": "everything, in a new folder; keep the newest 30",
      "ug backup acme.ndjson.age --workspace acme --environment Customer --recipient age1…": "encrypted",
      "ug backup - --registry | gzip > registry.ndjson.gz": "to standard output",
      "ug backup verify acme.ndjson": "restore it into a service of its own, and compare",
      "ug backup compare acme.ndjson": "what a restore would bring back",
      "ug backup keygen backup.key": "create a key of age, and print its public key for --recipient",
    },
    notes:
      "The backup has the state at its end; the service accepts writes meanwhile. The command needs the key of an operator with the role backup\n" +
      "or admin. A backup has names, properties, mappings, nonces of tokens and hashes of keys, but no credential. Together with SIGNING_KEYS it\n" +
      "gives group tokens: keep the two in different places.",
    inEnvironment: true,
  })
    // The options of the commands below it are theirs.
    .enablePositionalOptions()
    .addCommand(verifyCommand())
    .addCommand(compareCommand())
    .addCommand(keygenCommand())
    .argument("[file]", "the file to write; - is standard output")
    .option("--registry", "back up the registry, in place of an environment")
    .option("--all <folder>", "back up the registry and each environment into a new folder within this folder")
    .option(
      "--keep <n>",
      "with --all: how many backups to keep; older ones are deleted",
      wholeNumberReader("keep", KEEP_MAX),
    )
    .addOption(
      new Option("--recipient <key>", "encrypt for this public key of age; may be repeated")
        .argParser(collected)
        .default([], "none"),
    )
    .action(
      action(async (options: TakeOptions, file?: string) => {
        const output = await take(adminFor(options), file, options);
        if (file !== STANDARD_OUTPUT) return output;
        // Standard output is the backup.
        console.error(output.text);
        return undefined;
      }),
    );

async function take(admin: Admin, file: string | undefined, options: TakeOptions): Promise<Output> {
  const { all, keep, json } = options;
  if (keep !== undefined && all === undefined) throw new UsageError("--keep belongs to --all.");
  if (file === STANDARD_OUTPUT && json) throw new UsageError("Standard output is the backup: leave out --json.");
  if (file !== undefined && all === undefined) return takeOne(admin, file, options);
  if (file === undefined && all !== undefined) return takeAll(admin, all, options);
  throw new UsageError("Give a file, or --all with a folder.");
}

async function takeOne(admin: Admin, file: string, options: TakeOptions): Promise<Output> {
  const { registry, workspace, recipient } = options;
  if (registry && workspace !== undefined) throw new UsageError("Give --registry, or --workspace and --environment.");
  const place = registry ? undefined : environmentQueryOf(options);
  const backup = await write(admin, place, file, recipient);
  const target = file === STANDARD_OUTPUT ? "standard output" : file;
  return { body: { success: 1, backups: [backup] }, text: `Backed up ${nameOf(place)} to ${target}.` };
}

async function takeAll(admin: Admin, all: string, { keep, recipient }: TakeOptions): Promise<Output> {
  const { partial, finish, abandon } = beginFolder(all, new Date());
  const { backups, leftOut, isWhole } = await takeEach(admin, all, (place) =>
    write(admin, place, `${partial}/${fileOf(place, recipient.length > 0)}`, recipient),
  );
  if (backups.length === 0) {
    abandon();
    throw new CommandError("Nothing could be backed up. No older backup was deleted.");
  }
  const folder = finish();
  if (!isWhole) process.exitCode = 1;
  const { deleted, later } = keep === undefined || !isWhole ? { deleted: 0, later: [] } : prune(all, keep, folder);
  if (later.length > 0)
    console.error(
      `Later than this backup: ${later.join(", ")}. The clock is wrong now, or was wrong then. --keep has neither counted nor deleted them.`,
    );
  const listed = backups.map(({ file, ...each }) => ({ ...each, file: file.replace(partial, folder) }));
  const count = backups.filter(({ of }) => of !== nameOf(undefined)).length;
  const what =
    count === backups.length
      ? `${count} environments, without the registry,`
      : `the registry and ${count} environments`;
  const text = `Backed up ${what} to ${folder}.`;
  return {
    body: { success: isWhole ? 1 : 0, folder, backups: listed, deleted, ...(!isWhole && { left_out: leftOut }) },
    text: deleted > 0 ? `${text} Deleted ${deleted} older ones.` : text,
  };
}

/** A backup: its file, what it is of, and the numbers of its footer. */
type Backup = { file: string; of: string } & Record<string, unknown>;

/** Says why something is left out of a backup. */
type Note = (what: string, reason: string) => void;

/**
 * Writes the backup of each place. It goes on past those that the service refuses to back up, and names them. `isWhole` says whether no
 * place is missing that has content, or had some in an older backup.
 */
async function takeEach(admin: Admin, folder: string, writeOne: (place: Place) => Promise<Backup>) {
  const backups: Backup[] = [];
  const leftOut: { of: string; code: string }[] = [];
  let isWhole = true;
  const note: Note = (what, reason) => {
    isWhole &&= reason === EMPTY;
    console.error(`${what} is left out: ${reason}`);
  };
  const takeFrom = async (place: Place) => {
    try {
      backups.push(await writeOne(place));
    } catch (error) {
      const refusal = refusalOf(error);
      leftOut.push({ of: nameOf(place), code: refusal.code });
      note(nameOf(place), reasonOf(refusal, place && newestFileOf(place, folder)));
    }
  };
  for await (const place of placesOf(admin, folder, note)) await takeFrom(place);
  // The registry comes last: it then knows all that was purged before, and each environment that has a file.
  await takeFrom(undefined);
  return { backups, leftOut, isWhole };
}

/** The environments of the deployment; if its registry cannot list them, those of the older backups. */
async function* placesOf(admin: Admin, folder: string, note: Note): AsyncGenerator<Place, void, undefined> {
  const seen = new Set<string>();
  try {
    for await (const place of environmentsOf(admin)) {
      seen.add(nameOf(place));
      yield place;
    }
  } catch (error) {
    note("The list of environments", refusalOf(error).message);
    for (const { place } of environmentFilesIn(folder)) {
      if (!seen.has(nameOf(place))) yield place;
      seen.add(nameOf(place));
    }
  }
}

/** Why a place is left out, of which `newest` is the newest backup. */
function reasonOf({ code, message }: CommandError, newest: string | undefined): string {
  const reason = code === "environment_not_found" && newest ? LOST : (LEFT_OUT[code] ?? `${message} ${NOT_DELETED}`);
  return newest === undefined ? reason : `${reason} Its newest backup is ${newest}.`;
}

const newestFileOf = (place: Place, folder: string): string | undefined =>
  environmentFilesIn(folder).find((each) => nameOf(each.place) === nameOf(place))?.file;

/** The refusal of one place. @throws any other error, which all places share, such as a disk without space or a revoked key. */
function refusalOf(error: unknown): CommandError {
  if (error instanceof CommandError && !SHARED.includes(error.code)) return error;
  throw error;
}

const SHARED = [
  ...["failed", "wrong_usage", "unreachable", "not_the_service", "service_not_configured"],
  ...["unauthenticated", "credential_revoked", "credential_expired", "insufficient_access"],
];

const NOT_DELETED = "So this backup lacks it, and no older one is deleted.";
// A restore or a first key that has failed leaves an empty one.
const EMPTY = "it has no keys and no groups, or was erased meanwhile.";
const LOST = `it has no keys and no groups, although it had some: its database may be missing. ${NOT_DELETED} If it should be empty, run ug erase.`;

const LEFT_OUT: Record<string, string> = {
  environment_not_found: EMPTY,
  environment_restoring: `a backup is being restored there. ${NOT_DELETED}`,
};

async function write(admin: Admin, place: Place, file: string, recipients: string[]): Promise<Backup> {
  using progress = new Progress(0);
  let counts: Record<string, unknown> = {};
  const noted = async function* () {
    let lines = 0;
    for await (const page of pagesOf(admin, place)) {
      lines += page.split("\n").length - 2;
      progress.update(lines, `${nameOf(place)}: ${lines} lines`);
      const [, footer = ""] = /\n(\{"kind":"footer".*\})\n/.exec(page) ?? [];
      const { kind: _, ...numbers } = parsed(footer) ?? {};
      counts = numbers;
      yield page;
    }
  };
  await writeFile(file, noted(), encrypterFor(recipients));
  return { ...counts, file, of: nameOf(place) };
}
