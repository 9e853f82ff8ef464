import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Answer, call } from "./client.ts";
import { limiter } from "./limiter.ts";
import { inEnvironment, operator } from "./states.ts";
import { insertGroups } from "./storage.ts";

/** Calls that back up and restore, as the bootstrap operator. Without a query they are about the registry. */

export const OF_ACME = inEnvironment();
const and = (query: string, more: string) => (query === "" ? `?${more}` : `${query}&${more}`);

/** Adds groups of 16 KB, of which some 60 fill a page of a backup. */
export const insertLargeGroups = (count: number): Promise<void> =>
  insertGroups(count, { properties: "json_object('filler', hex(zeroblob(8000)))" });

/** A proof makes more calls a minute than one operator may. */
const UNLIMITED: Env = { ...env, LIST_LIMIT: limiter(Number.POSITIVE_INFINITY) };

export const backupPage = (
  query = OF_ACME,
  cursor?: string,
  credential: string = operator,
  settings: Partial<Env> = {},
): Promise<Answer> =>
  call("GET", `/api/backup${cursor === undefined ? query : and(query, `cursor=${cursor}`)}`, {
    credential,
    env: { ...UNLIMITED, ...settings },
  });

/** The lines of a page, or of a whole file. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in a line, whatever its type.
export const linesOf = (text: string): any[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** A page whose lines were edited, with the hash that it has then; `before` is the page before it. Its MAC is that of another page. */
export async function rehashed(page: string, edit: (lines: string) => string, before?: string): Promise<string> {
  const at = page.lastIndexOf('{"kind":"page"');
  const lines = edit(page.slice(0, at));
  if (lines === page.slice(0, at)) throw new Error("The edit has changed nothing.");
  const previous = before === undefined ? "" : linesOf(before).at(-1).sha256;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(previous + lines));
  return `${lines}${JSON.stringify({ ...linesOf(page).at(-1), sha256: new Uint8Array(digest).toHex() })}\n`;
}

/** All pages of a backup. `between` runs before each page but the first. */
export async function backUp(
  query = OF_ACME,
  between: () => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const pages: string[] = [];
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const { status, body } = await backupPage(query, cursor);
    if (status !== 200) throw new Error(`The backup was refused: ${JSON.stringify(body)}`);
    pages.push(body);
    cursor = linesOf(body).at(-1).next_cursor;
    if (cursor) await between();
  }
  return pages;
}

export const restorePage = (
  body: string | Uint8Array,
  query = OF_ACME,
  options = "",
  { credential = operator, ...settings }: { credential?: string } & Partial<Env> = {},
) =>
  call("POST", `/api/restore${options === "" ? query : and(query, options)}`, {
    credential,
    body,
    headers: { "Content-Type": "application/x-ndjson" },
    env: { ...UNLIMITED, ...settings },
  });

/** Restores all pages, and returns the last answer. */
export async function restore(pages: string[], query = OF_ACME, options = ""): Promise<Answer> {
  let last: Answer | undefined;
  for (const page of pages) {
    last = await restorePage(page, query, options);
    if (last.status !== 200) return last;
  }
  return last as Answer;
}

/** Wipes a directory or the registry, as a lost disk does. */
export async function wipe(name: string): Promise<void> {
  const namespace = name === "registry" ? env.REGISTRY : env.GROUP_DIRECTORY;
  await runInDurableObject(namespace.getByName(name) as DurableObjectStub, async (_, ctx) => {
    await ctx.storage.deleteAlarm();
    await ctx.storage.deleteAll();
    ctx.abort("wiped");
  }).catch(() => undefined);
}
