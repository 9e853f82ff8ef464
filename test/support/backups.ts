import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Answer, call } from "./client.ts";
import { limiter } from "./limiter.ts";
import { inEnvironment, operator } from "./states.ts";

/** Calls that back up and restore, as the bootstrap operator. Without a query they are about the registry. */

export const OF_ACME = inEnvironment();
const and = (query: string, more: string) => (query === "" ? `?${more}` : `${query}&${more}`);

/** A proof makes more calls a minute than one operator may. */
const UNLIMITED: Env = { ...env, LIST_LIMIT: limiter(Number.POSITIVE_INFINITY) };

export const backupPage = (query = OF_ACME, cursor?: string, credential: string = operator): Promise<Answer> =>
  call("GET", `/api/backup${cursor === undefined ? query : and(query, `cursor=${cursor}`)}`, {
    credential,
    env: UNLIMITED,
  });

/** The lines of a page, or of a whole file. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in a line, whatever its type.
export const linesOf = (text: string): any[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

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

export const restorePage = (body: string | Uint8Array, query = OF_ACME, options = "", credential: string = operator) =>
  call("POST", `/api/restore${options === "" ? query : and(query, options)}`, {
    credential,
    body,
    headers: { "Content-Type": "application/x-ndjson" },
    env: UNLIMITED,
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
