/** Reads the pages of backups from the service, and sends them to it. */

import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { CommandError } from "../../../common/command-error.ts";
import { findEnvironment } from "../../../common/environment.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { sentenceOf } from "../groups/files/retrying-caller.ts";
import { type HttpResponse, readBody, send } from "../support/http.ts";
import { quoted } from "../support/printable.ts";
import { notTheService, unreachable } from "../support/service.ts";

/** The environment of a backup, as a query names it; `undefined` is the registry. */
export type Place = { workspace: string; environment: string } | undefined;

/** The service, and the admin's credential. */
export type Admin = { url: URL; credential: string };

/** The place of these names; `undefined` unless a service can have such an environment. The name of a file is made of it. */
export function placeNamed(workspace: unknown, environment: unknown): Place {
  const place = { workspace: String(workspace), environment: environment === null ? "untagged" : String(environment) };
  return findEnvironment(nameOf(place)) && place;
}

export const nameOf = (place: Place): string => (place ? `${place.workspace}/${place.environment}` : "the registry");

const TRIES_MAX = 10;
const TRIES_TO_MENTION = 3;
const WAIT_MS_MAX = 60_000;
/** Of a name that a service should not have. */
const NAME_UNITS_SHOWN = 60;
const TEMPORARY = [429, 502, 503, 504];
/** Refusals that last until an operator acts: a retry would only wait. */
const LASTING = /"(environment_restoring|service_not_configured)"/;

type Request = { method: "GET" | "POST"; path: string; query: Record<string, string>; text?: string };

/** Sends an idempotent call, and retries it after a lost connection and after temporary refusals. */
async function call({ url, credential }: Admin, { method, path, query, text }: Request): Promise<HttpResponse> {
  const target = new URL(path, url);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  for (let tries = 1; ; tries += 1) {
    const headers: Record<string, string> = text === undefined ? {} : { "Content-Type": "application/x-ndjson" };
    const response = await send(target, { method, credential, headers, ...(text !== undefined && { text }) }).catch(
      (error: unknown) => {
        if (error instanceof CommandError || tries >= TRIES_MAX)
          throw error instanceof CommandError ? error : unreachable(url);
        return undefined;
      },
    );
    const isTemporary = !response || (TEMPORARY.includes(response.status) && !LASTING.test(response.text));
    if (response && (!isTemporary || tries >= TRIES_MAX)) return response;
    if (tries === TRIES_TO_MENTION) console.error("The service does not answer yet. Trying again for three minutes.");
    const retryAfterMs = Number(response?.retryAfter ?? 0) * 1000 || 0;
    await delay(Math.min(WAIT_MS_MAX, Math.max(retryAfterMs, 250 * 2 ** tries)));
  }
}

/** The error of a refusal. */
function refusedBy({ url, credential }: Admin, { status, text }: HttpResponse): CommandError {
  const body = readBody<object>(credential, text);
  if (!body?.error) return notTheService(url, status);
  const { code } = body.error;
  const where = code === "invalid_backup" ? ` (${reasonIn(text)})` : "";
  return new CommandError(sentenceOf(body.error) + where, {
    code,
    ...(body.request_id !== undefined && { requestId: body.request_id }),
  });
}

function reasonIn(text: string): string {
  const { line, reason } = JSON.parse(text).error as { line?: unknown; reason?: unknown };
  return `line ${Number(line)} of the page: ${quoted(String(reason))}`;
}

/** The pages of a backup, as text, one at a time. */
export async function* pagesOf(admin: Admin, place: Place): AsyncGenerator<string, void, undefined> {
  const cursors = new Cursors(admin, "/api/backup");
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = { ...place, ...(cursor !== "" && { cursor }) };
    const response = await call(admin, { method: "GET", path: "/api/backup", query });
    if (response.status !== 200) throw refusedBy(admin, response);
    const last = lastLineOf(response.text);
    if (last === undefined) throw notTheService(admin.url, response.status);
    yield response.text;
    cursor = cursors.next(last.next_cursor);
  }
}

/** The cursors of a list. A service that repeats one would make the list endless. */
class Cursors {
  readonly #where: string;
  readonly #seen = new Set<string>();

  constructor({ url }: Admin, path: string) {
    this.#where = `The service at ${url.origin} repeats a page of ${path}`;
  }

  /** Returns the cursor of the next page. @throws CommandError for one of before. */
  next(cursor: string | null): string | null {
    if (cursor === null) return null;
    if (cursor === "" || this.#seen.has(cursor)) throw new CommandError(`${this.#where}, so it has no end.`);
    this.#seen.add(cursor);
    return cursor;
  }
}

/** The end of a page; `undefined` for a text that is none. */
export function lastLineOf(page: string): z.infer<typeof PageEnd> | undefined {
  return PageEnd.safeParse(parsed(page.slice(page.lastIndexOf("\n", page.length - 2) + 1))).data;
}

const PageEnd = z.object({
  kind: z.literal("page"),
  next_cursor: z.nullable(z.string()),
  signed_by: z.optional(z.string()),
});

/** The JSON of a line, if it is an object. */
export function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) ?? undefined;
  } catch {
    return undefined;
  }
}

/** What to do with the credentials of a backup, once it is restored; and whether signatures are not checked. */
export type RestoreOptions = { rotateTokens?: boolean; revokeKeys?: boolean; unsigned?: boolean };

/** Sends a page to be restored. Returns whether it was the last one. */
export async function sendPage(
  admin: Admin,
  place: Place,
  text: string,
  { rotateTokens, revokeKeys, unsigned }: RestoreOptions = {},
): Promise<boolean> {
  const query = {
    ...place,
    ...(rotateTokens && { rotate_tokens: "true" }),
    ...(revokeKeys && { revoke_keys: "true" }),
    ...(unsigned && { unsigned: "true" }),
  };
  const response = await call(admin, { method: "POST", path: "/api/restore", query, text });
  if (response.status !== 200) throw refusedBy(admin, response);
  return JSON.parse(response.text).done === true;
}

const EnvironmentsPage = z.object({
  environments: z.array(z.object({ workspace: z.string(), environment: z.nullable(z.string()) })),
  next_cursor: z.nullable(z.string()),
});

/** The environments of the deployment, as a query names them. */
export async function* environmentsOf(admin: Admin): AsyncGenerator<NonNullable<Place>, void, undefined> {
  const cursors = new Cursors(admin, "/api/environments");
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = { limit: String(LIST_ITEMS_MAX), ...(cursor !== "" && { cursor }) };
    const response = await call(admin, { method: "GET", path: "/api/environments", query });
    if (response.status !== 200) throw refusedBy(admin, response);
    const { data: body } = EnvironmentsPage.safeParse(parsed(response.text));
    if (!body) throw notTheService(admin.url, response.status);
    for (const { workspace, environment } of body.environments) {
      const place = placeNamed(workspace, environment);
      if (!place)
        throw new CommandError(
          `The service at ${admin.url.origin} lists ${quoted(`${workspace}/${environment}`.slice(0, NAME_UNITS_SHOWN))}, which is no name of an environment.`,
        );
      yield place;
    }
    cursor = cursors.next(body.next_cursor);
  }
}
