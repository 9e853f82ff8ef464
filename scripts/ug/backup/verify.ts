/** Proves a backup: restores it into a service of its own, takes a backup of that, and compares the two. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOwnService } from "../../serve/own-service.ts";
import { CommandError } from "../errors.ts";
import { Contents } from "./contents.ts";
import { BrokenFile, placeOf, readFile } from "./files.ts";
import { type Admin, type Place, pagesOf, sendPage } from "./service-pages.ts";

/** The result for a backup: proven; broken, with the reason; or unknown, because it could not be tried. */
export type Verdict = { state: "proven" | "broken" | "unknown"; reason?: string; counts: Record<string, number> };

const DIFFERENCES_SHOWN = 3;

/** Restores a file into a service that nobody else can reach, and then deletes that service. */
export async function verify(file: string, identityFile: string | undefined): Promise<Verdict> {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(tmpdir(), "ug-verify-"));
    const { url, operatorToken, stop } = await startOwnService(folder);
    try {
      return await restoreAndCompare(readFile(file, identityFile), { url, credential: operatorToken }, folder);
    } finally {
      await stop();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isBroken =
      error instanceof BrokenFile || (error instanceof CommandError && REFUSED.includes(error.code ?? ""));
    return { state: isBroken ? "broken" : "unknown", reason, counts: {} };
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The codes with which a service refuses pages that are changed, missing or out of order. */
const REFUSED = ["invalid_backup", "unexpected_page"];

/** Restores the pages, and compares the restored service with them. */
async function restoreAndCompare(pages: AsyncIterable<string>, admin: Admin, folder: string): Promise<Verdict> {
  using inFile = new Contents(join(folder, "file.sqlite"));
  let place: Place;
  let number = 0;
  let isDone = false;
  for await (const page of pages) {
    if (isDone) throw new BrokenFile("The file goes on after its last page.");
    number += 1;
    if (number === 1) place = placeOf(page);
    isDone = await sendPage(admin, place, page);
    inFile.add(page);
  }
  if (!isDone) throw new BrokenFile("The file ends before its last page.");
  return await compared(inFile, admin, place, folder);
}

async function compared(inFile: Contents, admin: Admin, place: Place, folder: string): Promise<Verdict> {
  using restored = new Contents(join(folder, "restored.sqlite"));
  for await (const page of pagesOf(admin, place)) restored.add(page);
  const counts: Record<string, number> = {};
  const differences: string[] = [];
  const note = (what: string) => differences.length < DIFFERENCES_SHOWN && differences.push(what);
  for (const { kind, id, line } of inFile.all()) {
    counts[kind] = (counts[kind] ?? 0) + 1;
    if (withoutNumber(kind, restored.find(kind, id)) !== withoutNumber(kind, line)) note(`${kind} ${id} differs`);
  }
  for (const { kind, id } of restored.all()) if (inFile.find(kind, id) === undefined) note(`${kind} ${id} is extra`);
  if (differences.length > 0) return { state: "broken", reason: `After a restore: ${differences.join(", ")}.`, counts };
  return { state: "proven", counts };
}

/** A tombstone gets another number in another registry. */
const withoutNumber = (kind: string, line: string | undefined): string | undefined =>
  kind === "tombstone" ? line?.replace(/"id":\d+,/, "") : line;
