/** `ug backup verify`, `compare` and `keygen`: what examines and decrypts backups. */
import { writeFileSync } from "node:fs";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import type { Command } from "commander";
import { CommandError } from "../../../../common/command-error.ts";
import { backupAt } from "../../backup/backup-at.ts";
import { compare, type Revived } from "../../backup/compare.ts";
import { adminOf, nameOf } from "../../backup/service-pages.ts";
import { type Verdict, verify } from "../../backup/verify.ts";
import { connectionOf, printOutput, type ServiceOptions, serviceCommand } from "../../command.ts";
import { accessToDeployment } from "../../service-access.ts";
import { systemErrorCode } from "../../support/output.ts";
import { quoted } from "../../support/printable.ts";
import { tableOfItems } from "../../support/table.ts";

const EXIT = { proven: 0, unknown: 3, broken: 1 } as const;
/** From the best to the worst. */
const STATES = ["proven", "unknown", "broken"] as const;

const PATH = [
  "<file>",
  "a file, a folder that ug backup --all has created, or the parent of such folders, for the newest",
] as const;
const IDENTITY = ["--identity-file <file>", "the private key of age, for an encrypted backup"] as const;

type Signature = "checked" | "not_checked";

export const verifyCommand = (): Command =>
  serviceCommand("verify", {
    summary: "restore a backup into a temporary service, and compare",
    examples: [
      ["ug backup verify acme.ndjson", "exit code 0 proven, 1 broken, 3 could not tell"],
      ["ug backup verify acme.ndjson --env-file .dev.vars", "check the signature, too"],
      ["ug backup verify /var/backups/user-groups", "each file of the newest folder in this folder"],
    ],
    notes:
      "Without --env-file it cannot check the signature, and proves only that the file is complete. It does not call your service, and needs no\ncredential. It needs disk space for the backup in the folder for temporary files.",
  })
    .argument(...PATH)
    .option(...IDENTITY)
    .option("--env-file <file>", "the file of the service's secrets, to check the signature with SIGNING_KEYS")
    .action(async function (this: Command) {
      const options = this.opts<ServiceOptions & { identityFile?: string; envFile?: string }>();
      const [path] = this.processedArgs as [string];
      const signature: Signature = options.envFile === undefined ? "not_checked" : "checked";
      const { files, folder } = foundAt(path);
      const verdicts: (Verdict & { file: string })[] = [];
      for (const file of files) verdicts.push({ file, ...(await verify(file, options)) });
      const [first] = verdicts;
      const state = STATES[Math.max(...verdicts.map((each) => STATES.indexOf(each.state)))] ?? "unknown";
      const body =
        folder === undefined && first
          ? bodyOf(first, signature)
          : {
              success: state === "proven" ? 1 : 0,
              ...{ state, folder },
              backups: verdicts.map(({ file, ...verdict }) => ({ file, ...bodyOf(verdict, signature) })),
            };
      const lines = verdicts.map(({ file, ...verdict }) => {
        const sentence = sentenceOf(verdict, signature);
        return folder === undefined ? sentence : `${file}: ${sentence}`;
      });
      await printOutput({ body, text: lines.join("\n") }, options);
      process.exitCode = EXIT[state];
    });

/** The files at a path; the path itself, of which `verify` says what is wrong, if there are none. */
function foundAt(path: string): ReturnType<typeof backupAt> {
  try {
    return backupAt(path);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { files: [path] };
  }
}

const bodyOf = ({ state, reason, counts }: Verdict, signature: Signature): object => ({
  success: state === "proven" ? 1 : 0,
  state,
  ...(reason && { reason }),
  signature,
  counts,
});

function sentenceOf({ state, reason, counts }: Verdict, signature: Signature): string {
  if (state === "broken") return `Broken: ${reason}`;
  if (state === "unknown") return `Could not tell: ${reason}`;
  const found = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  const checked =
    signature === "checked" ? "signature checked" : "signature not checked (give --env-file with SIGNING_KEYS)";
  return `Proven: it was restored, and the restored service has the same: ${found.join(", ")}; ${checked}.`;
}

export const compareCommand = (): Command =>
  serviceCommand("compare", {
    summary: "list what a restore would bring back: keys revoked since, and groups deleted or rotated since",
    examples: [
      ["ug backup compare acme.ndjson", "the environment of the file, in the service"],
      ["ug backup compare /var/backups/user-groups", "all files of the newest folder in this folder"],
    ],
  })
    .argument(...PATH)
    .option(...IDENTITY)
    .action(async function (this: Command) {
      const options = this.opts<ServiceOptions & { identityFile?: string }>();
      const [path] = this.processedArgs as [string];
      const { url, credential } = accessToDeployment(connectionOf(this));
      const admin = adminOf(url, credential.text);
      const { files, folder } = backupAt(path);
      const compared: { of: string; revived: Revived[] }[] = [];
      for (const file of files) {
        const { place, revived } = await compare(admin, file, options.identityFile);
        compared.push({ of: nameOf(place), revived });
      }
      const body = folder === undefined ? { success: 1, ...compared[0] } : { success: 1, folder, backups: compared };
      await printOutput({ body, text: textOf(compared, folder !== undefined) }, options);
    });

function textOf(compared: readonly { of: string; revived: readonly Revived[] }[], isFolder: boolean): string {
  const rows = compared.flatMap(({ of, revived }) =>
    revived.map(({ name, ...each }) => ({ of, ...each, name: quoted(name) })),
  );
  const what = isFolder ? "the backup" : (compared[0]?.of ?? "");
  if (rows.length === 0) return `A restore of ${what} would bring back nothing that has ended since.`;
  const fields = [...(isFolder ? ["of"] : []), "kind", "id", "name", "now"];
  return `${tableOfItems(fields, rows)}\n\nA restore would bring these back, but not the groups that were purged. With --rotate-tokens and --revoke-keys, none of their credentials works.`;
}

export const keygenCommand = (): Command =>
  serviceCommand("keygen", {
    summary: "create a key of age, and print its public key for ug backup --recipient",
    examples: [
      ["ug backup keygen backup.key", "do not keep this file on the service's machine: it decrypts the backups"],
    ],
    notes: "It calls no service. The program age-keygen makes such keys, too.",
  })
    .argument("<file>", "the file to write, which must not exist")
    .action(async function (this: Command) {
      const [file] = this.processedArgs as [string];
      const identity = await generateX25519Identity();
      const recipient = await identityToRecipient(identity);
      try {
        writeFileSync(file, `# public key: ${recipient}\n${identity}\n`, { flag: "wx", mode: 0o600 });
      } catch (error) {
        throw new CommandError(`${file} cannot be written: ${systemErrorCode(error)}.`);
      }
      await printOutput({ body: { success: 1, recipient, file }, text: recipient }, this.opts());
    });
