/** Proves a backup: restores it into a service of its own, takes a backup of that, and compares the two. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { ENDED_SESSION_SECONDS } from "../../../common/limits.ts";
import { startOwnService } from "../serve/own-service.ts";
import { explainErrors, messageOf } from "../support/errors.ts";
import { quoted } from "../support/printable.ts";
import { Contents } from "./contents.ts";
import { BrokenFile, type FilePage, readFile } from "./files.ts";
import { type Admin, adminOf, lastLineOf, type Place, pagesOf, parsed, sendPage } from "./service-pages.ts";

/** The result for a backup: proven; broken, with the reason; or unknown, because it could not be tried. */
export type Verdict = { state: "proven" | "broken" | "unknown"; reason?: string; counts: Record<string, number> };

const DIFFERENCES_SHOWN = 3;
const FORMAT_1 = '{"kind":"header","format":1,';

/** The file that decrypts the backup, and that of the service's secrets, whose SIGNING_KEYS check its signature. */
type Files = { identityFile?: string; envFile?: string };

/** Restores a file into a service that nobody else can reach, and then deletes that service. */
export async function verify(file: string, { identityFile, envFile }: Files): Promise<Verdict> {
  let folder: string | undefined;
  try {
    const signingKeys = envFile === undefined ? undefined : signingKeysIn(envFile);
    folder = mkdtempSync(join(tmpdir(), "ug-verify-"));
    const { url, operatorToken, stop } = await startOwnService(folder, signingKeys);
    try {
      const pages = signedBy(signingKeys, readFile(file, identityFile));
      const admin = adminOf(url, operatorToken);
      return await restoreAndCompare(pages, admin, { folder, unsigned: signingKeys === undefined });
    } finally {
      await stop();
    }
  } catch (error) {
    const isBroken =
      error instanceof BrokenFile || (error instanceof CommandError && REFUSED.includes(error.code ?? ""));
    return { state: isBroken ? "broken" : "unknown", reason: messageOf(error), counts: {} };
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function signingKeysIn(envFile: string): string {
  const failureOf = (code: string) => new UsageError(`The file of --env-file cannot be read: ${code}.`);
  const signingKeys = parseEnv(explainErrors(() => readFileSync(envFile, "utf8"), failureOf)).SIGNING_KEYS;
  if (!signingKeys)
    throw new UsageError("The file of --env-file has no SIGNING_KEYS. Give the file of the service's secrets.");
  return signingKeys;
}

/**
 * The pages. @throws UsageError for one whose signing key is not there, and for format 1, which has no signatures: nobody can tell whether
 * it was changed.
 */
async function* signedBy(signingKeys: string | undefined, pages: AsyncIterable<FilePage>): AsyncGenerator<FilePage> {
  const ids = signingKeys?.split(",").map((key) => key.split(":")[0]?.trim());
  for await (const each of pages) {
    const { page } = each;
    const signingId = lastLineOf(page)?.signed_by;
    if (ids && page.startsWith(FORMAT_1))
      throw new UsageError("The backup has format 1, which is not signed. Without --env-file, the rest is examined.");
    if (ids && signingId !== undefined && !ids.includes(signingId))
      throw new UsageError(
        `SIGNING_KEYS of --env-file has no key ${quoted(signingId)}, which signed the backup. Without --env-file, the rest is examined.`,
      );
    yield each;
  }
}

/** The codes with which a service refuses pages that are changed, missing or out of order. */
const REFUSED = ["invalid_backup", "unexpected_page"];

async function restoreAndCompare(
  pages: AsyncIterable<FilePage>,
  admin: Admin,
  { folder, unsigned }: { folder: string; unsigned: boolean },
): Promise<Verdict> {
  using inFile = new Contents(join(folder, "file.sqlite"));
  let place: Place;
  let isDone = false;
  for await (const { page, ...rest } of pages) {
    if (isDone) throw new BrokenFile("The file goes on after its last page.");
    place = rest.place;
    isDone = await sendPage(admin, place, page, { unsigned });
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
    const found = restored.find(kind, id);
    if (found === undefined && isPast(kind, line)) continue;
    if (withoutNumber(kind, found) !== withoutNumber(kind, line)) note(`${kind} ${id} differs`);
  }
  for (const { kind, id } of restored.all()) if (inFile.find(kind, id) === undefined) note(`${kind} ${id} is extra`);
  if (differences.length > 0) return { state: "broken", reason: `After a restore: ${differences.join(", ")}.`, counts };
  return { state: "proven", counts };
}

/** Whether it is the end of a session that has expired since, which any service deletes. */
const isPast = (kind: string, line: string): boolean =>
  kind === "ended_session" && Date.parse(String(parsed(line)?.ended_at)) + ENDED_SESSION_SECONDS * 1000 < Date.now();

/** A tombstone gets another number in another registry. */
const withoutNumber = (kind: string, line: string | undefined): string | undefined =>
  kind === "tombstone" ? line?.replace(/"id":\d+,/, "") : line;
