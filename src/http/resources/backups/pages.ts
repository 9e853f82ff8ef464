import * as z from "zod/mini";
import { attempt } from "../../../../common/attempt.ts";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import { version } from "../../../../package.json";
import type { BackupItem, BackupPage, BackupPosition } from "../../../domain/backup/backup.ts";
import { signForBackup, verifyBackupMac } from "../../../domain/backup/backup-mac.ts";
import { concat, fromBase64url, sha256, toBase64url, utf8, utf8Text } from "../../../domain/bytes.ts";
import type { SigningRing } from "../../../domain/credentials/credential.ts";
import type { FailureOf } from "../../../domain/failure.ts";
import { isObject } from "../../../domain/json.ts";
import { lazy, time } from "../fields.ts";
import { FORMAT, itemOf, lineOf } from "./lines.ts";

/**
 * The pages of a backup: NDJSON, whose last line has the hash of the page and of all before it, and since format 2 a MAC over that. The
 * first page names the environment, so a page with a valid MAC follows only from the pages of the same backup.
 */

const CURSOR = "backup";
/** After so many lines other requests run: the isolate has one thread, and a whole page would keep its viewers waiting. */
const LINES_AT_ONCE = 100;
const letOthersRun = (): Promise<void> => scheduler.wait(0);

/** An id of a signing key has 32 characters at most. */
const SIGNING_ID_UNITS_SHOWN = 32;

/** The name of the registry's backup in cursors. No environment has it. */
const REGISTRY = "registry";

/** Where a backup continues: the number of its next page, the hash of the last one, and the position in the tables. */
export type BackupCursor = { number: number; sha256: string; position: BackupPosition };

const nameOf = (environment: Environment | undefined): string => (environment ? directoryName(environment) : REGISTRY);

/** What a backup is of, and the keys that sign it. */
type Source = { environment: Environment | undefined; ring: SigningRing };

/**
 * The text of a cursor: its content, the id of a signing key, and a MAC. It is no secret. Without the MAC, somebody who may take backups
 * could have pages signed that follow from others than the service's own.
 */
async function cursorOf({ environment, ring }: Source, { number, sha256, position }: BackupCursor): Promise<string> {
  const { incarnation, seq, table, start, counts } = position;
  const content = [FORMAT, CURSOR, nameOf(environment), number, sha256, incarnation, seq, table, start, counts];
  const text = toBase64url(utf8.encode(JSON.stringify(content)));
  const { signingId, mac } = await signForBackup(ring, "cursor", text);
  return `${text}.${signingId}.${mac}`;
}

/** Parses a cursor that this service has made of this backup; `undefined` for any other text. */
export async function parseCursor(cursor: string, { environment, ring }: Source): Promise<BackupCursor | undefined> {
  const [text = "", signingId = "", mac = "", ...more] = cursor.split(".");
  if (more.length > 0 || !(await verifyBackupMac(ring, { signingId, mac }, "cursor", text))) return undefined;
  // Its MAC is valid, so a service with this key has written it, perhaps one of another release.
  const content = utf8Text.decode(fromBase64url(text));
  const [format, , name, number, sha256, incarnation, seq, table, start, counts] = JSON.parse(content);
  if (format !== FORMAT || name !== nameOf(environment)) return undefined;
  return { number, sha256, position: { incarnation, seq, table, start, counts } };
}

/** The hash of a page: the SHA-256 of the previous page's hash, as text, and of this page's bytes. Page 1 has no previous hash. */
const hashOf = async (previous: string, bytes: Uint8Array): Promise<string> =>
  new Uint8Array(await sha256(concat(utf8.encode(previous), bytes))).toHex();

/** Encodes a page as NDJSON. `after` is the cursor of the request; without it, the page is the first one. */
export async function pageText(
  source: Source,
  { items, next }: BackupPage,
  after: BackupCursor | undefined,
): Promise<string> {
  const number = after?.number ?? 1;
  let lines = "";
  for (const [index, item] of items.entries()) {
    lines += `${lineText(source.environment, item)}\n`;
    if (index % LINES_AT_ONCE === 0) await letOthersRun();
  }
  const sha256 = await hashOf(after?.sha256 ?? "", utf8.encode(lines));
  const next_cursor = next && (await cursorOf(source, { number: number + 1, sha256, position: next }));
  const { signingId, mac } = await signForBackup(source.ring, "page", signedText({ number, sha256, next_cursor }));
  return `${lines}${JSON.stringify({ kind: "page", number, next_cursor, sha256, signed_by: signingId, mac })}\n`;
}

/** What the MAC of a page is over. The last page has no cursor, so an empty text stands for it. */
const signedText = ({ number, sha256, next_cursor }: Pick<PageLine, "number" | "sha256" | "next_cursor">): string =>
  [sha256, number, next_cursor ?? ""].join("\n");

function lineText(environment: Environment | undefined, item: BackupItem): string {
  if (item.kind === "footer") return JSON.stringify({ kind: "footer", ...item.record });
  if (item.kind !== "header") return lineOf(item);
  return JSON.stringify({
    kind: "header",
    format: FORMAT,
    workspace: environment?.workspace ?? null,
    environment: environment?.tag ?? null,
    taken_at: time(item.record.takenAt),
    release: version,
    schema: item.record.schema,
  });
}

const PageLine = lazy(() =>
  z.strictObject({
    kind: z.literal("page"),
    number: z.int().check(z.gte(1)),
    next_cursor: z.nullable(z.string()),
    sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
    // Format 1 has neither.
    signed_by: z.optional(z.string()),
    mac: z.optional(z.string()),
  }),
);
type PageLine = z.infer<ReturnType<typeof PageLine>>;

const HeaderLine = lazy(() =>
  z.strictObject({
    kind: z.literal("header"),
    format: z.int(),
    workspace: z.nullable(z.string()),
    environment: z.nullable(z.string()),
    taken_at: z.string(),
    release: z.string(),
    schema: z.int(),
  }),
);

const isCounts = (record: Record<string, unknown>): record is Record<string, number> =>
  Object.values(record).every((count) => Number.isSafeInteger(count) && Number(count) >= 0);

type Invalid = FailureOf<"invalid_backup">;
const invalid = (line: number, reason: string): Invalid => ({ code: "invalid_backup", line, reason });

/** A page as it was sent: its last line, and its other lines, which are not parsed yet. `bytes` are those of these lines. */
export type SentPage = { line: PageLine; lines: string[]; bytes: Uint8Array };

/** Into what a page is restored. With `isUnsigned`, no MAC is checked. */
type Destination = Source & { isUnsigned: boolean };

/** Splits a page into its lines, and parses the last one. Refuses a page that is not UTF-8, or was cut. */
export function readPage(body: Uint8Array): Result<SentPage, Invalid> {
  const text = attempt(() => utf8Text.decode(body));
  if (text === undefined) return fail(invalid(1, "The page is not UTF-8."));
  if (text.startsWith("\ufeff")) return fail(invalid(1, "The page begins with a byte order mark (BOM, U+FEFF)."));
  const lines = text.split("\n");
  if (lines.pop() !== "") return fail(invalid(lines.length + 1, "The last line does not end. The page was cut."));
  const last = lines.pop() ?? "";
  const line = PageLine().safeParse(attempt(() => JSON.parse(last)));
  if (!line.success) return fail(invalid(lines.length + 1, "The last line of a page is of the kind page."));
  const length = body.length - utf8.encode(last).length - 1;
  return ok({ line: line.data, lines, bytes: body.subarray(0, length) });
}

const UNSIGNED =
  "If you trust the file, restore it without a check of signatures: ug restore --unsigned, or unsigned=true.";

/** Why the MAC of a page is not valid, if it is not. */
async function signatureFault(
  { signed_by: signingId, mac, ...line }: PageLine,
  ring: SigningRing,
): Promise<string | undefined> {
  if (signingId === undefined || mac === undefined)
    return `The page is not signed, as in backups of format 1. ${UNSIGNED}`;
  const isValid = await verifyBackupMac(ring, { signingId, mac }, "page", signedText(line));
  if (isValid === undefined)
    return `SIGNING_KEYS has no key ${JSON.stringify(signingId.slice(0, SIGNING_ID_UNITS_SHOWN))}, which signed the page. Add that key after the first one. ${UNSIGNED}`;
  return isValid
    ? undefined
    : "The page was changed, or a service with other SIGNING_KEYS has signed it: its mac is another.";
}

/** Parses the lines of a page. Refuses a page whose hash does not follow `previous`, the hash of the page before ("" for page 1). */
export async function itemsOf(
  { line, lines, bytes }: SentPage,
  previous: string,
  destination: Destination,
): Promise<Result<BackupItem[], Invalid>> {
  if ((await hashOf(previous, bytes)) !== line.sha256)
    return fail(invalid(lines.length + 1, "The page was changed: its sha256 is another."));
  const fault = destination.isUnsigned ? undefined : await signatureFault(line, destination.ring);
  if (fault !== undefined) return fail(invalid(lines.length + 1, fault));
  const items: BackupItem[] = [];
  for (const [index, text] of lines.entries()) {
    if (index % LINES_AT_ONCE === 0) await letOthersRun();
    try {
      items.push(
        readLine(text, { isFirst: line.number === 1 && index === 0, isLast: index === lines.length - 1 }, destination),
      );
    } catch (error) {
      return fail(invalid(index + 1, error instanceof Error ? error.message : String(error)));
    }
  }
  if (items.length === 0) return fail(invalid(1, "The page has no lines before its last one."));
  const isLast = items.at(-1)?.kind === "footer";
  if (isLast !== (line.next_cursor === null))
    return fail(invalid(lines.length + 1, "The last page has the footer, and no other page has null as next_cursor."));
  return ok(items);
}

function readLine(
  text: string,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
  destination: Destination,
): BackupItem {
  const line: unknown = attempt(() => JSON.parse(text));
  if (!isObject(line)) throw new Error("The line is not a JSON object.");
  if (isFirst !== (line.kind === "header"))
    throw new Error("A header is the first line of the first page, and no other.");
  if (isFirst) return headerOf(line, destination.environment);
  if (line.kind !== "footer") return itemOf(line);
  const { kind: _, ...record } = line;
  if (!isLast || !isCounts(record)) throw new Error("A footer has numbers, and is the last line of the last page.");
  return { kind: "footer", record };
}

function headerOf(line: Record<string, unknown>, environment: Environment | undefined): BackupItem {
  if (typeof line.format === "number" && line.format > FORMAT)
    throw new Error(`The format ${line.format} is of a later release. This one reads up to ${FORMAT}.`);
  const header = HeaderLine().safeParse(line);
  if (!header.success || header.data.format < 1) throw new Error("This is no header of a backup.");
  const { workspace, environment: tag, schema } = header.data;
  if (workspace !== (environment?.workspace ?? null) || tag !== (environment?.tag ?? null))
    throw new Error("The backup is of another environment, or of the registry.");
  return { kind: "header", record: { takenAt: 0, schema } };
}
