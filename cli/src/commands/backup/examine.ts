/** `ug backup verify`, `compare` and `keygen`: what examines and decrypts backups. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import type { Command } from "commander";
import { CommandError } from "../../../../common/command-error.ts";
import { Contents } from "../../backup/contents.ts";
import { readFile } from "../../backup/files.ts";
import { backupAt } from "../../backup/folder.ts";
import { type Admin, adminFor, nameOf, type Place, pagesOf, parsed } from "../../backup/service-pages.ts";
import { type Verdict, verify } from "../../backup/verify.ts";
import { action, serviceCommand } from "../../command.ts";
import { SECRETS_OF_MACHINE } from "../../release.ts";
import { writePrivateFile } from "../../serve/private-files.ts";
import type { ServiceOptions } from "../../service-access.ts";
import { explainErrors } from "../../support/errors.ts";
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
    examples: {
      "ug backup verify acme.ndjson": "exit code 0 proven, 1 broken, 3 could not tell",
      [`ug backup verify acme.ndjson --env-file ${SECRETS_OF_MACHINE}`]: "check the signature, too",
      "ug backup verify /var/backups/user-groups": "each file of the newest folder in this folder",
    },
    notes:
      "Without --env-file it cannot check the signature, and proves only that the file is complete. It does not call your service, and needs no\ncredential. It needs disk space for the backup in the folder for temporary files.",
  })
    .argument(...PATH)
    .option(...IDENTITY)
    .option("--env-file <file>", "the file of the service's secrets, to check the signature with SIGNING_KEYS")
    .action(
      action(async (options: { identityFile?: string; envFile?: string }, path: string) => {
        const signature: Signature = options.envFile === undefined ? "not_checked" : "checked";
        const { files, folder } = foundAt(path);
        const verdicts: Verdict[] = [];
        for (const file of files) verdicts.push(await verify(file, options));
        const state = STATES[Math.max(...verdicts.map((each) => STATES.indexOf(each.state)))] ?? "unknown";
        process.exitCode = EXIT[state];
        const bodies = verdicts.map((verdict) => bodyOf(verdict, signature));
        const sentences = verdicts.map((verdict) => sentenceOf(verdict, signature));
        if (folder === undefined) return { body: bodies[0] ?? {}, text: sentences.join("\n") };
        const backups = bodies.map((body, index) => ({ file: files[index], ...body }));
        const text = sentences.map((sentence, index) => `${files[index]}: ${sentence}`).join("\n");
        return { body: { success: state === "proven" ? 1 : 0, state, folder, backups }, text };
      }),
    );

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
    examples: {
      "ug backup compare acme.ndjson": "the environment of the file, in the service",
      "ug backup compare /var/backups/user-groups": "all files of the newest folder in this folder",
    },
  })
    .argument(...PATH)
    .option(...IDENTITY)
    .action(
      action(async (options: ServiceOptions & { identityFile?: string }, path: string) => {
        const admin = adminFor(options);
        const { files, folder } = backupAt(path);
        const compared: Compared[] = [];
        for (const file of files) compared.push(await compare(admin, file, options.identityFile));
        const body = folder === undefined ? { success: 1, ...compared[0] } : { success: 1, folder, backups: compared };
        return { body, text: textOf(compared, folder !== undefined) };
      }),
    );

function textOf(compared: readonly Compared[], isFolder: boolean): string {
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
    examples: {
      "ug backup keygen backup.key": "do not keep this file on the service's machine: it decrypts the backups",
    },
    notes: "It calls no service. The program age-keygen makes such keys, too.",
  })
    .argument("<file>", "the file to write, which must not exist")
    .action(
      action(async (_, file: string) => {
        const identity = await generateX25519Identity();
        const recipient = await identityToRecipient(identity);
        const text = `# public key: ${recipient}\n${identity}\n`;
        explainErrors(
          () => writePrivateFile(file, text, "wx"),
          (code) => new CommandError(`${file} cannot be written: ${code}.`),
        );
        return { body: { success: 1, recipient, file }, text: recipient };
      }),
    );

/** Something that a restore would bring back, and what it is now. */
type Revived = {
  kind: "api_key" | "operator" | "user_group" | "environment";
  /** An environment has none. */
  id: number | null;
  name: string;
  now: string;
};

/** What a backup is of, and what a restore of it would bring back. */
type Compared = { of: string; revived: Revived[] };

type Fields = Record<string, unknown>;

async function compare(admin: Admin, file: string, identityFile?: string): Promise<Compared> {
  const folder = mkdtempSync(join(tmpdir(), "ug-compare-"));
  try {
    using before = new Contents(join(folder, "file.sqlite"));
    using present = new Contents(join(folder, "present.sqlite"));
    let place: Place;
    for await (const { page, ...rest } of readFile(file, identityFile)) {
      place = rest.place;
      before.add(page);
    }
    const isErased = await addPresent(present, admin, place);
    const of = nameOf(place);
    const environment: Revived = { kind: "environment", id: null, name: of, now: "gone" };
    return { of, revived: isErased ? [environment] : [...revivedOf(before, present)] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Adds the present keys and groups of the service. Returns whether the environment no longer exists. */
async function addPresent(present: Contents, admin: Admin, place: Place): Promise<boolean> {
  try {
    for await (const page of pagesOf(admin, place)) present.add(page);
    return false;
  } catch (error) {
    if (error instanceof CommandError && error.code === "environment_not_found") return true;
    throw error;
  }
}

function* revivedOf(before: Contents, present: Contents): Generator<Revived, void, undefined> {
  for (const kind of ["api_key", "operator"] as const)
    for (const { id, line } of before.all(kind)) {
      const name = String(fieldsOf(line).name);
      const now = stateOfKey(fieldsOf(line), present.find(kind, id));
      if (now !== undefined) yield { kind, id: Number(id), name, now };
    }
  for (const { id, line } of before.all("user_group")) {
    const name = String(fieldsOf(line).provided_id);
    const now = stateOfGroup(fieldsOf(line), present.find("user_group", id));
    if (now !== undefined) yield { kind: "user_group", id: Number(id), name, now };
  }
}

/** How a key has ended since the backup; `undefined` if a restore would not bring it back. */
function stateOfKey(before: Fields, now: string | undefined): string | undefined {
  if (!isLive(before)) return undefined;
  if (now === undefined) return "gone";
  return isLive(fieldsOf(now)) ? undefined : "revoked";
}

/** What happened to a group since the backup, if a restore would undo it; otherwise `undefined`. */
function stateOfGroup(before: Fields, line: string | undefined): string | undefined {
  if (before.deleted_at !== null) return undefined;
  if (line === undefined) return "purged; it stays so";
  const now = fieldsOf(line);
  if (now.deleted_at !== null) return "deleted";
  if (now.suspended_at !== null && before.suspended_at === null) return "suspended";
  return now.nonce === before.nonce ? undefined : "has another token";
}

const fieldsOf = (line: string): Fields => parsed(line) ?? {};

const isLive = ({ revoked_at: revokedAt, expires_at: expiresAt }: Fields): boolean =>
  revokedAt === null && (expiresAt === null || Date.parse(String(expiresAt)) > Date.now());
