/** `ug restore`: restores backups into empty environments. */
import type { Command } from "commander";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { readFile } from "../backup/files.ts";
import { backupAt } from "../backup/folder.ts";
import { type Admin, adminOf, nameOf, type Place, type RestoreOptions, sendPage } from "../backup/service-pages.ts";
import { action, announce, type Output, serviceCommand } from "../command.ts";
import { Progress } from "../groups/progress.ts";
import { accessToDeployment, type Credential, type ServiceOptions } from "../service-access.ts";

type Options = ServiceOptions & RestoreOptions & { identityFile?: string; group?: string; newId?: string };

export const command = (): Command =>
  serviceCommand("restore", {
    summary: "restore a backup into its environment, which must be empty, or one group of it",
    examples: {
      "ug restore acme.ndjson": "one environment, or the registry: the file says which",
      "ug restore /var/backups/user-groups": "a whole deployment, the registry first, of the newest folder in this one",
      "ug restore acme.ndjson --rotate-tokens --revoke-keys": "after a leak: no credential of the backup works",
      "ug restore acme.ndjson --group wonka": "the content of one group: shows the difference, and asks",
      "ug restore /var/backups/user-groups --group wonka --workspace acme --environment Customer --yes":
        "the same, of the newest backup of an environment",
      "ug restore acme.ndjson --unsigned": "a backup of 1.0, or one whose signing key is gone, if you trust the file",
    },
    notes:
      "With the same SIGNING_KEYS, every token, key and session of the backup works again. Groups that were purged since stay purged. After\n" +
      "an interruption, run the same command again. An empty registry has no operators: set OPERATOR_TOKEN.\n" +
      "With --group, only the id, the name, the mapping and the properties of one group change: it is restored if it is deleted, and\n" +
      "created with a new token if it was purged, which takes an API key. It takes the role support, or admin if the id\n" +
      "changes, and checks no signature.",
    inEnvironment: true,
    change: "undoable",
  })
    .argument("<path>", "a file, a folder that ug backup --all has created, or the parent of such folders")
    .option("--group <id>", "bring back the content of this group alone, by its user_group_id then, or else its number")
    .option("--new-id <id>", "with --group: under this user_group_id")
    .option("--rotate-tokens", "give every group a new token, and end all viewer sessions")
    .option("--revoke-keys", "revoke all keys of the backup")
    .option("--unsigned", "check no signature; the event of the restore records it")
    .option("--identity-file <file>", "the private key of age, for an encrypted backup")
    .action(
      action(async (options: Options, path: string) => {
        const { group } = options;
        const wrong = (group === undefined ? OF_ONE : OF_ALL).filter((name) => options[name]);
        if (wrong.length > 0)
          throw new UsageError(
            `${wrong.map(optionOf).join(", ")}: ${group === undefined ? "only with" : "not with"} --group.`,
          );
        if (group === undefined) return restoreAll(path, options);
        const { restoreGroup } = await import("../backup/group-restore.ts");
        return restoreGroup(path, { ...options, group });
      }),
    );

/** The options of the restore of one group, and those of all others. A file names its environment itself. */
const OF_ONE = ["newId", "reason", "isNamed"] as const;
const OF_ALL = ["rotateTokens", "revokeKeys", "unsigned"] as const;
const optionOf = (name: (typeof OF_ONE | typeof OF_ALL)[number]): string =>
  name === "isNamed"
    ? "--workspace and --environment"
    : `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

async function restoreAll(path: string, options: Options): Promise<Output> {
  const { url, credential } = accessToDeployment(options);
  const admin = adminOf(url, credential.text);
  announce(options, `restore ${path}`);
  const restored: string[] = [];
  const unchanged: string[] = [];
  for (const file of backupAt(path).files) {
    const { place, wasThere } = await restoreFile(admin, file, options).catch((error: unknown) => {
      throw explained(error, url, credential);
    });
    (wasThere ? unchanged : restored).push(nameOf(place));
  }
  const sentences = [
    ...(restored.length > 0 ? [`Restored ${restored.join(", ")}.`] : []),
    ...(unchanged.length > 0
      ? [`Restored before, and unchanged since: ${unchanged.join(", ")}. It was left as it is.`]
      : []),
  ];
  return { body: { success: 1, restored, unchanged }, text: sentences.join("\n") };
}

/** Explains that the service does not know the operator's key, for example because a deployment is restored into a new one. */
function explained(error: unknown, url: URL, { text, source }: Credential): unknown {
  const code = "unauthenticated";
  if (!(error instanceof CommandError) || error.code !== code || !text.startsWith("ugo_")) return error;
  return new CommandError(
    `The service at ${url.origin} does not know the operator's key in ${source}. A service without operators, into which the registry is restored, knows only its bootstrap token: unset OPERATOR_KEY and set OPERATOR_TOKEN, or give the token with --key-file.`,
    { code },
  );
}

async function restoreFile(admin: Admin, file: string, options: Options): Promise<{ place: Place; wasThere: boolean }> {
  using progress = new Progress(0);
  let place: Place;
  let isDone: boolean | undefined;
  let last = "";
  for await (const { page, number, ...rest } of readFile(file, options.identityFile)) {
    place = rest.place;
    last = page;
    if (number === 1) isDone = await sendIfEmpty(admin, place, page, options);
    else if (isDone !== undefined) isDone = await sendPage(admin, place, page, options);
    progress.update(number, `${nameOf(place)}: ${number} pages`);
  }
  // If an environment has not changed since a complete restore, it accepts the last page of that backup again, and no other page.
  const wasThere = isDone === undefined;
  if (wasThere) isDone = await sendIfEmpty(admin, place, last, options);
  if (isDone) return { place, wasThere };
  if (wasThere) throw notEmpty(place);
  throw new CommandError(
    `${file} ends before its last page. ${nameOf(place)} is restoring until you restore a whole one.`,
  );
}

function notEmpty(place: Place): CommandError {
  const what = place
    ? `${nameOf(place)} has keys or groups. Erase it first: ug erase --workspace ${place.workspace} --environment ${place.environment}`
    : "The registry has operators or environments. Restore it into a deployment that is new";
  return new CommandError(`${what}. Nothing was changed.`, { code: "environment_not_empty" });
}

/** Sends a page as `sendPage` does; `undefined` if its environment is not empty. */
const sendIfEmpty = (...page: Parameters<typeof sendPage>): Promise<boolean | undefined> =>
  sendPage(...page).catch((error: unknown) => {
    if (error instanceof CommandError && error.code === "environment_not_empty") return undefined;
    throw error;
  });
