/** `ug restore`: restores backups into empty environments. */
import type { Command } from "commander";
import { CommandError } from "../../../common/command-error.ts";
import { readFile } from "../backup/files.ts";
import { backupAt } from "../backup/folder.ts";
import { type Admin, adminOf, nameOf, type Place, type RestoreOptions, sendPage } from "../backup/service-pages.ts";
import { action, announce, serviceCommand } from "../command.ts";
import { Progress } from "../groups/progress.ts";
import { accessToDeployment, type Credential, type ServiceOptions } from "../service-access.ts";

type Options = ServiceOptions & RestoreOptions & { identityFile?: string };

export const command = (): Command =>
  serviceCommand("restore", {
    summary: "restore a backup into its environment, which must be empty",
    examples: {
      "ug restore acme.ndjson": "one environment, or the registry: the file says which",
      "ug restore /var/backups/user-groups": "a whole deployment, the registry first, of the newest folder in this one",
      "ug restore acme.ndjson --rotate-tokens --revoke-keys": "after a leak: no credential of the backup works",
      "ug restore acme.ndjson --unsigned": "a backup of 1.0, or one whose signing key is gone, if you trust the file",
    },
    notes:
      "With the same SIGNING_KEYS, every token, key and session of the backup works again. Groups that were purged since stay purged. After\n" +
      "an interruption, run the same command again. An empty registry has no operators: set OPERATOR_TOKEN.",
  })
    .argument("<path>", "a file, a folder that ug backup --all has created, or the parent of such folders")
    .option("--rotate-tokens", "give every group a new token, and end all viewer sessions")
    .option("--revoke-keys", "revoke all keys of the backup")
    .option("--unsigned", "check no signature; the event of the restore records it")
    .option("--identity-file <file>", "the private key of age, for an encrypted backup")
    .action(
      action(async (options: Options, path: string) => {
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
      }),
    );

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
  const progress = new Progress(0);
  let place: Place;
  let isDone: boolean | undefined;
  let last = "";
  try {
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
  } finally {
    progress.stop();
  }
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
