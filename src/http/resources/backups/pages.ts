import * as z from "zod/mini";
import { version } from "../../../../package.json";
import type { BackupItem, BackupPage, BackupPosition } from "../../../domain/backup/backup.ts";
import { directoryName, type Environment } from "../../../domain/environment.ts";
import type { FailureOf } from "../../../domain/failure.ts";
import { isObject } from "../../../domain/json.ts";
import { fail, ok, type Result } from "../../../domain/result.ts";
import { lazy } from "../fields.ts";
import { time } from "../times.ts";
import { FORMAT, itemOf, lineOf } from "./lines.ts";

/** The pages of a backup: NDJSON, whose last line has the hash of the page and of all before it. */

const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const CURSOR = "backup";
/** After so many lines other requests run: the isolate has one thread, and a whole page would keep its viewers waiting. */
const LINES_AT_ONCE = 100;
const letOthersRun = (): Promise<void> => scheduler.wait(0);

/** The name of the registry's backup in cursors. No environment has it. */
const REGISTRY = "registry";

const utf8 = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Where a backup continues: the number of its next page, the hash of the last one, and the position in the tables. */
export type BackupCursor = { number: number; sha256: string; position: BackupPosition };

const nameOf = (environment: Environment | undefined): string => (environment ? directoryName(environment) : REGISTRY);

/** The text of a cursor. It is no secret. */
const cursorOf = (environment: Environment | undefined, { number, sha256, position }: BackupCursor): string => {
  const { incarnation, seq, table, start, counts } = position;
  const content = [FORMAT, CURSOR, nameOf(environment), number, sha256, incarnation, seq, table, start, counts];
  return utf8.encode(JSON.stringify(content)).toBase64(BASE64URL);
};

const count = () => z.int().check(z.gte(0));

const CursorContent = lazy(() =>
  z.tuple([
    z.literal(FORMAT),
    z.literal(CURSOR),
    z.string(),
    z.int().check(z.gte(2)),
    z.string().check(z.regex(/^[0-9a-f]{64}$/)),
    z.string(),
    count(),
    count(),
    count(),
    z.record(z.string(), count()),
  ]),
);

/** Parses a cursor of this environment's backup, or of the registry's; `undefined` for any other text. */
export function parseCursor(text: string, environment: Environment | undefined): BackupCursor | undefined {
  try {
    const content = JSON.parse(decoder.decode(Uint8Array.fromBase64(text, { alphabet: "base64url" })));
    const [, , name, number, sha256, incarnation, seq, table, start, counts] = CursorContent().parse(content);
    if (name !== nameOf(environment)) return undefined;
    return { number, sha256, position: { incarnation, seq, table, start, counts } };
  } catch {
    return undefined;
  }
}

const hexOf = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();

/** The hash of a page: the SHA-256 of the previous page's hash, as text, and of this page's bytes. Page 1 has no previous hash. */
const hashOf = (previous: string, bytes: Uint8Array): Promise<string> => {
  const prefix = utf8.encode(previous);
  const all = new Uint8Array(prefix.length + bytes.length);
  all.set(prefix);
  all.set(bytes, prefix.length);
  return hexOf(all);
};

/** Encodes a page as NDJSON. `after` is the cursor of the request; without it, the page is the first one. */
export async function pageText(
  environment: Environment | undefined,
  { items, next }: BackupPage,
  after: BackupCursor | undefined,
): Promise<string> {
  const number = after?.number ?? 1;
  let lines = "";
  for (const [index, item] of items.entries()) {
    lines += `${lineText(environment, item)}\n`;
    if (index % LINES_AT_ONCE === 0) await letOthersRun();
  }
  const sha256 = await hashOf(after?.sha256 ?? "", utf8.encode(lines));
  const next_cursor = next && cursorOf(environment, { number: number + 1, sha256, position: next });
  return `${lines}${JSON.stringify({ kind: "page", number, next_cursor, sha256 })}\n`;
}

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
  }),
);

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

const FooterLine = lazy(() => z.catchall(z.object({ kind: z.literal("footer") }), count()));

type Invalid = FailureOf<"invalid_backup">;
const invalid = (line: number, reason: string): Invalid => ({ code: "invalid_backup", line, reason });

/** A page as it was sent: its number, its hash, and its other lines, which are not parsed yet. `bytes` are those of these lines. */
export type SentPage = {
  number: number;
  sha256: string;
  nextCursor: string | null;
  lines: string[];
  bytes: Uint8Array;
};

/** Splits a page into its lines, and parses the last one. Refuses a page that is not UTF-8, or was cut. */
export function readPage(body: Uint8Array): Result<SentPage, Invalid> {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    return fail(invalid(1, "The page is not UTF-8."));
  }
  const lines = text.split("\n");
  if (lines.pop() !== "") return fail(invalid(lines.length + 1, "The last line does not end. The page was cut."));
  const last = lines.pop() ?? "";
  const line = PageLine().safeParse(parsed(last));
  if (!line.success) return fail(invalid(lines.length + 1, "The last line of a page is of the kind page."));
  const { number, sha256, next_cursor: nextCursor } = line.data;
  const length = body.length - utf8.encode(last).length - 1;
  return ok({ number, sha256, nextCursor, lines, bytes: body.subarray(0, length) });
}

/** Parses the lines of a page. Refuses a page whose hash does not follow `previous`, the hash of the page before ("" for page 1). */
export async function itemsOf(
  { number, sha256, nextCursor, lines, bytes }: SentPage,
  previous: string,
  environment: Environment | undefined,
): Promise<Result<BackupItem[], Invalid>> {
  if ((await hashOf(previous, bytes)) !== sha256)
    return fail(invalid(lines.length + 1, "The page was changed: its sha256 is another."));
  const items: BackupItem[] = [];
  for (const [index, text] of lines.entries()) {
    if (index % LINES_AT_ONCE === 0) await letOthersRun();
    try {
      items.push(
        readLine(text, { isFirst: number === 1 && index === 0, isLast: index === lines.length - 1 }, environment),
      );
    } catch (error) {
      return fail(invalid(index + 1, error instanceof Error ? error.message : String(error)));
    }
  }
  if (items.length === 0) return fail(invalid(1, "The page has no lines before its last one."));
  const isLast = items.at(-1)?.kind === "footer";
  if (isLast !== (nextCursor === null))
    return fail(invalid(lines.length + 1, "The last page has the footer, and no other page has null as next_cursor."));
  return ok(items);
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function readLine(
  text: string,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
  environment: Environment | undefined,
): BackupItem {
  const line = parsed(text);
  if (!isObject(line)) throw new Error("The line is not a JSON object.");
  if (isFirst !== (line.kind === "header"))
    throw new Error("A header is the first line of the first page, and no other.");
  if (isFirst) return headerOf(line, environment);
  if (line.kind !== "footer") return itemOf(line);
  const footer = FooterLine().safeParse(line);
  if (!footer.success || !isLast) throw new Error("A footer has numbers, and is the last line of the last page.");
  const { kind: _, ...record } = footer.data;
  return { kind: "footer", record };
}

function headerOf(line: Record<string, unknown>, environment: Environment | undefined): BackupItem {
  if (typeof line.format === "number" && line.format > FORMAT)
    throw new Error(`The format ${line.format} is of a later release. This one reads up to ${FORMAT}.`);
  const header = HeaderLine().safeParse(line);
  if (!header.success || header.data.format !== FORMAT) throw new Error("This is no header of a backup.");
  const { workspace, environment: tag, schema } = header.data;
  if (workspace !== (environment?.workspace ?? null) || tag !== (environment?.tag ?? null))
    throw new Error("The backup is of another environment, or of the registry.");
  return { kind: "header", record: { takenAt: 0, schema } };
}
