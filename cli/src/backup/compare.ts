/** What a restore of a backup would bring back: keys and groups that are in use in the file, and that have ended in the service since. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandError } from "../../../common/command-error.ts";
import { Contents } from "./contents.ts";
import { placeOf, readFile } from "./files.ts";
import { type Admin, nameOf, type Place, pagesOf, parsed } from "./service-pages.ts";

/** Something that a restore would bring back, and what it is now. */
export type Revived = {
  kind: "api_key" | "operator" | "user_group" | "environment";
  /** An environment has none. */
  id: number | null;
  name: string;
  now: string;
};

type Fields = Record<string, unknown>;

/** Compares a file with the service, without a restore. */
export async function compare(
  admin: Admin,
  file: string,
  identityFile: string | undefined,
): Promise<{ place: Place; revived: Revived[] }> {
  const folder = mkdtempSync(join(tmpdir(), "ug-compare-"));
  try {
    using before = new Contents(join(folder, "file.sqlite"));
    using present = new Contents(join(folder, "present.sqlite"));
    let place: Place;
    let isFirst = true;
    for await (const page of readFile(file, identityFile)) {
      if (isFirst) place = placeOf(page);
      isFirst = false;
      before.add(page);
    }
    const isErased = await addPresent(present, admin, place);
    const environment = { kind: "environment", id: null, name: nameOf(place), now: "gone" } as const;
    return { place, revived: isErased ? [environment] : [...revivedOf(before, present)] };
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
